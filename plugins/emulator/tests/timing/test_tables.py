"""The table of devices: every number has a source, and llvm-mca agrees on matrix instructions."""

import pytest

from ckprof.errors import UsageError
from ckprof_plugins.emulator.library import ARCHITECTURES
from ckprof_plugins.emulator.tables import PASS_CYCLES, find_model, models, table, unit_table
from plugins.emulator.tests.timing.machine_code_analyser import analysed, available, matrix_instructions


def _rules(arch):
    rules = {}
    for line in unit_table(arch).splitlines():
        name, *rest = line.split()
        if name == "instruction":
            pattern, unit, *numbers = rest
            busy, latency, chained = map(int, numbers)
            rules.setdefault(pattern, (unit, busy, latency, chained))
    return rules


def test_every_number_has_a_source():
    content = table()
    records = [
        *content["properties"].values(),
        *content["instructions"],
        *content["models"].values(),
        *content["device"].values(),
    ]
    assert {record["source"] for record in records} <= set(content["sources"])


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_architecture_has_every_property(arch):
    lines = [line.split() for line in unit_table(arch).splitlines()]
    numbers = {line[0]: float(line[1]) for line in lines if line[0] != "instruction"}
    assert set(table()["properties"]) < set(numbers)
    assert all(number >= 0 for number in numbers.values())
    assert models(arch)[0].arch == arch


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_every_matrix_instruction_is_in_the_table(arch):
    assert set(matrix_instructions(arch)) <= set(_rules(arch))


@pytest.mark.amd
@pytest.mark.skipif(not available(), reason="llvm-mca 22 is not installed")
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_the_analyser_agrees_on_matrix_instructions(arch):
    names = matrix_instructions(arch)
    rules, figures = _rules(arch), analysed(arch, names)
    assert set(figures) == set(names)
    for name, (latency, throughput) in figures.items():
        busy = PASS_CYCLES * throughput
        assert rules[name] == ("matrix", busy, PASS_CYCLES * latency, busy), name


def test_products_are_found_by_their_names():
    assert find_model("gfx942").name == "MI300X"
    assert find_model("gfx942", "mi308x").compute_units == 80
    assert find_model("gfx950").name == "MI355X"
    with pytest.raises(UsageError, match="MI300X"):
        find_model("gfx942", "MI355X")
    with pytest.raises(UsageError, match="not in the table"):
        find_model("gfx1201")
