"""A loop of cases hides none that fails."""

import pytest

from .cases import Cases, each


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


def test_no_case_fails_and_what_ends_the_loop_passes_through():
    with pytest.raises(pytest.fail.Exception, match="no case"), Cases():
        pass
    with pytest.raises(KeyboardInterrupt), Cases() as cases, cases.case("a"):
        raise KeyboardInterrupt
    with pytest.raises(ZeroDivisionError), Cases():
        raise ZeroDivisionError


@each(number=[1, 2])
def test_each_value_is_tried_with_the_fixtures_of_a_test(number, tmp_path):
    assert tmp_path.is_dir() and number in (1, 2)


def test_values_that_fail_are_named(tmp_path):
    @each(text=["a", "b", "\u202e"])
    def test(text, tmp_path):
        assert text == "b"

    with pytest.raises(pytest.fail.Exception, match=r"2 of 3 cases:(.|\n)*'a': (.|\n)*'\\u202e': "):
        test(tmp_path=tmp_path)
