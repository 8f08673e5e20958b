from collections import Counter
from dataclasses import replace

from ckprof.events import Level, Message
from ckprof.measure import bench
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.measure.prepare import InsufficientMemoryError
from ckprof.measure.verify.operands import InitKind
from ckprof.model.outcome import Status

from .fakes import ARCH, ScaleDirection, make_instance, make_problem
from .run_instances import QUICK, run_instances, texts


def test_operands_and_reference_are_computed_once_per_problem_layout_and_type(run):
    instances = [
        make_instance("ok"),
        make_instance("segfault"),
        make_instance("ok", layout="ngchw"),
        make_instance("ok"),
    ]
    outcomes, seen, direction = run(instances, [make_problem(8), make_problem(5)])
    prepared = [text for text in texts(seen, "problem ") if " operands and reference in " in text]
    assert direction.references == 2 * len(prepared) == 8
    assert [outcome.problem_index for outcome in outcomes] == [0] * 4 + [1] * 4
    assert [outcome.status.value for outcome in outcomes[:4]] == ["ok", "run_error", "ok", "ok"]
    # each crash is tried once more in a worker that has run nothing else
    assert len(texts(seen, "worker lost: ")) == 4


def test_events_of_a_run(library, tmp_path):
    begun, seen, given = [], [], (library, ARCH, ScaleDirection(), [make_instance("ok")])
    before = lambda problem, index: begun.append((problem, index))  # noqa: E731
    list(
        run_instances(*given, [make_problem()], QUICK, seen.append, lock_dir=tmp_path, before_problem=before)
    )
    device, operands, timed, progress = seen
    assert device == Message("device: fake device, 0 workers", Level.DETAIL)
    assert operands.text.startswith("problem 0: fp32 nhwgc operands and reference in ")
    assert timed.text.startswith("round 1: ") and timed.text.endswith(" ms ok")
    assert {operands.level, timed.level} == {Level.DETAIL}
    assert (progress.done, progress.total, progress.name) == (1, 1, "ok")
    assert begun == [(make_problem(), 0)]


def test_a_problem_of_other_dimensions_is_unsupported(run):
    outcomes, _, direction = run(["ok", make_instance("ok", layout="ndhwgc")], [make_problem(ndim=3)])
    assert [outcome.status for outcome in outcomes] == [Status.UNSUPPORTED, Status.OK]
    assert outcomes[0].reason == "a kernel for 2D problems, this one is 3D"
    assert direction.references == 2


def test_later_passes_have_the_operands_of_the_first_one(run):
    kernels = ["ok", "prints", make_instance("ok", layout="ndhwgc")]
    problems = [make_problem(8), make_problem(5)]
    outcomes, seen, direction = run(kernels, problems, options=replace(QUICK, rounds=3))
    assert Counter(outcome.status for outcome in outcomes) == {Status.OK: 4, Status.UNSUPPORTED: 2}
    # the kernel of other dimensions has no operands, and takes away none
    assert direction.references == 2 * 2
    assert len(texts(seen, "problem ")) == 2


def test_without_verification(run):
    options = RunOptions(rounds=1, verify=False, max_time_s=0.02, cache=CacheMode.WARM)
    outcomes, _, direction = run(["ok", "wrong", "writes_after", "changes_input"], options=options)
    assert direction.references == 0
    assert [outcome.status.value for outcome in outcomes] == ["ok", "ok", "wrong_result", "wrong_result"]
    assert outcomes[0].verification is None and outcomes[0].measurement is not None


def test_all_zero_operands_verify(run):
    outcomes, _, _ = run(["ok", "wrong"], options=RunOptions(rounds=1, init=InitKind.ZEROS, max_time_s=0.02))
    assert [outcome.status.value for outcome in outcomes] == ["ok", "wrong_result"]


def test_without_memory_for_exact_operands_the_run_goes_on_and_says_so(run, monkeypatch):
    prepare = bench.prepare_problem

    def limited(*given, exact=None, **further):
        if exact is not None:
            raise InsufficientMemoryError("the tensors need about 9.0 GiB of memory, 1.0 GiB are available")
        return prepare(*given, exact=exact, **further)

    monkeypatch.setattr(bench, "prepare_problem", limited)
    outcomes, seen, _ = run(["ok", "wrong"], options=RunOptions(rounds=1, max_time_s=0.02))
    assert [outcome.status.value for outcome in outcomes] == ["ok", "wrong_result"]
    assert all("need about 9.0 GiB" in outcome.one_set for outcome in outcomes)
    (warning,) = texts(seen, "ok on problem ")
    assert warning == (
        "ok on problem 0 is checked with one set of operands only, not with exact ones as well: "
        "the tensors need about 9.0 GiB of memory, 1.0 GiB are available"
    )


def test_exact_operands_leave_no_tolerance(run):
    outcomes, _, _ = run(
        ["ok", "wrong"], options=RunOptions(rounds=1, init=InitKind.EXACT, splits=(64,), max_time_s=0.02)
    )
    assert [outcome.status.value for outcome in outcomes] == ["ok", "wrong_result"]
    for outcome in outcomes:
        assert outcome.verification.rtol == outcome.verification.atol == 0


def test_split_k_is_recorded(run):
    outcomes, _, _ = run(
        ["ok", "segfault", make_instance("ok", layout="ndhwgc")], options=replace(QUICK, splits=(4, -1))
    )
    assert Counter(outcome.split_k for outcome in outcomes if not outcome.split_k_deduced) == {4: 3}
    # the fake kernels choose 7, also the one that then crashes; the one of other dimensions is not asked
    assert Counter(outcome.split_k for outcome in outcomes if outcome.split_k_deduced) == {7: 2, -1: 1}
