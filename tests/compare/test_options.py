"""Options of comparisons: how they are read, and what is out of range."""

import re

import pytest

from ckprof.compare.options import ChangePolicy, FailOn, SettleOptions
from ckprof.errors import UsageError
from ckprof.kernels.requests import InstanceQuery
from ckprof.option import options_of
from tests.cases import Cases


def parsers():
    return {field.name: option for field, option in options_of(ChangePolicy)}


def test_options_are_read_as_they_are_shown():
    options = parsers()
    for name, text, value in (
        ("min_change", "2.5", 0.025),
        ("fail_on", "slower=10%,shift", {FailOn.SLOWER: 0.1, FailOn.SHIFT: 0}),
    ):
        assert options[name].parse(text) == value
        assert options[name].show(value) == text
    assert ChangePolicy().fail_on == (FailOn.SLOWER, FailOn.STATUS, FailOn.SHIFT)


def test_limits_of_each_value():
    shares = ("min_change", "confidence", "false_discovery_rate")
    wrong = [(name, value, "more than 0 and less than 1") for name in shares for value in (0, 1, -0.1, 1.5)]
    wrong.append(("resamples", 199, "at least 200"))
    with Cases() as cases:
        for name, value, expected in wrong:
            with cases.case(name, value):
                with pytest.raises(UsageError, match=re.escape(f"{name} is {value}, expected {expected}")):
                    ChangePolicy(**{name: value})
    assert ChangePolicy(resamples=200, confidence=0.999, min_change=1e-6)


def test_settling_needs_rounds_for_a_verdict():
    assert SettleOptions(query=InstanceQuery(), max_rounds=4).max_rounds == 4
    with pytest.raises(UsageError, match="max_rounds is 3, expected at least 4"):
        SettleOptions(query=InstanceQuery(), max_rounds=3)
