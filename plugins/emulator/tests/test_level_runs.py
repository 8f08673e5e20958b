"""In which order the kernels of a level are run, and what is kept of their outcomes."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from ckprof.model.architecture import API_LEVEL_2025_11
from plugins.emulator.tests import run_record
from plugins.emulator.tests.level_runs import KIND, TILE, TOGETHER, in_order, main, one_of_each
from plugins.emulator.tests.run_record import Outcome, Record, expressed, summary, table
from tests.plugins.pipelines.level_counts import ARCH

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def kernels():
    return {one.instance.key: one for _, _, valid in expressed(ARCH, API_LEVEL_2025_11) for one in valid}


def test_every_kernel_without_an_outcome_comes_once_beside_those_of_its_tile(kernels):
    known = set(list(kernels)[::3])
    groups = list(in_order(kernels, known, ""))
    order = [one.instance.key for group in groups for one in group]
    assert len(order) == len(set(order)) and set(order) == set(kernels) - known
    tiles = [{tuple(one.instance.fields().get(field) for field in TILE) for one in group} for group in groups]
    assert sum(map(len, tiles)) == len(set().union(*tiles))
    assert all(len(group) <= TOGETHER or len(tile) == 1 for group, tile in zip(groups, tiles, strict=True))


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """Return a function that opens the record of an architecture among those of the test."""
    monkeypatch.setattr(run_record, "RECORDS", tmp_path)
    return partial(Record, level=API_LEVEL_2025_11)


def test_outcomes_are_kept_for_their_architecture_alone(begin, kernels):
    compiled_by = {"compiler": "clang 19", "headers": "0123"}
    record = begin(ARCH, compiled_by=compiled_by)
    passed, failed = list(kernels.values())[:2]
    outcomes = [
        Outcome(passed.instance.key, record.source_of(passed), right=3, wrong=["a problem: wrong_result: 1"]),
        Outcome(failed.instance.key, record.source_of(failed), "no match"),
    ]
    record.add(outcomes)
    assert list(begin(ARCH, compiled_by=compiled_by).outcomes.values()) == outcomes
    assert not begin("gfx950").outcomes
    lines = table(begin(ARCH))
    first = next(line for line in lines if line.startswith("| forward"))
    assert first.endswith("| 1 | 1 | 1 | 3 | 1 |")
    assert lines[-1].endswith(f"| {len(kernels)} | 1 | 1 | 1 | 3 | 1 |")
    with pytest.raises(ValueError, match="clang 19"):
        begin(ARCH, compiled_by=compiled_by | {"compiler": "clang 22"})


def test_one_kernel_of_each_operation_type_and_pipeline_is_run():
    every = [one for _, _, valid in expressed(ARCH, API_LEVEL_2025_11, fused=True) for one in valid]

    def kinds(some):
        return Counter(tuple(one.instance.fields().get(field) for field in KIND) for one in some)

    chosen = one_of_each(every)
    assert kinds(chosen) == dict.fromkeys(kinds(every), 1)
    assert {"Clamp", "AddClamp", "Bilinear", "DynamicUnaryOp"} <= {kind[1] for kind in kinds(chosen)}


def test_kernels_of_an_operation_are_one_row_and_count_once(begin):
    record = begin(ARCH, compiled_by={})
    lists = [
        one for one in expressed(ARCH, API_LEVEL_2025_11, fused=True) if one[0].startswith("forward/clamp/")
    ]
    distinct = {one.instance.key: one for _, _, valid in lists for one in valid}
    kernel = next(iter(distinct.values()))
    record.add([Outcome(kernel.instance.key, record.source_of(kernel), right=3)])
    (row,) = (line for line in table(record, fused=True) if line.startswith("| forward/clamp "))
    assert sum(len(valid) for _, _, valid in lists) > len(distinct)
    assert row.endswith(f"| {len(distinct)} | 1 | 0 | 1 | 3 | 0 |")


def test_an_outcome_counts_for_its_source_alone(begin, kernels):
    record = begin(ARCH, compiled_by={})
    kernel = next(iter(kernels.values()))
    record.add([Outcome(kernel.instance.key, record.source_of(kernel), right=3)])
    assert record.known([kernel])
    record.add([Outcome(kernel.instance.key, "another", right=3)])
    assert not begin(ARCH).known([kernel])


def test_the_documented_call_prints_the_table(begin, monkeypatch, capsys):
    begin("gfx950", compiled_by={})
    monkeypatch.setattr("sys.argv", ["level_runs", "table", "--arch", "gfx950"])
    main()
    assert capsys.readouterr().out.splitlines() == table(begin("gfx950"))


DOCUMENT = Path(__file__).parents[1] / "docs" / "kernels-that-ran.md"


def stands(wanted):
    """Whether the document has these lines one after the other."""
    return "\n".join(["", *wanted, ""]) in DOCUMENT.read_text()


@pytest.mark.parametrize(("arch", "fused"), [("gfx942", False), ("gfx950", False), ("gfx942", True)])
def test_the_tables_of_the_document_are_counted(arch, fused):
    assert stands(table(Record(arch, API_LEVEL_2025_11), fused=fused))


def test_the_sums_of_the_document_are_counted():
    assert stands(summary())
