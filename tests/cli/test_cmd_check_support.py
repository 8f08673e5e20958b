"""``ckprof check-support``: what is shown of the answers of kernels, and of their model."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from ckprof.measure.support import SupportReport
from ckprof.measure.worker.messages import AbiStatus, Support
from ckprof.model.requirement import UnmetRequirement
from ckprof.profiler import Profiler

ASK = ("check-support", "fwd", "--conf", "forward/tests/nhwgc_fp16", "--instance", "0-2")
ONE, TWO = ("2 1 1 16 16 1 1 6 5 1 1 1 1 0 0 0 0", "2 1 1 16 3 1 1 6 5 1 1 1 1 0 0 0 0")
YES = Support(status=AbiStatus.OK, split_k=1)
NO, OTHER = (
    Support(
        status=AbiStatus.REJECTED,
        split_k=1,
        unmet_requirements=(UnmetRequirement(rule="c", message=message),),
    )
    for message in ("C = 3 is odd", "too many splits")
)


@pytest.fixture
def answering(monkeypatch):
    """Have kernels answer, and their model, in place of those that a compiler makes."""

    def answer(answers, model=None, *, compiles=True):
        def check(self, request):
            candidates = request.selection.candidates
            keys = [candidate.instance.key for candidate in candidates]
            recipe = SimpleNamespace(target="hip", arch="gfx942", api_level="2026-06")
            path = Path("lib.so") if compiles else None
            return SupportReport(
                library=SimpleNamespace(path=path, recipe=recipe, rejected=()),
                queries=request.queries,
                given=len(request.queries),
                candidates=candidates,
                answers=dict(zip(keys, answers, strict=True)),
                model=None if model is None or not request.model else dict(zip(keys, model, strict=True)),
            )

        monkeypatch.setattr(Profiler, "check_support", check)

    return answer


def test_each_given_problem_has_a_row(ckprof, answering):
    answering([(YES, NO), (YES, OTHER), (NO, NO)], [(YES, NO), (YES, OTHER), (NO, NO)])
    called = ckprof(*ASK, "--problem", ONE, "--problem", TWO)
    rows = [line.split() for line in called.out.splitlines()[2:4]]
    assert [row[:5] for row in rows] == [["0", "2", "of", "3", "1"], ["1", "0", "of", "3", "1"]]
    assert all(" ".join(row).endswith(" C = 3 is odd") for row in rows)
    assert called.out.endswith(
        "6 answers of 3 kernels to 2 queries, 2 of them yes (target hip, API level 2026-06)\n"
        "the model on the CPU agrees on 6 of 6: all of them\n"
    )
    # no kernel supports the second problem
    assert called.code == 1


def test_a_model_that_answers_differently_fails_the_command(ckprof, answering):
    answers, model = [(YES, YES), (YES, NO), (YES, YES)], [(YES, YES), (NO, NO), (YES, YES)]
    answering(answers, model)
    called = ckprof(*ASK, "--problem", ONE, "--split-k", "1,2")
    (line,) = (line for line in called.out.splitlines() if line.startswith("differs: "))
    assert line.endswith(" split_k 1: yes, model no (C = 3 is odd)")
    assert called.code == 1 and called.out.endswith("the model on the CPU agrees on 5 of 6\n")
    found = json.loads(ckprof(*ASK, "--problem", ONE, "--split-k", "1,2", "--format", "json").out)
    assert (found["disagreements"], found["target"], found["arch"]) == (1, "hip", "gfx942")
    assert [query["split_k"] for query in found["queries"]] == [1, 2]
    assert [kernel["supported"] for kernel in found["kernels"]] == [[True, True], [True, False], [True, True]]
    assert [kernel["model"] for kernel in found["kernels"]] == [[True, True], [False, False], [True, True]]
    # without the model there is nothing that could differ
    called = ckprof(*ASK, "--problem", ONE, "--split-k", "1,2", "--no-model", "--format", "json")
    assert called.code == 0 and {kernel["model"] for kernel in json.loads(called.out)["kernels"]} == {None}


def test_many_differences_are_counted(ckprof, answering):
    answering([[YES] * 9] * 3, [[NO] * 9] * 3)
    out = ckprof(*ASK, "--problem", ONE, "--split-k", "2,3,4,5,6,7,8,9,10").out
    assert out.count("differs: ") == 20 and "\n... and 7 more\n" in out


def test_without_a_kernel_nothing_is_said(ckprof, answering):
    answering([(YES,)] * 3, compiles=False)
    assert ckprof(*ASK, "--problem", ONE)[:2] == (1, "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "nothing to ask: give --problem, --problems or --random"),
        (("--random", "0"), "nothing to ask: give --problem, --problems or --random"),
        (("--problem", ONE, "--split-k", "1,0"), "expected positive integers such as 1,2,4, got '1,0'"),
    ],
)
def test_wrong_usage(ckprof, options, message):
    ckprof(*ASK, *options).fails_with(2, message)
