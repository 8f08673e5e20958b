"""``ckprof inspect``: reports as they are shown, sorted, filtered and compared."""

import csv
import io
import json

import pytest

from ckprof.kernels.inspection import read_report, render_report
from tests.report.test_inspection_report import ONE, TWO, changed, inspection


@pytest.fixture
def reports(tmp_path):
    """A report of two kernels, and a later one: one kernel spills, one is gone."""
    (tmp_path / "old.json").write_text(render_report(inspection(ONE, TWO)))
    (tmp_path / "new.json").write_text(render_report(inspection(changed(ONE, vgpr_spills=2))))


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ((), ["one", "two"]),
        (("--sort", "vgprs"), ["two", "one"]),
        (("--variants",), ["one", "two", "two"]),
        (("--where", "spills>0"), ["two"]),
        (("--where", "vgprs>100", "--where", "limited_by=lds"), ["one"]),
        (("--where", "spills>9"), []),
    ],
)
@pytest.mark.usefixtures("reports")
def test_rows_are_chosen_and_sorted(ckprof, options, names):
    code, out, _ = ckprof("inspect", "old.json", *options, "--format", "csv")
    assert (code, [row["name"] for row in csv.DictReader(io.StringIO(out))]) == (0, names)


@pytest.mark.usefixtures("reports")
def test_a_report_is_shown_and_written_again(ckprof, tmp_path):
    out = ckprof("inspect", "old.json").out
    assert "gfx942, clang version 1, CK Tile API level 2025-07" in out and " two" in out
    ckprof("inspect", "old.json", "--where", "spills>0", "--format", "json", "-o", "two.json")
    assert read_report(tmp_path / "two.json") == inspection(TWO)


@pytest.mark.usefixtures("reports")
def test_what_became_worse_fails_the_command(ckprof):
    code, out, _ = ckprof("inspect", "--diff", "old.json", "new.json")
    assert code == 1 and "only before: two" in out and "1 of them with new spills or lost occupancy" in out
    code, out, _ = ckprof("inspect", "--diff", "old.json", "new.json", "--format", "json")
    found = json.loads(out)
    assert (code, found["worse"], found["only_before"], found["only_after"]) == (1, 1, ["two"], [])
    assert [change["field"] for change in found["changes"]] == ["vgpr_spills"]
    code, out, _ = ckprof("inspect", "--diff", "new.json", "old.json", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert (code, row["field"], row["before"], row["after"]) == (0, "vgpr_spills", "2", "0")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "name a direction with instances to build, a folder of a build, or a JSON report"),
        (("fdw",), 3, "fdw: is neither a direction (bwd_data, "),
        (("old.json", "--rule-set", "tiny"), 2, "--rule-set goes with a direction whose instances are built"),
        (("old.json", "--diff", "old.json", "new.json"), 2, "--diff takes two builds or reports"),
        (("old.json", "--where", "spills"), 2, "--where"),
        (("old.json", "--sort", "speed"), 2, "--sort speed"),
        (("--diff", "old.json", "none.json"), 3, "none.json"),
    ],
)
@pytest.mark.usefixtures("reports")
def test_wrong_calls(ckprof, arguments, code, message):
    ckprof("inspect", *arguments).fails_with(code, message)


INSPECT = ("inspect", "fwd", "--conf", "forward/tests/nhwgc_fp16.conf", "--instance", "0")

PLUGIN = """
from ckprof import hookimpl
from ckprof.errors import UsageError
from ckprof.plugin.protocols import InspectionView


@hookimpl
def ckprof_add_arguments(command, parser):
    if command == "inspect":
        parser.add_argument("--mine")


def prepare(arguments, session, selection, problems):
    if arguments.mine == "usage":
        raise UsageError(f"{len(selection.candidates)} instances, {len(problems)} problems")
    if arguments.mine == "hostile":
        raise ValueError("boom")
    return 3


@hookimpl
def ckprof_register(registry):
    registry.add(InspectionView(id="mine", label="mine", options=("mine",), prepare=prepare))
"""


@pytest.mark.parametrize(
    ("mine", "code", "said"),
    [
        ("usage", 2, "1 instances, 0 problems"),
        ("hostile", 4, "plugin mine.py: view of inspections 'mine': prepare raised ValueError: boom"),
        ("number", 4, "prepare returned an object of type int, expected"),
    ],
)
def test_inspections_ask_views_before_kernels_are_built(ckprof, tmp_path, mine, code, said):
    (tmp_path / "mine.py").write_text(PLUGIN)
    ckprof(*INSPECT, "--mine", mine, "--plugin", "mine.py").fails_with(code, said)


def test_options_of_views_go_with_kernels_that_are_built(ckprof, tmp_path):
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "build").mkdir()
    ckprof("inspect", "build", "--mine", "x", "--plugin", "mine.py").fails_with(
        2, "--mine goes with a direction whose instances are built, not with build"
    )
