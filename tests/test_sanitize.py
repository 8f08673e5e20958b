"""Text from outside never becomes control."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.cli.console import Console
from ckprof.errors import InputError
from ckprof.sanitize import one_line, plain


@given(st.text())
def test_nothing_that_a_terminal_acts_upon_is_left(text):
    shown = plain(text)
    assert all(char in "\n\t" or (ord(char) >= 32 and not 127 <= ord(char) < 160) for char in shown)
    assert "\n" not in one_line(text)
    assert not any(line.lstrip().startswith(("::", "##[", "##vso[")) for line in shown.splitlines())


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126, exclude_characters="#:")))
def test_ordinary_text_stays(text):
    assert plain(text) == text


@pytest.mark.parametrize("show", [Console.info, Console.warning, Console.error, Console.result])
def test_the_console_shows_text_only(show):
    out, err = io.StringIO(), io.StringIO()
    show(Console(out=out, err=err), "file \x1b[31mred\x07\n::error file=a::injected")
    said = out.getvalue() + err.getvalue()
    assert "\x1b" not in said and "\\u001b[31mred\\u0007" in said
    assert "\n::error" not in said and "::error file=a::injected" in said


def test_names_of_files_are_shown_in_one_line():
    assert str(InputError("no such file", "a\n::error::b")) == "a\\n::error::b: no such file"
