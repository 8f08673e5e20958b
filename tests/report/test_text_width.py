"""Texts take no more of a line than they may."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.report.text_width import CUT, display_width, first_of, shortened


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("\u6771\u4eac", 4), ("e\u0301", 1), ("", 0)])
def test_wide_characters_count_twice_and_marks_do_not(text, width):
    assert display_width(text) == width and shortened(text, width) == text
    assert first_of(text, width) == text


@given(st.text(max_size=30), st.integers(0, 30), st.booleans())
def test_what_is_left_fits(text, width, middle):
    left = shortened(text, width, in_the_middle=middle)
    assert display_width(left) <= width
    assert (left == text) == (display_width(text) <= width) or not text
    if left not in ("", text):
        start, _, end = left.partition(CUT)
        assert text.startswith(start) and text.endswith(end)
