"""What is typed of a run: splits, kernels, and what of it a run is asked for."""

from types import SimpleNamespace

import pytest

from ckprof.errors import UsageError
from ckprof.kernels.choose import Selection
from ckprof.kernels.requests import BuildOptions
from ckprof.measure import requests
from ckprof.measure.options import RunOptions
from ckprof.measure.requests import RunPlanOptions, Stages, StoreOptions, parse_kernel, parse_splits
from ckprof.model.problem_case import ProblemCase, as_case
from tests.cases import Cases

from .fakes import make_problem


def test_splits_are_numbers_or_words():
    expected = {
        "1": (1,),
        "1,2,4": (1, 2, 4),
        "4,auto": (4, -1),
        "auto": (-1,),
        "-1,8": (-1, 8),
        "all": (-1, 1, 2, 4, 8, 16, 32, 64, 128),
    }
    assert {text: parse_splits(text) for text in expected} == expected
    with Cases() as cases:
        for text in ("", "0", "1,0", "-2", "1,,2", "many", "1.5", "1,all"):
            with (
                cases.case(text),
                pytest.raises(UsageError, match=f"expected positive integers, all or auto, got '{text}'"),
            ):
                parse_splits(text)


@pytest.mark.parametrize("tags", ["nightly", (3,), ("nightly", None)])
def test_tags_that_a_store_could_not_be_read_with_are_refused(tags):
    with pytest.raises(UsageError, match=r"tags is .*, expected a tuple of texts"):
        StoreOptions(store="results.db", tags=tags)


def test_a_kernel_is_a_number_a_name_or_a_key():
    texts = ("0", "17", "-1", "a1b2", "3a", "", "²")
    assert [*map(parse_kernel, texts)] == [0, 17, "-1", "a1b2", "3a", "", "²"]


def request(plan, *cases):
    return plan.request(Selection(conversions=(), candidates=(), source="s"), cases, BuildOptions(), Stages())


def test_splits_that_are_given_are_those_of_every_problem():
    cases = ProblemCase(problem=make_problem(), splits=(2,)), as_case(make_problem(5))
    kept = request(RunPlanOptions(run=RunOptions(splits=(1, 4))), *cases)
    assert kept.options.splits == (1, 4) and [case.splits for case in kept.problems] == [(2,), ()]
    given = request(RunPlanOptions(run=RunOptions(splits=(1, 4)), splits=(8,)), *cases)
    assert given.options.splits == (8,) and [case.splits for case in given.problems] == [(), ()]
    assert [case.problem for case in given.problems] == [case.problem for case in cases]


def test_a_run_is_asked_for_what_the_plan_says():
    asked = request(RunPlanOptions(why=True, baselines=("numpy",)))
    assert (asked.options, asked.why, asked.baselines, asked.problems) == (RunOptions(), True, ("numpy",), ())
    assert not asked.unfused.instances and not asked.unfused.problems and asked.store is None
    assert [*asked.stages.seconds] == ["convert"] and not asked.should_stop()
    device = request(RunPlanOptions(run=RunOptions(device="gfx942")))
    assert (asked.build.device, device.build.device) == ("", "gfx942"), "kernels are built for the device"


def test_each_second_counts_for_one_stage(monkeypatch):
    times = iter((10.0, 12.0, 12.5, 20.0))
    monkeypatch.setattr(requests, "time", SimpleNamespace(monotonic=lambda: next(times)))
    stages = Stages()
    for name in ("convert", "build", "run"):
        stages.done(name)
    assert stages.seconds == {"convert": 2.0, "build": 0.5, "run": 7.5}
