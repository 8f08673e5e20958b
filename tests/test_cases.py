"""A loop of cases hides none that fails."""

from __future__ import annotations

import pytest

from .cases import Cases


def test_each_failure_is_named():
    tried = []
    with pytest.raises(pytest.fail.Exception) as caught, Cases() as cases:
        for name in "abcd":
            with cases.case("case", name):
                tried.append(name)
                if name == "b":
                    pytest.fail("as pytest does")
                assert name != "d"
    assert tried == [*"abcd"]
    message = str(caught.value)
    assert message.startswith("2 of 4 cases:")
    assert "case b: Failed: as pytest does" in message and "case d: AssertionError" in message


def test_no_case_is_a_failure():
    with pytest.raises(pytest.fail.Exception, match="no case"), Cases():
        pass


def test_what_ends_the_loop_passes_through():
    with pytest.raises(KeyboardInterrupt), Cases() as cases, cases.case("a"):
        raise KeyboardInterrupt
    with pytest.raises(ZeroDivisionError), Cases():
        raise ZeroDivisionError
