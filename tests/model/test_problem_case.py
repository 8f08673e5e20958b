"""Problems with what their source says of them, and errors that point at its words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest

from ckprof.errors import ExitCode, InputError
from ckprof.model.problem_case import OtherOperationError, ProblemCase, ProblemLine, as_case, merged, plain
from ckprof.model.types import DataType
from tests.report.conftest import PROBLEM

OTHER = replace(PROBLEM, batch=5)


def test_a_case_takes_the_kernels_that_its_source_names():
    kernel = SimpleNamespace(dtype=DataType.FP16, layout="nhwgc", key="k")
    for limits, takes in (
        ({}, True),
        ({"dtype": DataType.FP16, "layout": "nhwgc", "instances": frozenset("kx")}, True),
        ({"dtype": DataType.BF16}, False),
        ({"layout": "ngchw"}, False),
        ({"instances": frozenset()}, False),
    ):
        assert ProblemCase(problem=PROBLEM, **limits).takes(kernel) is takes
    assert ProblemCase(problem=PROBLEM).split_k is None
    assert ProblemCase(problem=PROBLEM, splits=(-1, 4)).split_k == -1


@dataclass(frozen=True)
class Noted:
    case: ProblemCase


def test_problems_and_what_holds_them_are_cases():
    case = ProblemCase(problem=PROBLEM, count=3)
    assert as_case(PROBLEM) == ProblemCase(problem=PROBLEM)
    assert as_case(case) is case and as_case(Noted(case)) is case
    assert plain(Noted(case)) is plain(PROBLEM) is PROBLEM


def test_duplicates_are_added_up_in_the_order_of_their_first():
    case = ProblemCase(problem=PROBLEM, count=2, name="first", notes=("a note",))
    again = replace(case, count=5, name="second", notes=())
    different = [
        replace(case, **change)
        for change in (
            {"problem": OTHER},
            {"network": "net"},
            {"direction": "fwd"},
            {"dtype": DataType.FP16},
            {"layout": "nhwgc"},
            {"splits": (4,)},
            {"unsupported": "why"},
        )
    ]
    assert merged([case, *different, again]) == [replace(case, count=7), *different]
    assert merged([]) == []


LINE = ProblemLine(text=" conv  -n x", path="a.txt", line=7)


def test_words_know_their_columns():
    assert [(token.text, token.column) for token in LINE.tokens()] == [("conv", 2), ("-n", 8), ("x", 11)]
    assert ProblemLine(text=" \t", path="").tokens() == []


def test_errors_point_at_the_line_or_at_a_word():
    assert str(LINE.error("odd")) == "a.txt:7: odd"
    assert str(LINE.error("odd", 8)) == "a.txt:7:8: odd"
    alone = ProblemLine(text=" conv x ", path="--problem")
    assert str(alone.error("odd", 7)) == "--problem: odd (column 7 of 'conv x')"
    assert str(alone.error("odd")) == "--problem: odd"
    for line, text in ((LINE, "a.txt:7:2: odd"), (alone, "--problem: odd (column 2 of 'conv x')")):
        other = line.other_operation("odd", 2)
        assert type(other) is OtherOperationError and str(other) == text
        assert other.exit_code is ExitCode.INPUT
    with pytest.raises(InputError, match=r"^a\.txt:7:8: wrong size$"), LINE.at(8):
        raise InputError("wrong size", "elsewhere", 1)
    with pytest.raises(ZeroDivisionError), LINE.at(8):
        raise ZeroDivisionError


def test_integers_are_ascii_digits():
    for text, value in (("7", 7), ("-12", -12), ("+3", 3), ("0" * 999 + "1", 1)):
        (token,) = (line := replace(LINE, text=text)).tokens()
        assert line.integer(token, "N") == value
    for text in ("x", "1.5", "1e3", "0x10", "1_0", "--1", "\u0663", "1" * 1001):
        (token,) = (line := replace(LINE, text=f"  {text}")).tokens()
        with pytest.raises(InputError, match=r"^a\.txt:7:3: expected an integer for N, got "):
            line.integer(token, "N")
