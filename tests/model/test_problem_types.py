"""Problems are recognised by their fields, in records and in cells of tables."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from ckprof.errors import ExitCode, InputError, PluginError
from ckprof.model import problem_types
from ckprof.model.problem import Problem
from ckprof.model.problem_types import (
    ask_for_problem_types,
    decode_problem,
    exact_problem,
    know_problem_type,
    known_problem_types,
    problem_from,
    problem_of_cells,
    sizes,
)


@dataclass(frozen=True)
class Small:
    rows: int


@dataclass(frozen=True)
class Large:
    rows: int
    pads: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Late:
    depth: int


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """Two types, known in these tests alone."""
    monkeypatch.setattr(problem_types, "_KNOWN", problem_types._Known())
    problem_types._decoded.cache_clear()
    know_problem_type(Small)
    know_problem_type(Large)
    yield
    problem_types._decoded.cache_clear()


def test_the_type_with_the_most_fields_counts_and_further_values_are_left_out():
    assert problem_from({"rows": 3, "label": "x"}) == Small(3)
    assert problem_from({"pads": [1, 2], "rows": 3, "label": "x"}) == Large(3, (1, 2))


def test_all_fields_and_no_others_are_asked_for():
    assert exact_problem({"rows": 3}) == Small(3)
    for values, said in (
        ({"rows": 3, "columns": 4}, "wrong fields of a problem: unknown columns"),
        ({"pads": [1]}, "wrong fields of a problem: missing rows"),
        ({"pads": [1], "depth": 1, "x": 2}, "wrong fields of a problem: missing rows; unknown depth, x"),
        ({"depth": 1}, "no loaded plugin knows a problem with depth"),
        ({}, "no loaded plugin knows a problem with no sizes"),
        ({"rows": "many"}, "wrong problem: Expected `int`, got `str` - at `$.rows`"),
    ):
        with pytest.raises(InputError) as told:
            exact_problem(values)
        assert str(told.value) == said and told.value.exit_code is ExitCode.INPUT
    with pytest.raises(InputError, match="no loaded plugin knows a problem with depth, x: load the one"):
        problem_from({"x": 1, "depth": 2})


def test_a_source_of_types_is_asked_once_and_when_it_is_needed():
    asked = []

    def source():
        asked.append(1)
        return [Late]

    ask_for_problem_types(source)
    assert problem_from({"rows": 1}) == Small(1) and not asked
    assert exact_problem({"depth": 2}) == Late(2) and len(asked) == 1
    with pytest.raises(InputError):
        problem_from({"height": 1})
    assert len(asked) == 1
    assert known_problem_types() == (Large, Small, Late)
    ask_for_problem_types(source)
    assert set(known_problem_types()) == {Large, Small, Late} and len(asked) == 2


def test_a_type_is_a_dataclass():
    with pytest.raises(PluginError, match=r"problem type builtins\.int: expected a dataclass"):
        know_problem_type(int)


def test_records_are_decoded_by_the_fields_of_their_problems():
    first = decode_problem(Problem, {"rows": 3})
    assert first == Small(3) and decode_problem(Problem, {"rows": 3}) is first
    # a type that is known later counts from then on
    assert decode_problem(Problem, {"rows": 3, "depth": 4}) == first
    know_problem_type(Late)
    assert decode_problem(Problem, {"depth": 4}) == Late(4)
    assert decode_problem(int, {"rows": 3}) == {"rows": 3} and decode_problem(Problem, 3) == 3
    with pytest.raises(ValueError, match="no loaded plugin knows a problem with height"):
        decode_problem(Problem, {"height": 1})


@pytest.mark.parametrize("problem", [Small(3), Large(4, (1, 2)), Large(4, ())])
def test_cells_come_back(problem):
    row = {name: json.dumps(value) for name, value in sizes(problem).items()}
    assert problem_of_cells({**row, "time": "1.5", "empty": ""}, {"time"}) == problem


def test_wrong_cells_are_told():
    for row, said in (
        ({"rows": "x"}, "wrong problem: Expected `int`"),
        ({"rows": "3", "pads": "[1,"}, "a list of values is wrong: Input data was truncated"),
        ({"height": "3"}, "no loaded plugin knows a problem with height"),
    ):
        with pytest.raises(InputError, match=said):
            problem_of_cells(row, ())
