"""What can change the machine code is in the key of an object and in the toolchain of a measurement."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.kernels.keys import FolderDigests, Keys, code_flags
from tests.kernels.toys import RECIPE

#: variables that compilers read, and one that the recipe names
VARIABLES = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"),
    *("CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH", "OWN_FLAGS"),
)
#: changes of a recipe that change the code
CHANGES = {
    "compiler": {"compiler": replace(RECIPE.compiler, identity="2")},
    "words of its command": {"compiler": replace(RECIPE.compiler, command=("device-compiler", "-y"))},
    "flags": {"compile_flags": ("-O1",)},
    "flags of kernels": {"kernel_flags": ("-O1",)},
    "flags of units": {"unit_flags": ("-DUNIT={key}",)},
    "machine": {"machine_identity": "another"},
    "prefix header": {"prefix_header": "#include <cmath>\n"},
}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "sources" / "kernel.cpp"
    path.parent.mkdir()
    path.write_text("int kernel;\n")
    return path


def keys_of(source: Path, **changes: object) -> tuple[str, str, str]:
    """Return the keys of a kernel's object, of the prefix header and of a support source."""
    recipe = replace(RECIPE, variables=("OWN_FLAGS",), **changes)
    keys = Keys(recipe, FolderDigests(None))
    return keys.kernel("kernel", [source]), keys.prefix(), keys.plain(source)


@pytest.mark.parametrize("name", VARIABLES)
def test_variables_that_change_the_code_are_in_every_key(
    name: str, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = replace(RECIPE, variables=("OWN_FLAGS",))
    plain, flags = keys_of(source), code_flags(recipe)
    monkeypatch.setenv(name, "/elsewhere")
    assert all(new != old for new, old in zip(keys_of(source), plain, strict=True))
    assert code_flags(recipe) == (*flags, f"{name}=/elsewhere")
    monkeypatch.setenv(name, " ")
    assert keys_of(source) == plain and code_flags(recipe) == flags, "what is empty says nothing"


@pytest.mark.parametrize("name", CHANGES)
def test_the_recipe_is_in_the_key_of_an_object(name: str, source: Path) -> None:
    assert keys_of(source, **CHANGES[name])[0] != keys_of(source)[0]


def test_sources_headers_and_names_are_in_the_key_of_an_object(source: Path, tmp_path: Path) -> None:
    headers = tmp_path / "include"
    headers.mkdir()
    plain = keys_of(source, include_dirs=(headers,))
    (headers / "new.hpp").write_text("int header;\n")
    changed = keys_of(source, include_dirs=(headers,))
    assert changed[0] != plain[0]
    keys = Keys(RECIPE, FolderDigests(None))
    assert keys.kernel("kernel", [source]) != keys.kernel("other", [source])
    before = keys.kernel("kernel", [source])
    source.write_text("int kernel = 1;\n")
    assert keys.kernel("kernel", [source]) != before


def test_what_only_links_or_locates_is_not_in_the_key_of_an_object(source: Path, tmp_path: Path) -> None:
    plain = keys_of(source)
    assert keys_of(source, link_flags=("-ltwo",), location_flags=(f"-I{tmp_path}",), arch="other") == plain


def test_keys_hold_whatever_changes_an_object(make_tree, make_recipe, fake_compiler, build):
    tree, compiler = make_tree(2), fake_compiler()
    recipe = make_recipe(compiler)
    build(tree, recipe)
    changed = [
        replace(recipe, compile_flags=(*recipe.compile_flags, "-DX")),
        replace(recipe, kernel_flags=("-DX",)),
        replace(recipe, machine_identity="another"),
        replace(recipe, prefix_header="// another\n"),
        replace(recipe, compiler=replace(compiler, identity="another")),
    ]
    for other in changed:
        assert build(tree, other).summary.compiled == 2
    assert build(tree, replace(recipe, link_flags=("-lm",))).summary.compiled == 0
