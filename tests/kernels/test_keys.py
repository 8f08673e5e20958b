"""What can change the machine code is in the key of an object and in the toolchain of a measurement."""

import hashlib
import os
import time
from dataclasses import replace

import pytest

from ckprof.errors import ToolchainError
from ckprof.kernels.keys import (
    FolderDigests,
    KernelFolder,
    KernelSources,
    Keys,
    abi_dir,
    abi_version,
    code_flags,
    digest_file,
    digest_parts,
)
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
def source(tmp_path, monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "sources" / "kernel.cpp"
    path.parent.mkdir()
    path.write_text("int kernel;\n")
    return path


def keys_of(source, **changes):
    """Return the keys of a kernel's object, of the prefix header and of a support source."""
    recipe = replace(RECIPE, variables=("OWN_FLAGS",), **changes)
    keys = Keys(recipe, FolderDigests(None))
    return keys.kernel("kernel", [source]), keys.prefix(), keys.plain(source)


@pytest.mark.parametrize("name", VARIABLES)
def test_variables_that_change_the_code_are_in_every_key(name, source, monkeypatch):
    recipe = replace(RECIPE, variables=("OWN_FLAGS",))
    plain, flags = keys_of(source), code_flags(recipe)
    monkeypatch.setenv(name, "/elsewhere")
    assert all(new != old for new, old in zip(keys_of(source), plain, strict=True))
    assert code_flags(recipe) == (*flags, f"{name}=/elsewhere")
    monkeypatch.setenv(name, " ")
    assert keys_of(source) == plain and code_flags(recipe) == flags, "what is empty says nothing"


@pytest.mark.parametrize("name", CHANGES)
def test_the_recipe_is_in_the_key_of_an_object(name, source):
    assert keys_of(source, **CHANGES[name])[0] != keys_of(source)[0]


def test_sources_headers_and_names_are_in_the_key_of_an_object(source, tmp_path):
    headers = tmp_path / "include"
    headers.mkdir()
    plain = keys_of(source, include_dirs=(headers,))
    (headers / "new.hpp").write_text("int header;\n")
    changed = keys_of(source, include_dirs=(headers,))
    assert changed[0] != plain[0]
    keys = Keys(RECIPE, FolderDigests(None))
    assert keys.kernel("kernel", [source]) != keys.kernel("other", [source])
    before = [keys.kernel("kernel", [source]), keys.plain(source), keys.plain(source, generated=True)]
    (source.parent / "beside.hpp").write_text("int header;\n")
    keys = Keys(RECIPE, FolderDigests(None))
    after = [keys.kernel("kernel", [source]), keys.plain(source), keys.plain(source, generated=True)]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True]
    source.write_text("int kernel = 1;\n")
    assert keys.kernel("kernel", [source]) != before[0]
    assert keys.plain(source, generated=True) != before[2]


def test_what_only_links_or_locates_is_not_in_the_key_of_an_object(source, tmp_path):
    plain = keys_of(source)
    elsewhere = ("/elsewhere/device-compiler", *RECIPE.compiler.command[1:])
    changes = {"compiler": replace(RECIPE.compiler, command=elsewhere), "location_flags": (f"-I{tmp_path}",)}
    assert keys_of(source, link_flags=("-ltwo",), arch="other", **changes) == plain


def test_digests_tell_parts_and_files_apart(tmp_path):
    text = b"\x02" + bytes(7) + b"ab" + b"\x01" + bytes(7) + b"c"
    assert digest_parts("ab", b"c") == hashlib.blake2b(text, digest_size=20).hexdigest()
    assert len({digest_parts(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("ab", "c", ""))}) == 4
    (tmp_path / "file").write_bytes(data := bytes(range(251)) * 1000)
    assert digest_file(tmp_path / "file") == hashlib.blake2b(data, digest_size=20).hexdigest()


def test_keys_of_several_kernels_and_of_libraries_have_their_order():
    keys, linked = (Keys(replace(RECIPE, linker=words), FolderDigests(None)) for words in ((), ("ld",)))
    assert keys.unit(["a", "b"]) == digest_parts("unit", "a", "b") != keys.unit(["b", "a"])
    libraries = [keys.library("l.so", ["a", "b"]), keys.library("l.so", ["b", "a"])]
    libraries += [keys.library("m.so", ["a", "b"]), linked.library("l.so", ["a", "b"])]
    assert len(set(libraries)) == 4


def age(folder, seconds=60):
    """Have all files look as if they had been left alone for a while."""
    then = time.time_ns() - int(seconds * 1e9)
    for path in folder.rglob("*"):
        os.utime(path, ns=(then, then))


@pytest.fixture
def headers(tmp_path):
    folder = tmp_path / "headers"
    for name in ("CK/c.hpp", "a.hpp", "below/b.hpp"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name[-5])
    return folder


def test_a_folder_is_known_by_names_and_contents(headers, tmp_path):
    def digest():
        return FolderDigests(None).of(headers)

    plain = digest()
    assert plain == digest_parts("CK/c.hpp", "c", "a.hpp", "a", "below/b.hpp", "b")
    for name in (".git/x", "below/__pycache__/x"):
        (headers / name).parent.mkdir()
        (headers / name).write_text("x")
    (headers / "dangling").symlink_to("nowhere")
    (headers / "below" / "above").symlink_to(headers)
    assert digest() == plain, "nothing of that can be included, or it is there already"
    (headers / "below" / "b.hpp").rename(headers / "b.hpp")
    assert digest() != plain
    assert FolderDigests(None).of(tmp_path / "absent") == digest_parts()


def test_files_are_read_again_where_they_may_have_changed(headers, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    plain = FolderDigests(store).of(headers)
    age(headers, 1)
    assert FolderDigests(store).of(headers) == plain
    assert list(store.iterdir()) == [], "a file may change again within the time that its stamp shows"
    age(headers)
    digests = FolderDigests(store)
    assert digests.of(headers) == plain
    (memo,) = store.iterdir()
    looked = (headers / "a.hpp").stat().st_mtime_ns
    (headers / "a.hpp").write_text("x")
    os.utime(headers / "a.hpp", ns=(looked, looked))
    assert FolderDigests(store).of(headers) == plain != FolderDigests(None).of(headers), "it looks the same"
    (headers / "a.hpp").write_text("xx")
    assert digests.of(headers) == plain, "one build looks once"
    changed = FolderDigests(store).of(headers)
    assert changed == FolderDigests(None).of(headers) != plain
    others = (f'{{"signature": "{other}", "digest": "wrong"}}' for other in ("", "g"))
    for damage in ("{", "{}", "[]", *others):
        memo.write_text(damage)
        assert FolderDigests(store).of(headers) == changed
    assert FolderDigests(tmp_path / "file" / "store").of(headers) == changed


def test_the_interface_has_a_number(tmp_path):
    assert abi_version() == abi_version(abi_dir()) >= 1
    header = tmp_path / "ckprof_abi.h"
    with pytest.raises(ToolchainError, match=r"ckprof_abi\.h: cannot be read \(No such .*reinstall"):
        abi_version(tmp_path)
    header.write_text("// #define CKPROF_ABI_VERSION 3\n")
    with pytest.raises(ToolchainError, match="no CKPROF_ABI_VERSION; reinstall ckprof"):
        abi_version(tmp_path)
    header.write_text("#pragma once\n#define CKPROF_ABI_VERSION 34\n")
    assert abi_version(tmp_path) == 34


def test_sources_say_little_unless_they_know_more(tmp_path):
    kernel = KernelSources(key="k", name="n", header=tmp_path, entry=tmp_path, symbol="s")
    assert (kernel.weight, kernel.device_marker, kernel.fields()) == (1, "", {})
    folder = KernelFolder(root=tmp_path, library_name="l", kernels=(kernel,))
    assert folder.shared_sources == ()
    with pytest.raises(NotImplementedError, match="only whole trees are linked"):
        folder.write_library_source(["s"])
