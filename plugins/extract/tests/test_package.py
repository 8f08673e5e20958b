"""The real package of Composable Kernel 7.2.4, for which every number is known.

``CKPROF_CK_PACKAGE`` names the package or the folder into which it was unpacked;
``plugins/extract/docs/extract.md`` says how to fetch it. ``CKPROF_CK_TREES`` may name folders with source
trees of earlier releases, separated by colons.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from ckprof.cli.main import main
from ckprof.paths import conf_root
from ckprof_converters.library_lists import all_lists, known_lists
from ckprof_plugins.extract.extraction import joined_uses
from ckprof_plugins.extract.lists import compare
from ckprof_plugins.extract.mangling import decode
from ckprof_plugins.extract.opening import locate, open_library
from plugins.extract.tests.conftest import extract
from plugins.extract.tests.test_mangling import decoded_by_tool

pytestmark = [pytest.mark.ck_package, pytest.mark.timeout(600)]

#: convolutions alone, of the types that all directions have
PLAIN = [key for key in all_lists() if not key.fused and key.dtype in known_lists().dtypes]
#: (direction, layouts, types) -> function's part -> lines that the shipped lists lack
MISSING = {
    ("fwd", "nhwgc", "fp16"): {"direct_load": 24},
    ("fwd", "nhwgc", "bf16"): {"direct_load": 24},
    ("fwd", "ndhwgc", "fp16"): {"comp": 42},
    ("fwd", "ndhwgc", "bf16"): {"comp": 51},
    **{
        ("bwd_data", layout, dtype): {"optimized_loads": 24 if dtype == "fp32" else 36}
        for layout in ("nhwgc", "ndhwgc")
        for dtype in ("fp16", "bf16", "fp32")
    },
    **{
        ("bwd_weight", layout, dtype): {"exp_mem_v2_default": 16, "exp_mem_v2_mnkpadding": 16}
        for layout in ("nhwgc", "ndhwgc")
        for dtype in ("fp16", "bf16")
    },
}


def opened(with_archive=True):
    named = os.environ.get("CKPROF_CK_PACKAGE")
    if not named:
        pytest.fail(
            "CKPROF_CK_PACKAGE must name the package; plugins/extract/docs/extract.md says how to fetch it"
        )
    found, _ = open_library(locate(Path(named), {}), with_archive=with_archive)
    assert found.version == "1.2.0"
    return found


@pytest.fixture(scope="module")
def library():
    return opened()


def lists(library, shipped):
    result = extract(library, PLAIN, shipped_selection=shipped)
    assert not result.failures
    assert not result.absent
    return {item.key: item for item in result.lists}


def shipped(key, set_name):
    path = Path(__file__).parents[2] / "data" / "shipped" / key.home.folder / set_name / key.file_name
    return path.read_text().splitlines()


@pytest.mark.parametrize("with_archive", [True, False])
def test_the_lists_that_upstream_ships_line_for_line(with_archive):
    found = lists(opened(with_archive), True)
    compared = 0
    for key, item in found.items():
        for set_name in key.home.sets:
            assert list(item.file(set_name).texts) == shipped(key, set_name), (key, set_name)
            compared += 1
    assert compared == 48


def test_the_lists_that_ship_are_those_of_the_library(library):
    for key, item in lists(library, False).items():
        for set_name in key.home.sets:
            path = conf_root() / key.home.folder / set_name / key.file_name
            assert path.read_text().splitlines() == list(item.file(set_name).texts), (key, set_name)


def test_what_upstream_leaves_out_by_function(library):
    total = Counter()
    for key, item in lists(library, False).items():
        file = item.file("profiler")
        found = compare(file, shipped(key, "profiler"))
        expected = MISSING.get((key.direction, key.layout, key.dtype), {})
        added = {function: len(texts) for function, texts in found.added.items()}
        assert sorted(added.values()) == sorted(expected.values()), key
        for part, count in expected.items():
            assert [n for function, n in added.items() if function.endswith(f"_{part}_instances")] == [count]
        explicit = key.direction == "bwd_weight" and key.dtype != "fp32"
        assert len(found.removed) == (48 if explicit else 0), key
        for removed in found.removed:
            assert "<Default, CRR>" in removed.text
        total.update(added=found.added_count, removed=len(found.removed))
    assert total == {"added": 461, "removed": 192}


def test_headers_and_archive_agree_about_every_function(library):
    """The search among all tuples, which asks no recipe, finds what the recipes say, in their order."""
    functions = 0
    for key, item in lists(library, False).items():
        for name, status, uses in item.functions:
            assert status == "compiled"
            searched = joined_uses(library, name, key)
            assert [use.instances for use in searched] == [use.instances for use in uses]
            functions += 1
    assert functions == 156


def test_recipes_and_archive_give_the_same_lists(library):
    by_recipe = lists(opened(False), False)
    for key, item in lists(library, False).items():
        assert by_recipe[key].lines == item.lines


def test_a_tool_reads_the_same_names(library):
    names = sorted({name for tables in library.compiled.symbols.tables.values() for name in tables})
    assert len(names) > 14000
    assert [decode(name).replace("> >", ">>") for name in names] == decoded_by_tool(names)


def test_all_complete_counts(library):
    """Every instance of every list has as many arguments as its class has parameters."""
    for item in lists(library, False).values():
        for line in item.lines:
            device = library.classes(line.device)
            assert set(device.names) <= set(line.fields)


@pytest.mark.parametrize("engine", ["wmma", "dl"])
def test_other_instructions_give_lists_or_say_why_not(library, engine):
    result = extract(library, PLAIN, engine=engine)
    assert len(result.lists) + len(result.absent) + len(result.failures) == 18
    for item in result.lists:
        assert item.lines
    for error in result.failures.values():
        assert "no instance string of this class is known" in str(error)


def test_every_line_is_accepted_by_the_converter(tmp_path):
    written = tmp_path / "lists"
    assert main(["extract", "--from", os.environ["CKPROF_CK_PACKAGE"], "-o", str(written)]) == 0
    for command in ((), ("--check",)):
        assert main(["convert", str(written), "-o", str(tmp_path / "catalogs"), *command]) == 0


def test_two_runs_write_the_same_without_any_tool(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = []
    for name in ("first", "second"):
        monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path / f"cache_{name}"))
        folder = tmp_path / name
        assert main(["extract", "--from", os.environ["CKPROF_CK_PACKAGE"], "-o", str(folder)]) == 0
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        found.append({str(path.relative_to(folder)): path.read_bytes() for path in paths})
    assert len(found[0]) == 61
    assert found[0] == found[1]


def test_earlier_releases():
    named = os.environ.get("CKPROF_CK_TREES")
    if not named:
        pytest.skip("CKPROF_CK_TREES names no source trees of earlier releases")
    for tree in named.split(":"):
        library = open_library(locate(Path(tree), {}), with_archive=False)[0]
        result = extract(library, PLAIN)
        assert result.lists
        assert all(item.lines for item in result.lists)
        for error in result.failures.values():
            assert "unknown device class DeviceGroupedConvFwdMultipleD_Xdl_CShuffle;" in str(error)
