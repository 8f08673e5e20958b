"""The loop on a GPU: models trained on half of the problems of a sweep, judged by the other half.

The thresholds are a little below what is reached, see the page on time models. The tables hold what the cuda
target's own kernels took, so that the target says what these do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from plugins.tuning.tests.time_model.figures import coverage, gfx950, h200, h200_table, judged, shifted, swept

NUMBER = re.compile(r"(\d+(?:\.\d)?) %")
DOCS = Path(__file__).parents[2] / "docs" / "tuning-figures.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One direction: what was measured, and the least figures."""

    direction: str
    problems: int
    kernels: int
    mean: float
    best_of_three: float


CASES = (
    Expected(direction="fwd", problems=200, kernels=68, mean=0.965, best_of_three=0.990),
    Expected(direction="bwd_weight", problems=60, kernels=15, mean=0.970, best_of_three=0.985),
)


def numbers(line):
    return [float(one) for one in NUMBER.findall(line)]


@pytest.mark.thorough
@pytest.mark.parametrize("expected", CASES, ids=lambda one: one.direction)
def test_choices_for_unseen_problems(expected):
    training, unseen = (h200_table(expected.direction, half) for half in ("train", "unseen"))
    assert not set(training.problems) & set(unseen.problems)
    assert len(training.problems) + len(unseen.problems) == expected.problems
    assert len(training.kernels) == len(unseen.kernels) == expected.kernels
    found = judged(swept(expected.direction, training), unseen)
    assert found.model.mean >= expected.mean
    assert found.best_of_top.mean >= expected.best_of_three
    assert found.nearest_neighbour is not None
    assert found.ceiling is not None
    assert found.best_single.mean < found.nearest_neighbour.mean < found.model.mean < found.ceiling.mean


@pytest.mark.slow
def test_the_documented_figures_are_those_of_the_program():
    documented = DOCS.read_text()
    for line in (*gfx950(), *h200()):
        figures = numbers(line)
        label = line.split(f"| {NUMBER.search(line)[0]}")[0]  # type: ignore[index]
        rows = [one for one in documented.splitlines() if one.startswith(label + "| ")]
        (written,) = (one for one in rows if len(numbers(one)) == len(figures))
        # sums of other processors end in other digits, which can turn a choice between kernels that are alike
        assert numbers(written) == pytest.approx(figures, abs=0.5), line


@pytest.mark.slow
def test_the_documented_choices_for_other_sizes_are_those_of_the_program():
    documented = DOCS.read_text().splitlines()
    for line in shifted():
        label = "|".join(line.split("|")[:3])
        written = next(one for one in documented if one.startswith(label + "|"))
        assert numbers(written)[:9] == pytest.approx(numbers(line)[:9], abs=1.0), line


@pytest.mark.slow
def test_the_documented_coverage_is_that_of_the_program():
    documented = DOCS.read_text().splitlines()
    for line in coverage():
        label = "|".join(line.split("|")[:3])
        (written,) = (one for one in documented if one.startswith(label + "|"))
        assert numbers(written) == pytest.approx(numbers(line), abs=1.0), line
