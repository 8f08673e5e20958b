"""Conversions: how lists are read, what became of their lines, and what differs on disk."""

from dataclasses import fields
from pathlib import Path

import pytest

from ckprof.errors import ExitCode, UsageError
from ckprof.model.conversion import Conversion, Difference, ListReading, parse_mma_k_table
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from tests.cases import Cases


def test_two_positive_integers_are_a_table():
    assert parse_mma_k_table("8/16") == (8, 16)
    assert parse_mma_k_table("1/999999") == (1, 999_999)
    with Cases() as cases:
        for text in (
            "",
            "8",
            "8/",
            "/8",
            "8/16/32",
            "0/16",
            "8/0",
            "-8/16",
            "8/1000000",
            "8 /16",
            "8/\u0661",
        ):
            with cases.case(text):
                with pytest.raises(UsageError, match="expected two positive integers such as 16/32") as told:
                    parse_mma_k_table(text)
                assert told.value.exit_code is ExitCode.USAGE and repr(text) in str(told.value)


def test_a_request_reads_as_it_was_told():
    reading = ListReading(dtype=DataType.BF16, lenient=True, mma_k_table=(8, 16), upstream_comments=True)
    request = reading.request(Path("a.conf"), b"x", "fwd", stream=None)
    assert {one.name: getattr(request, one.name) for one in fields(ListReading)} == {
        one.name: getattr(reading, one.name) for one in fields(ListReading)
    }
    assert (request.path, request.data, request.direction) == (Path("a.conf"), b"x", "fwd")


def test_dropped_lines_are_counted_by_rule_whether_they_are_listed_or_not():
    dropped = {
        number: UnmetRequirement(rule=rule, message="") for number, rule in enumerate(("blank", "a", "a"), 1)
    }
    conversion = Conversion(
        path=Path("x"), converter="c", catalogs=(), lines=9, dropped=dropped, unlisted={"a": 3, "b": 2}
    )
    assert conversion.dropped_by_rule == {"blank": 1, "a": 5, "b": 2}


def test_differences_say_what_is_there_and_what_should_be():
    for difference, text in (
        (Difference(where="ndim", on_disk="2", expected="3"), "ndim: is 2, expected 3"),
        (Difference(where="ndim", expected="3"), "ndim: is missing, expected 3"),
        (Difference(where="x", on_disk="1"), "x: is 1, expected no such key"),
        (Difference(where="", message="is not a catalog"), "is not a catalog"),
        (Difference(where="x", on_disk="1", message="is odd"), "x: is odd"),
    ):
        assert str(difference) == text
