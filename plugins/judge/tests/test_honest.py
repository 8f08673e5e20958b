"""No candidate is refused that is right: slow, noisy, large ones, those with state, threads and processes."""

from __future__ import annotations

import pytest

from . import honest, honest_by_habit, honest_by_means
from .test_hostile import judged

TABLES = [one.HONEST for one in (honest, honest_by_habit, honest_by_means)]
HONEST = {name: one for table in TABLES for name, one in table.items()}
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


def test_there_are_eighty():
    assert len(HONEST) == sum(map(len, TABLES)) >= 80
    assert {*SAMPLE} <= {*HONEST}
