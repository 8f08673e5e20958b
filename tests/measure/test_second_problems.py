from dataclasses import replace

import pytest

from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.executor import Executor
from ckprof.measure.rounds import KernelConfiguration, RoundRobin
from ckprof.measure.rounds_loop import KernelGroup
from ckprof.model.outcome import Outcome, Status
from ckprof.model.problem_case import ProblemLine
from ckprof_plugins.directions.fwd import Forward

from .fakes import ARCH, ScaleDirection, make_instance, make_problem
from .run_instances import QUICK, run_instances, selected, texts

#: what a kernel may use for its second problem: more work than is timed, less, and less still
SECONDS = ((make_problem(16), make_problem(3), make_problem(2)),)


@pytest.mark.parametrize("asked", [True, False])
def test_kernels_are_verified_on_second_problems_once(asked, library, tmp_path):
    names, opened, begun = ["ok", "wrong_if_small", "unsupported", "segfault"], [], []
    outcomes = list(
        run_instances(
            *(library, ARCH, ScaleDirection(), [make_instance(name) for name in names]),
            [make_problem(8), make_problem(9)],
            replace(QUICK, second_problem=asked),
            lock_dir=tmp_path,
            on_open=opened.append,
            before_problem=lambda problem, index: begun.append(problem),
            second_problems=dict.fromkeys(names, SECONDS),
        )
    )
    found = {(one.key, one.problem_index): one for one in outcomes}
    wrong = Status.WRONG_RESULT if asked else Status.OK
    expected = [Status.OK, wrong, Status.UNSUPPORTED, Status.RUN_ERROR]
    assert [found[name, index].status for index in (0, 1) for name in names] == 2 * expected
    # plugins hear of the problems that are timed alone
    assert begun == [make_problem(8), make_problem(9)]
    (line,) = {line for lines in opened[0].second.values() for line in lines} or {""}
    assert opened[0].second.keys() == (set() if not asked else {"ok", "wrong_if_small"})
    if asked:
        again = Forward().parse_problem(ProblemLine(text=line, path="second"))
        assert again.problem == make_problem(3)
        where = f"(on a second problem: --problem '{line}' --split-k 1)"
        assert found["wrong_if_small", 1].reason.endswith(where)


def test_second_problems_wait_for_a_problem_that_is_more_work(library, tmp_path):
    opened, further = [], {"lock_dir": tmp_path, "second_problems": {"ok": SECONDS}}
    made = library, ARCH, ScaleDirection(), [make_instance("ok")], [make_problem(1), make_problem(8)]
    seen = [one.second for one in run_instances(*made, QUICK, **further, on_open=opened.append)]
    assert len({*seen}) == 2 and opened[0].second["ok"]


def test_a_kernel_without_a_second_problem_is_asked_again_beside_a_larger_problem_alone(
    library, tmp_path, monkeypatch
):
    asked = []
    monkeypatch.setattr(
        Executor, "support", lambda self, key, queries: asked.append(queries[0].problem) or ()
    )
    made = library, ARCH, ScaleDirection(), [make_instance("ok")], [make_problem(8), make_problem(9)]
    further = {"lock_dir": tmp_path, "second_problems": {"ok": SECONDS}}
    outcomes = list(run_instances(*made, replace(QUICK, rounds=3), **further))
    assert {one.status for one in outcomes} == {Status.OK}
    second = [problem for problem in asked if problem not in (make_problem(8), make_problem(9))]
    assert second == [make_problem(3), make_problem(2)] * 2


def test_a_kernel_that_was_not_built_is_not_asked_for_its_support(library, tmp_path):
    # a worker does not know it: to ask would cost two workers in each visit
    kernels = {name: selected(make_instance(name)) for name in ("not_built", "ok")}
    rejection = Outcome(key="not_built", problem_index=0, status=Status.UNSUPPORTED, reason="no such tile")
    made = BenchLibrary(
        path=library,
        operation=ScaleDirection(),
        target="",
        arch=ARCH,
        rejections={"not_built": rejection},
        second_problems=dict.fromkeys(kernels, SECONDS),
    )
    ranking = RoundRobin([KernelConfiguration(name, 1) for name in kernels])
    group = KernelGroup(problem=make_problem(8), problem_index=0, kernels=kernels, ranking=ranking)
    seen = []
    with KernelBench(made, QUICK, (), seen.append, lock_folder=tmp_path) as opened:
        opened.open_group(group)
        found = {planned.cell.instance: opened.measure(group, planned) for planned in ranking.visit()}
    assert found["ok"].status is Status.OK and found["not_built"].reason == "no such tile"
    assert opened.second.lines.keys() == {"ok"} and not texts(seen, "worker lost")


@pytest.mark.parametrize("stops", [False, True])
def test_a_kernel_is_verified_on_second_problems_right_after_its_first_sample(library, tmp_path, stops):
    # a sweep whose time is over keeps what it has verified; of what it was stopped at nothing is known
    kernels = {name: selected(make_instance(name)) for name in ("ok", "prints")}
    made = BenchLibrary(
        path=library,
        operation=ScaleDirection(),
        target="",
        arch=ARCH,
        rejections={},
        second_problems=dict.fromkeys(kernels, SECONDS),
    )
    ranking = RoundRobin([KernelConfiguration(name, 1) for name in kernels])
    group = KernelGroup(problem=make_problem(8), problem_index=0, kernels=kernels, ranking=ranking)
    seen, verified = [], []
    with KernelBench(made, QUICK, (), seen.append, lock_folder=tmp_path) as opened:
        opened.second.should_stop = lambda: stops
        opened.open_group(group)
        for planned in ranking.visit():
            outcome = opened.measure(group, planned)
            assert outcome.status is Status.OK and bool(outcome.second) is not stops
            verified.append([*opened.second.lines])
    assert verified == ([[], []] if stops else [["ok"], ["ok", "prints"]])
    # operands of a second problem, with what sums are exact in, are those of all kernels
    assert len([text for text in texts(seen, "problem ") if " operands and reference in " in text]) == (
        2 if stops else 3
    )


def test_second_problems_that_a_kernel_was_right_on_before_are_not_run_again(library, tmp_path):
    names = ["ok", "wrong_if_small", "segfault"]
    made = library, ARCH, ScaleDirection(), [make_instance(name) for name in names]
    further = {"lock_dir": tmp_path, "second_problems": dict.fromkeys(names, SECONDS)}

    def run(options=QUICK, **known):
        found = run_instances(*made, [make_problem(8)], options, **further, known=known)
        return {one.key: (one.status, one.second) for one in found}

    first = run()
    digest = first["ok"][1]
    assert len(digest) == 8
    # what fails there has no digest
    assert [*first.values()] == [(Status.OK, digest), (Status.WRONG_RESULT, ""), (Status.RUN_ERROR, "")]
    assert run(ok=digest, wrong_if_small="of others") == first
    assert run(wrong_if_small=digest) == {**first, "wrong_if_small": (Status.OK, digest)}
    # without exact operands less is known
    assert run(replace(QUICK, exact=False), wrong_if_small=digest)["wrong_if_small"][0] is Status.WRONG_RESULT
    assert run(replace(QUICK, second_problem=False))["ok"] == (Status.OK, "")
