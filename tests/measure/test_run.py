"""Runs of libraries and of trees of lists: what is told, asked and kept, and what ends them."""

from dataclasses import replace

import pytest

from ckprof.errors import ExitCode, InputError, PluginError, ToolchainError, UsageError
from ckprof.events import Level, Message, Progress, ProgressEnded
from ckprof.kernels.choose import Selection
from ckprof.kernels.requests import BuildOptions, InstanceQuery
from ckprof.measure import run as run_module
from ckprof.measure.baselines import Baselines
from ckprof.measure.options import ReferencePlace, RunOptions
from ckprof.measure.requests import RunPlanOptions, RunRequest
from ckprof.measure.run import Batch, Run, run_to_its_end
from ckprof.measure.worker.messages import BaselineSource
from ckprof.model.outcome import Status
from ckprof.model.problem_case import as_case
from ckprof.model.results import ListResult, ListVerdict
from ckprof.paths import conf_root
from ckprof.plugin.hookspecs import hookimpl
from tests.cases import Cases

from .fakes import HERE, make_problem
from .run_instances import QUICK, Kept, built, session_with

PROBLEMS = (as_case(make_problem(8)), as_case(make_problem(5)))


class Hooks:
    """Notes what plugins are notified of."""

    def __init__(self):
        self.seen = []

    @hookimpl
    def ckprof_before_problem(self, direction, problem, problem_index):
        self.seen.append((direction, problem_index))

    @hookimpl
    def ckprof_after_outcome(self, instance, problem, outcome):
        self.seen.append((instance.kernel, problem.input, outcome.status.value))


@pytest.mark.compiler
def test_outcomes_come_with_what_is_told_and_who_is_notified(library):
    hooks, told, kept = Hooks(), [], Kept()
    kept.add_baseline = kept.samples.append
    source = BaselineSource(id="good", entry=f"{HERE / 'engine.py'}:make_good", on_host=True)
    running = Run(
        session_with(hooks, emit=told.append),
        built(library, ["ok", "wrong"], ["refused"]),
        PROBLEMS,
        replace(QUICK, rounds=1),
        Baselines([source]),
    )
    outcomes = list(running.outcomes(lambda run: kept))
    known = [("refused", "unsupported"), ("ok", "ok"), ("wrong", "wrong_result")]
    assert [(one.key, one.status.value) for one in outcomes] == 2 * known
    assert hooks.seen == [
        entry
        for index, size in ((0, 8), (1, 5))
        for entry in (("scale", index), *((key, (size, size), status) for key, status in known))
    ]
    assert told[0] == Progress(what="run", done=0, total=6) and type(told[-1]) is ProgressEnded
    texts = [one.text for one in told if isinstance(one, Message) and one.level is Level.DETAIL]
    for text in ("unsupported: fake_refused no such tile", "ok: fake_ok", "ok: baseline good"):
        assert texts.count(text) == 2, text
    # who keeps measurements has baselines as well
    assert [getattr(one, "baseline", one) for one in kept.samples[-1:]] == ["good"] and len(kept.samples) == 8
    assert running.bench.device and not running.rounds.stopped and len(running.baselines.outcomes) == 2


@pytest.mark.compiler
def test_problems_are_left_out_once_the_run_shall_stop(library):
    asked = []
    running = Run(
        session_with(),
        built(library, ["ok"]),
        PROBLEMS,
        QUICK,
        should_stop=lambda: asked.append(0) or len(asked) > 1,
    )
    assert [one.problem_index for one in running.outcomes()] == [0] and running.rounds.stopped


@pytest.fixture
def ended(library, monkeypatch):
    """Run a library to its end; return the results, and what ended the run."""

    def call(kernels, emit=lambda event: None, problems=PROBLEMS, path=library, **changes):
        made = built(path, kernels, ["refused"])
        monkeypatch.setattr(run_module, "build_needed_library", lambda *given: made)
        request = RunRequest(
            selection=Selection(conversions=(), candidates=made.candidates, source="s"),
            problems=problems,
            build=BuildOptions(),
            **{"options": QUICK, **changes},
        )
        return run_to_its_end(session_with(emit=emit), request)

    return call


@pytest.mark.compiler
def test_the_results_hold_everything_that_was_found_out(ended):
    results, error = ended(["ok", "wrong"])
    assert error is None and not results.partial and not results.succeeded
    assert (results.direction, results.target, results.arch) == ("scale", "cpu", "fake0")
    assert [one.name for one in results.instances] == ["fake_ok", "fake_wrong", "fake_refused"]
    assert results.problems == tuple(case.problem for case in PROBLEMS) and results.cases == PROBLEMS
    assert results.build.compiled == 2 and len(results.outcomes) == 6
    assert {*results.stages_s} == {"build", "run"} and results.environment[
        "device"
    ] == "fake device, 0 workers"


@pytest.mark.compiler
@pytest.mark.parametrize("what", [KeyboardInterrupt, ToolchainError("no more"), ZeroDivisionError])
def test_what_was_measured_is_not_lost_with_what_ends_a_run(ended, what):
    def emit(event):
        if isinstance(event, Message) and event.text == "ok: fake_ok":
            raise what

    results, error = ended(["ok", "ok_10ms"], emit)
    assert isinstance(error, what if isinstance(what, type) else ToolchainError)
    assert results.partial and [(one.key, one.problem_index) for one in results.outcomes] == [
        *(("refused", 0), ("ok", 0))
    ]


@pytest.mark.compiler
def test_kernels_whose_rounds_were_cut_short_have_an_outcome(ended):
    def emit(event):
        if isinstance(event, Message) and event.text.startswith("round 2: "):
            raise KeyboardInterrupt

    results, error = ended(["ok", "prints"], emit, options=RunOptions(max_time_s=0.02, timeout_s=5.0))
    assert type(error) is KeyboardInterrupt and results.partial
    assert {one.key: one.status for one in results.outcomes} == {
        "refused": Status.UNSUPPORTED,
        **dict.fromkeys(("ok", "prints"), Status.OK),
    }


def test_runs_that_stop_or_have_no_kernels(ended):
    results, error = ended([], should_stop=lambda: True, path=None)
    assert error is None and results.partial and results.outcomes == ()
    results, error = ended([], path=None)
    assert error is None and not results.partial and not results.environment["device"]
    assert [(one.key, one.reason) for one in results.outcomes] == [("refused", "no such tile")] * 2


def test_a_target_without_a_device_makes_no_reference(ended):
    options = replace(QUICK, reference=ReferencePlace.DEVICE)
    with pytest.raises(
        UsageError, match="--reference device: the target cpu has no device; use --reference "
    ):
        ended([], path=None, options=options)


# --- trees of lists -----------------------------------------------------------------------------------------

LINE = "2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Lists of two directions, one of three dimensions, a broken one, and one of another set."""
    root = tmp_path_factory.mktemp("tree")
    made = {
        "backward_data/tests/ndhwgc_fp16": "backward_data/tests/ndhwgc_fp16",
        "backward_data/tests/nhwgc_fp16": "backward_data/tests/nhwgc_fp16",
        "forward/profiler/nhwgc_fp16": "forward/tests/nhwgc_fp16",
        "forward/tests/nhwgc_fp16": "forward/tests/nhwgc_fp16",
    }
    for name, source in made.items():
        path = root / f"{name}.conf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((conf_root() / f"{source}.conf").read_text().splitlines()[0] + "\n")
    (root / "forward" / "tests" / "broken_nhwgc_fp16.conf").write_text("no list\n")
    return root


@pytest.fixture(scope="module")
def session():
    return session_with()


def batch(session, root, *, build=None, set_name="", query=None, **plan):
    options = RunPlanOptions(**plan)
    return Batch(session, str(root), query or InstanceQuery(), options, build or BuildOptions(), set_name)


def planned(batch):
    """Return name or direction of what is planned, and what of it: problems, or verdict and reason."""
    return [
        (one.name, one.verdict, one.reason, one.exit_code)
        if isinstance(one, ListResult)
        else (one.selection.direction, [case.problem.describe() for case in one.problems])
        for one in batch.plans()
    ]


def test_every_list_of_a_tree_is_planned_or_says_why_not(session, tree):
    found = planned(batch(session, tree, problems=(LINE,), set_name="tests"))
    assert [entry[0] for entry in found] == [
        "backward_data/tests/ndhwgc_fp16.conf", "bwd_data", "forward/tests/broken_nhwgc_fp16.conf", "fwd",
    ]  # fmt: skip
    skipped, bwd_data, broken, fwd = found
    assert skipped[1:] == (
        ListVerdict.SKIPPED,
        "no problem of its direction, dimensions, type and layout was given",
        ExitCode.OK,
    )
    assert broken[1] is ListVerdict.BROKEN and broken[3] is ExitCode.INPUT and "broken_nhwgc" in broken[2]
    assert len(bwd_data[1]) == len(fwd[1]) == 1 and "K16 C16" in fwd[1][0]


def test_without_problems_each_list_has_its_own(session, tree):
    solid, flat = planned(batch(session, tree / "backward_data"))
    assert solid[0] == flat[0] == "bwd_data"
    assert solid[1][0].startswith("3D") and flat[1][0].startswith("2D")


def test_lists_of_other_directions_and_filtered_ones_are_skipped(session, tree):
    only = planned(batch(session, tree, query=InstanceQuery(directions="fwd"), set_name="tests"))
    assert [entry[2] for entry in only if entry[1] is ListVerdict.SKIPPED] == ["a list of bwd_data"] * 2
    none = InstanceQuery(directions=("bwd_data",), filters="tile_m == 12345")
    reasons = [entry[2] for entry in planned(batch(session, tree / "backward_data", query=none))]
    assert reasons == ["none of 1 instances passes --filter, --exclude and --family"] * 2


def test_each_list_has_a_build_folder_of_its_own(session, tree, tmp_path):
    build = BuildOptions(build_dir=tmp_path / "build")
    (made,) = batch(session, tree / "forward", build=build, set_name="profiler").plans()
    assert made.build.build_dir == tmp_path / "build" / "profiler" / "nhwgc_fp16"
    assert made.build.build_dir.parent.is_dir()
    nowhere = BuildOptions(build_dir=tmp_path / "a" / "b")
    with pytest.raises(UsageError, match="there is no folder above it; make it first"):
        planned(batch(session, tree / "forward", build=nowhere, set_name="profiler"))


def test_what_contradicts_a_tree_is_refused_before_anything_is_read(session, tree):
    wrong = {
        "--conf and --tree contradict each other": {"query": InstanceQuery(conf="x.conf")},
        "--rule-set and --tree contradict each other": {"query": InstanceQuery(rule_set="tiny")},
        "--instance counts within one list: use --filter": {"query": InstanceQuery(indices=(3,))},
        "for one direction or for all": {"query": InstanceQuery(directions=("fwd", "bwd_data"))},
        "sideways": {"query": InstanceQuery(directions="sideways")},
        "toaster": {"build": BuildOptions(target="toaster")},
    }
    with Cases() as cases:
        for text, changes in wrong.items():
            with cases.case(text), pytest.raises(UsageError, match=text):
                batch(session, tree, **changes)
    for text, changes in {
        "needs a value": {"problems": ("conv -n",)},
        "profiler, tests": {"set_name": "x"},
    }.items():
        with pytest.raises(InputError, match=text):
            batch(session, tree, **changes)
    with pytest.raises(InputError, match="no such folder"):
        batch(session, tree / "nowhere")


def results_of(monkeypatch, session, tree, ends):
    """Return the results of the lists of a direction, whose runs end so, and what is told."""
    told = []

    def run(_, request):
        raise ends

    monkeypatch.setattr(run_module, "run_to_its_end", run)
    monkeypatch.setattr(session, "emit", told.append)
    found = list(batch(session, tree / "backward_data", problems=(LINE,)).results())
    return found, [one.text for one in told if isinstance(one, Message)]


@pytest.mark.parametrize("error", [PluginError("it broke"), InputError("it is wrong")])
def test_a_list_at_which_something_fails_leaves_the_others_alone(monkeypatch, session, tree, error):
    found, told = results_of(monkeypatch, session, tree, error)
    assert [one.verdict for one in found] == [ListVerdict.SKIPPED, ListVerdict.BROKEN]
    assert (found[1].direction, found[1].reason, found[1].exit_code) == (
        "bwd_data",
        str(error),
        error.exit_code,
    )
    assert "[2/2] tests/nhwgc_fp16.conf" in told and f"[2/2] tests/nhwgc_fp16.conf: broken: {error}" in told
    with pytest.raises(ToolchainError):
        results_of(monkeypatch, session, tree, ToolchainError("no compiler"))


@pytest.mark.compiler
def test_what_a_list_gave_before_it_ended_is_a_result(monkeypatch, session, tree, ended):
    results, _ = ended(["ok"])
    for error, verdict, raised in (
        (None, ListVerdict.FINE, None),
        (PluginError("it broke"), ListVerdict.BROKEN, None),
        (KeyboardInterrupt(), ListVerdict.FAILED, KeyboardInterrupt),
    ):
        monkeypatch.setattr(run_module, "run_to_its_end", lambda *given, error=error: (results, error))
        found = batch(session, tree / "backward_data", problems=(LINE,)).results()
        next(found)
        one = next(found)
        assert one.verdict is verdict and one.results is results
        if raised is not None:
            with pytest.raises(raised):
                next(found)
