"""Filter expressions: what they mean, and that nothing but filters is accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.errors import UsageError
from ckprof.kernels.filters import Expression, is_expression

FIELDS = {"tile_m": 1, "tile_n": 1, "gemm_pipeline": "mem", "two_stage": False, "filt": 3}
VALUES = {"tile_m": 64, "tile_n": 128, "gemm_pipeline": "compv4", "two_stage": True}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('tile_n >= 128 and gemm_pipeline == "compv4"', True),
        ("tile_n >= 128 and gemm_pipeline == 'compv5'", False),
        ("tile_m < tile_n <= 128", True),
        ("tile_m * tile_n == 8192", True),
        ("tile_n // tile_m - 2 == 0 or tile_m % 3 == 0", True),
        ("gemm_pipeline in ('mem', 'compv4')", True),
        ("gemm_pipeline not in ['mem', 'compv4']", False),
        ("'v4' in gemm_pipeline", True),
        ("not two_stage", False),
        ("two_stage == true and tile_m != -64", True),
        ("two_stage", True),
        # the instance has no such field: it neither passes nor stands in the way
        ("filt == 3", False),
        ("not filt == 3", True),
        ("filt == 3 or tile_m == 64", True),
        # as upstream's instance builder has it
        ("c.tile_n >= 128 and c.gemm_pipeline == 'compv4'", True),
        ("c.two_stage", True),
    ],
)
def test_meaning(text, expected):
    assert is_expression(text, FIELDS)
    assert Expression(text, FIELDS).matches(VALUES) is expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tile_q > 3", "at character 1: unknown field 'tile_q'; did you mean 'tile_"),
        (
            "c.gemm_pipelin == 'mem'",
            "at character 1: unknown field 'gemm_pipelin'; did you mean 'gemm_pipeline'",
        ),
        ("d.tile_n == 1", "cannot use 'd.tile_n' here"),
        ("tile_n >= ", "is not finished"),
        ("tile_n >= 'a'", "tile_n is a number, 'a' is a text: they never compare"),
        ("gemm_pipeline == 4", "gemm_pipeline is a text, 4 is a number"),
        ("two_stage == 1", "two_stage is a truth value, 1 is a number"),
        ("tile_n in 4", "4 is not a list"),
        ("gemm_pipeline + 1 == 2", "gemm_pipeline is not a number"),
        ("tile_n % 0 == 1", "by zero"),
        ("__import__('os').system('true') == 0", "cannot use \"__import__('os').system('true')\" here"),
        ("tile_n.__class__ == 1", "cannot use 'tile_n.__class__' here"),
        ("[x for x in (1,)] == tile_n", "cannot use"),
        ("tile_n ** 9 == 1", "cannot use 'tile_n ** 9' here"),
        ("(lambda: 1)() == tile_n", "cannot use"),
        ("tile_n is 1 and tile_m == 1", "cannot use"),
        ("tile_n == 1 " + "and tile_n == 1 " * 200, "characters, expected at most"),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_what_is_rejected(text, message):
    with pytest.raises(UsageError) as caught:
        Expression(text, FIELDS).matches(VALUES)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "compv[34]",
        "(?P<a>x)",
        "filter1x1",
        "^grouped_conv_fwd",
        "(?<=fwd_)fp16",
        "(?!x)y",
        "Kernel<2,Default",
    ],
)
def test_regular_expressions_are_none(text):
    assert not is_expression(text, FIELDS)


@pytest.mark.parametrize("text", ["tile_m >", "tile_m>128", "tile_m = 4", "tile_m<", "1 < tile_m", "tilem>3"])
def test_what_compares_a_field_is_an_expression_however_it_is_spaced(text):
    assert is_expression(text, FIELDS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tile_m >", "at character 9: the expression is not finished"),
        ("tile_m = 4", "has two signs: =="),
        ("tile_m > > 4", "at character 10: invalid syntax; expected e.g. tile_n >= 128"),
        ("gemm_pipeline == compv4", 'at character 18: compv4 is not a field; a text has quotes: "compv4"'),
        ("gemm_pipeline in [compv4, 'compv5']", 'a text has quotes: "compv4"'),
    ],
)
def test_mistakes_of_writing_get_a_hint(text, message):
    with pytest.raises(UsageError) as caught:
        Expression(text, FIELDS)
    assert message in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_an_expression_or_an_error(text):
    try:
        Expression(text, FIELDS).matches(VALUES)
    except UsageError:
        pass
