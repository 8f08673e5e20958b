"""The C++ through which kernels are reached."""

import pytest

from ckprof.kernels.c_interface import boolean, string_literal


def test_booleans():
    assert (boolean(True), boolean(False)) == ("true", "false")


@pytest.mark.parametrize(
    ("text", "literal"),
    [("gfx942", '"gfx942"'), ('a"b\\', '"a\\"b\\\\"'), ("\n1", '"\\0121"'), ("é", '"\\303\\251"')],
)
def test_string_literals(text, literal):
    assert string_literal(text) == literal
