"""``ckprof run``: what is planned, how results are delivered, and the exit code."""

import csv
import io
import json

import pytest

from ckprof.errors import ToolchainError, UsageError
from ckprof.model.outcome import Outcome, Status
from ckprof.model.results import BuildSummary, RunResults
from tests.report.conftest import PASSED, measured

LIST = "forward/tests/nhwgc_fp16"
ONE, TWO = ("2 1 1 16 16 1 1 6 5 1 1 1 1 0 0 0 0", "2 1 1 16 24 1 1 6 5 1 1 1 1 0 0 0 0")
RUN = ("run", "fwd", "--conf", LIST, "--instance", "0-2", "--problem", ONE, "--problem", TWO)


@pytest.fixture
def measuring(monkeypatch):
    """Have each kernel take a millisecond more than the one before, where nothing is built and run.

    What is returned takes what else becomes of (instance, problem), and what ends the runs.
    """
    ends, error = {}, []

    def run(session, request, open_recorder=None):
        kernels = tuple(candidate.selected("") for candidate in request.selection.candidates)
        outcomes = tuple(
            Outcome(key=kernel.key, problem_index=index, status=ends[number, index], reason="so it was")
            if (number, index) in ends
            else Outcome(
                key=kernel.key,
                problem_index=index,
                status=Status.OK,
                measurement=measured(1.0 + number),
                verification=PASSED,
            )
            for index in range(len(request.problems))
            for number, kernel in enumerate(kernels)
        )
        found = RunResults(
            direction=request.selection.direction,
            target="cpu",
            arch="",
            environment={"seed": request.options.seed},
            conversions=(),
            instances=kernels,
            problems=tuple(case.problem for case in request.problems),
            build=BuildSummary(),
            outcomes=() if error and isinstance(error[0], UsageError) else outcomes,
        )
        return found, error[0] if error else None

    monkeypatch.setattr("ckprof.measure.run.run_to_its_end", run)

    def change(becomes=(), end=None):
        ends.update(becomes)
        error[:] = [end] if end is not None else []

    return change


def rows_of(text):
    return [(int(row["instance"]), row["rank"]) for row in csv.DictReader(io.StringIO(text))]


def test_one_result_goes_wherever_it_is_asked_for(ckprof, measuring, tmp_path):
    called = ckprof(*RUN, "--format", "csv", "--json", "a.json", "-o", "md=a.md", "--seed", "7").ok()
    assert rows_of(called.out) == [(0, "1"), (1, "2"), (2, "3")] * 2
    report = json.loads((tmp_path / "a.json").read_text())
    assert (report["schema"], report["environment"]["seed"], len(report["problems"])) == ("ckprof.run", 7, 2)
    assert (tmp_path / "a.md").read_text().count("grouped_conv_fwd_") >= 6
    assert ckprof(*RUN).out.count("grouped_conv_fwd_") == 6


def test_only_the_best_are_shown_and_problems_without_one_are_named(ckprof, measuring):
    measuring({(n, 1): Status.UNSUPPORTED for n in range(3)})
    code, out, err = ckprof(*RUN, "--top", "2", "--format", "csv")
    rows = [
        (row["rank"], row["name"].partition("_")[0], row["reason"])
        for row in csv.DictReader(io.StringIO(out))
    ]
    assert code == 1 and rows == [("1", "grouped", ""), ("2", "grouped", ""), ("", "none", "so it was")]
    assert err.count("warning: no kernel serves problem 1: ") == 1
    code, out, _ = ckprof(*RUN, "--best")
    assert code == 1 and out.count("grouped_conv_fwd_") == 1


@pytest.mark.parametrize("status", [Status.WRONG_RESULT, Status.RUN_ERROR, Status.COMPILE_ERROR])
def test_a_kernel_that_failed_fails_the_command(ckprof, measuring, status):
    measuring({(1, 0): status})
    code, out, err = ckprof(*RUN, "--format", "csv", "-q")
    assert code == 1 and (1, "") in rows_of(out) and "\nckprof: exit code 1: 1 " in f"\n{err}"


def test_what_was_found_out_before_an_error_is_reported(ckprof, measuring, tmp_path):
    measuring(end=ToolchainError("the device is gone"))
    called = ckprof(*RUN, "--format", "csv", "--json", "a.json")
    assert called.code == 5 and called.err.endswith("ckprof: the device is gone\n")
    assert len(rows_of(called.out)) == 6 and (tmp_path / "a.json").exists()
    # what cannot be done at all leaves nothing
    measuring(end=UsageError("no such device"))
    called = ckprof(*RUN, "--json", "b.json")
    assert (called.code, called.out, (tmp_path / "b.json").exists()) == (2, "", False)


def test_a_tree_has_a_line_for_each_list_and_goes_on_after_a_broken_one(ckprof, measuring, tree, tmp_path):
    call = ("run", "--tree", "lists", "--format", "json")
    code, out, _ = ckprof(*call, "--json", "a.json", "-o", "md=a.md")
    stops = json.loads(out)["stops"]
    assert code == 0 and [(one["list"], one["verdict"]) for one in stops] == [
        ("backward_data/tests/nhwgc_fp16.conf", "fine"),
        ("forward/tests/ngchw_depthwise.conf", "fine"),
        ("forward/tests/nhwgc_fp16.conf", "fine"),
    ]
    assert (
        json.loads((tmp_path / "a.json").read_text())["schema"] == "ckprof.batch"
        and (tmp_path / "a.md").exists()
    )
    (tree / "forward" / "tests" / "wrong_fp16.conf").write_text("nonsense\n")
    code, out, err = ckprof("run", "bwd_data", "--tree", "lists", "--set", "tests")
    assert code == 3 and "wrong_fp16.conf:1:1" in err
    assert [word in out for word in ("broken", "skipped", "fine")] == [True] * 3
    _, out, _ = ckprof("run", "bwd_data", "--tree", "lists", "--format", "csv")
    rows = {row["list"]: (row["verdict"], row["reason"]) for row in csv.DictReader(io.StringIO(out))}
    assert rows["backward_data/tests/nhwgc_fp16.conf"] == ("fine", "")
    assert rows["forward/tests/nhwgc_fp16.conf"] == ("skipped", "a list of fwd")
    # failed outcomes weigh less than lists that cannot be read
    measuring({(0, 0): Status.RUN_ERROR})
    assert ckprof(*call).code == 3
    (tree / "forward" / "tests" / "wrong_fp16.conf").unlink()
    assert ckprof(*call).code == 1
    assert ckprof("run", "bwd_weight", "--tree", "lists").code == 1, "nothing was run"
    measuring({(0, 0): Status.UNSUPPORTED})
    assert "no instance supports problem 0: 2D " in ckprof("run", "--tree", "lists", "--format", "md").out


def test_plans_are_printed_without_being_carried_out(ckprof, tree):
    code, out, _ = ckprof(*RUN, "--dry-run")
    assert code == 0 and out.startswith("would build 3 fwd kernels for target cpu:\n  [0] grouped_conv_fwd_")
    assert "\nand run on 2 problems:\n" in out
    code, out, _ = ckprof("run", "--conf", LIST, "--list-instances", "--instance", "3,7")
    assert code == 0 and out.startswith("[3] Grouped") and out.endswith("\nTotal: 2 instances\n")
    assert ckprof("run", "--tree", "lists", "--list-instances").out.count("Total: ") == 3
    code, out, err = ckprof("run", "bwd_data", "--tree", "lists", "--dry-run")
    assert code == 0 and out.count("would build ") == 1 and err.count("skipped: a list of fwd") == 2


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--best", "--format", "json"), "--best and --top go with --format table, md, csv"),
        (("--top", "0"), "argument --top: expected a positive integer, got '0'"),
        (("--best", "--top", "3"), "not allowed with"),
        (("--best", "--tree", "conf"), "do not go with --tree"),
        (("--max-error-ulp", "2"), "it requires --best or --top"),
        (("--best", "--max-error-ulp", "nan"), "expected a number above 0, got 'nan'"),
        (("--family", "ck_tile"), "unknown family 'ck_tile'; did you mean 'ck-tile'?"),
        (("--tree", "conf", "--baseline", "torch"), "--baseline and --tree do not go together"),
        (("--tree", "conf", "--epilogue-cost"), "--epilogue-cost and --tree do not go together"),
        (("--tree", "conf", "--store", "a.db"), "--store and --tree do not go together"),
        (("--tree", "conf", "--tag", "a"), "--tag and --tree do not go together"),
        (("--tree", "conf"), "--conf and --tree contradict each other"),
        (("--split-k", "many"), "--split-k"),
        (("-o", "json=a", "--json", "./a"), "a is named twice"),
        (("--dry-run", "--format", "json"), "--list-instances and --dry-run print text"),
        (("--list-instances", "-o", "csv=a"), "--list-instances and --dry-run print text"),
        (("--set", "tests"), "--set belongs to --tree"),
        (("--tag", "nightly", "--dry-run"), "--tag names outcomes in a store: it requires --store"),
    ],
)
def test_wrong_usage(ckprof, options, part):
    called = ckprof("run", "fwd", "--conf", LIST, *options)
    assert called.code == 2 and part in called.err


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("--tree", "lists", "--instance", "3"), 2, "use --filter with --tree"),
        (("--tree", "lists", "--filter", "("), 2, "not a regular expression"),
        (("--rule-set", "tiny"), 2, "no DIRECTION given (bwd_data, bwd_weight, fwd, gemm)"),
        (("fwd",), 2, "give --conf FILE"),
        (("--tree", "nowhere"), 3, "no such folder"),
        (("--tree", "lists", "--set", "x"), 3, "tests"),
        (("--tree", "lists", "--problem", "conv -n"), 3, "needs a value"),
    ],
)
@pytest.mark.usefixtures("tree")
def test_nothing_is_run_of_what_cannot_be_meant(ckprof, words, code, part):
    ckprof("run", *words).fails_with(code, part)
