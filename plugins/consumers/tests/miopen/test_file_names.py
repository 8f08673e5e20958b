"""Names of MIOpen's databases."""

import pytest

from ckprof_plugins.consumers.miopen.databases import base_name, parse_version, read_name, user_names


@pytest.mark.parametrize(
    ("arch", "units", "name"),
    [
        ("gfx1030", 36, "gfx1030_36"),
        ("gfx906", 64, "gfx906_64"),
        ("gfx908", 120, "gfx90878"),
        ("gfx90a", 104, "gfx90a68"),
        ("gfx942", 304, "gfx942130"),
        ("gfx950", 256, "gfx950100"),
    ],
)
def test_devices(arch, units, name):
    assert base_name(arch, units) == name
    find, perf, table = user_names(arch, units, "3_2_0_5f2ae8c-dirty")
    for file, is_find, is_user in (
        (f"{name}.HIP.fdb.txt", True, False),
        (f"{name}.OpenCL.fdb.txt", True, False),
        (find, True, True),
        (f"{name}.db.txt", False, False),
        (perf, False, True),
        (f"{name}.db", False, False),
        (table, False, True),
    ):
        read = read_name(file)
        assert (read.arch, read.compute_units, read.is_find, read.is_user, read.problem) == (
            arch,
            units,
            is_find,
            is_user,
            "",
        ), file


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("gfx942_304.db.txt", "begins with gfx942130"),
        ("gfx90a6.db.txt", "begins with gfx90a_6"),
        ("gfx90a64.db.txt", ""),
        ("gfx90620.db.txt", "begins with gfx906_32; of 20, with gfx906_20"),
        ("gfx942.db.txt", "number of compute units in front"),
        ("gfx942130.fdb.txt", "expected one of"),
        ("gfx942130.HIP.ufdb.txt", "those of users with the version"),
        ("gfx942130_1.0.0.udb", "expected one of"),
        ("results.txt", "expected the architecture"),
    ],
)
def test_names_that_are_never_opened(name, part):
    problem = read_name(name).problem
    assert part in problem
    assert bool(part) == bool(problem)


def test_versions():
    assert parse_version("3.2.0.5f2ae8c") == parse_version("3_2_0_5f2ae8c") == "3_2_0_5f2ae8c"
    assert [parse_version(text) for text in ("", "3.2", "3.2.0", "x", "3.2.0.a/b")] == [""] * 5
