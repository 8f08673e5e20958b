"""Whatever is done to a list: a right conversion or an input error, never a silently wrong value."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.model.conversion import ConversionRequest
from ckprof.model.types import DataType
from ckprof_converters.converter import ConfConverter
from ckprof_converters.explanation import explain
from ckprof_converters.families import FAMILIES as TABLES
from ckprof_plugins.directions._convolution.layout import find_layout

from .samples import FAMILIES, SHORT, arguments, change, line, with_arguments

CONVERTER = ConfConverter(TABLES)
GARBAGE = st.text(alphabet="0123456789abvxSeqWM<>(),:;#- \t\r\n\"'\\é", max_size=12)


def explain_line(text, layout):
    request = ConversionRequest(path=Path("line"), data=b"", layout=layout, dtype=DataType.FP16)
    return explain(text, request, None, CONVERTER.grammar)


def attempt(text, family="", **request):
    """Return the conversion of a text, or ``None`` if it is rejected with an input error."""
    if family in SHORT:
        request = {"layout": find_layout("nhwgc"), "dtype": DataType.FP16, **request}
    try:
        conversion = CONVERTER.convert(
            ConversionRequest(path=Path("x.conf"), data=text.encode(errors="surrogatepass"), **request)
        )
    except InputError as error:
        assert error.message
        return None
    accounted = sorted({*conversion.dropped} | set(conversion.source_lines.values()))
    assert accounted == list(range(1, conversion.lines + 1))
    return conversion


@given(data=st.binary(max_size=300), lenient=st.booleans())
def test_any_bytes(data, lenient):
    request = ConversionRequest(path=Path("x.conf"), data=data, lenient=lenient)
    CONVERTER.recognises(request)
    try:
        CONVERTER.convert(request)
    except InputError as error:
        assert str(error).startswith("x.conf")


@given(text=st.text(max_size=60), lenient=st.booleans())
def test_any_text_beside_a_good_line(text, lenient):
    good = line("forward")
    attempt(f"{good}\n{text}\n{good}", lenient=lenient)
    attempt(f"{text}{good}{text}", lenient=lenient)


@given(family=st.sampled_from(FAMILIES), data=st.data())
def test_a_missing_argument_is_always_noticed(family, data):
    text = line(family)
    values = arguments(text)
    position = data.draw(st.integers(0, len(values) - 1))
    del values[position]
    shorter = with_arguments(text, values)
    # Lines of other revisions lack just these arguments, and mean the same.
    older = {("forward_v3", len(values)), ("native_forward", 11), ("native_forward", 10)}
    if (family, position) in older:
        assert attempt(shorter, family).catalogs == attempt(text, family).catalogs
        return
    # The oldest lines lack the last argument of newer ones, so only their neighbours tell.
    assert attempt(f"{text}\n{shorter}" if family == "short_forward" else shorter, family) is None


@given(family=st.sampled_from(FAMILIES), data=st.data())
def test_an_additional_argument_is_always_noticed(family, data):
    text = line(family)
    values = arguments(text)
    position = data.draw(st.integers(0, len(values)))
    added = data.draw(st.sampled_from(values))
    # Lines of newer versions of this family end with one more flag, and are right.
    newer = (family, position, added) == ("backward_weight_v3", len(values), "false")
    values.insert(position, added)
    assert (attempt(with_arguments(text, values), family) is not None) == newer


@given(family=st.sampled_from(FAMILIES), data=st.data(), value=GARBAGE)
def test_garbage_in_an_argument(family, data, value):
    text = line(family)
    position = data.draw(st.integers(1, len(arguments(text))))
    wrong = change(text, position, value)
    attempt(wrong, family)
    attempt(wrong, family, lenient=True)
    explain_line(wrong, find_layout("nhwgc"))


@given(family=st.sampled_from(FAMILIES), data=st.data(), number=st.integers(1, 300))
@settings(max_examples=300)
def test_a_changed_number_is_never_lost_on_the_way(family, data, number):
    """An argument that a record shows under its own name has the value that the line says."""
    text = line(family)
    compiled, _ = CONVERTER.grammar.split(text)
    record_keys = compiled.family.record_type.__struct_fields__
    shown = [
        position
        for position, (field, value) in enumerate(
            zip(compiled.family.fields, arguments(text), strict=False), 1
        )
        if field.name in record_keys and value.isdigit()
    ]
    if not shown:
        return
    position = data.draw(st.sampled_from(shown))
    conversion = attempt(change(text, position, str(number)), family)
    if conversion is None or not conversion.catalogs[0].records:
        return
    value = getattr(conversion.catalogs[0].records[0], compiled.family.fields[position - 1].name)
    assert value == (bool(number) if isinstance(value, bool) else number) or isinstance(value, str)


@given(family=st.sampled_from(FAMILIES), data=st.data())
def test_cutting_a_line_anywhere(family, data):
    text = line(family)
    end = data.draw(st.integers(0, len(text) - 1))
    assert attempt(text[:end], family) is None


@given(
    family=st.sampled_from(FAMILIES), data=st.data(), char=st.characters(min_codepoint=9, max_codepoint=255)
)
@settings(max_examples=300)
def test_one_character_inserted(family, data, char):
    text = line(family)
    place = data.draw(st.integers(0, len(text)))
    attempt(text[:place] + char + text[place:], family)


@pytest.mark.parametrize("family", FAMILIES)
def test_explaining_agrees_with_converting(family):
    text = line(family)
    conversion = attempt(text, family, dtype=DataType.FP16)
    explained = explain_line(text, _layout(family))
    if not conversion.catalogs[0].records:
        assert explained.rule == "missing-information"
        return
    record = msgspec.to_builtins(conversion.catalogs[0].records[0])
    del record["id"]
    assert {name: value for name, (value, _) in explained.record.items()} == record


def _layout(family):
    return None if family == "depthwise" else find_layout("nhwgc")
