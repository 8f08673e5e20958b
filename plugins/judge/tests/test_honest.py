"""No candidate is refused that is right: slow, noisy, large ones, those with state, threads and processes."""

from __future__ import annotations

import pytest

from . import honest, honest_by_habit
from .test_hostile import judged

HONEST = {**honest.HONEST, **honest_by_habit.HONEST}
SAMPLE = ("plans-by-shape",)


def _check(ckprof, tmp_path, name, budget):
    code, said = judged(ckprof, tmp_path, name, HONEST, "--budget", budget)
    assert (code, said["verdict"], said["finding"]) == (0, "right", None)
    (time,) = said["times"]
    assert 0 <= time["low_ms"] <= time["time_ms"] <= time["high_ms"]
    assert time["checked"] > 0
    if name in honest.HONEST:
        assert bool(said["refused"]) == name.startswith(("refuses", "rejects"))


@pytest.mark.thorough
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_is_right(ckprof, tmp_path, name):
    _check(ckprof, tmp_path, name, "3s")


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.parametrize("name", [*HONEST])
def test_all_are_right(ckprof, tmp_path, name):
    _check(ckprof, tmp_path, name, "20s")


def test_there_are_seventy():
    assert len(HONEST) == len(honest.HONEST) + len(honest_by_habit.HONEST) >= 70
    assert {*SAMPLE} <= {*HONEST}
