"""Parsing: round trips, spellings, differences, and what is rejected."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.errors import PluginError
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import Field
from ckprof.model.strings.grammar import StringGrammar
from ckprof.model.strings.kind import all_revisions, default_revision
from ckprof.model.strings.rendering import StringError, render
from ckprof_plugins.directions._convolution import string_kinds
from tests.cases import each

from .samples import GOOD, GRAMMAR, weight

FLAG_SPELLINGS = {"0": "false", "false": "0", "1": "true", "true": "1"}


NUMBERS = st.integers(1, 999_999_999).map(str)
NAMES = st.sampled_from(["PassThrough", "Scale", "_x9"])
TEXTS = {
    kinds.POSITIVE: NUMBERS,
    kinds.INT: st.integers(0, 999_999_999).map(str),
    kinds.SEQUENCE: st.lists(NUMBERS, max_size=4).map(lambda numbers: f"Seq({','.join(numbers)})"),
    kinds.OPERAND_TYPE: st.sampled_from(["bf16", "Tuple(bf16,bf16)"]),
    kinds.TUPLE: st.sampled_from(["EmptyTuple", "Tuple(fp16,fp32)", "tuple(NHWGK)"]),
    kinds.LAYOUT: st.sampled_from(["NHWGC", "GKYXC", "NGKDHW"]),
    kinds.OPERATION: NAMES,
    kinds.GEMM_PADDING: st.sampled_from(["Default", "KPadding", "MNKOPadding"]),
    **dict.fromkeys(kinds.FLAGS, st.sampled_from(["0", "1"])),
}


def values_of(kind):
    """Any values that the kind's fields can have, spelled normally."""
    return st.fixed_dictionaries(
        {
            field.name: st.just(kind.literals[field.name])
            if field.name in kind.literals
            else TEXTS[field.kind]
            if field.kind in TEXTS
            else st.sampled_from([*field.kind.meanings])
            for field in kind.fields
        }
    )


@pytest.mark.parametrize("kind", GRAMMAR.kinds, ids=lambda kind: kind.id)
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_what_is_rendered_is_parsed_again(kind, data):
    values = data.draw(values_of(kind))
    text = render(kind, values, all_revisions()[-1])
    parsed = GRAMMAR.parse(text, all_revisions()[-1])
    assert parsed.kind_id == kind.id
    absent = {name for name, flag in kind.only_if.items() if values[flag] == "0"}
    assert dict(zip(kind.field_names, parsed.values, strict=True)) == {
        name: None if name in absent else value for name, value in values.items()
    }
    assert GRAMMAR.render(parsed, all_revisions()[-1]) == text


@each(kind=GRAMMAR.kinds)
def test_every_flag_takes_four_spellings(kind, sample):
    text = sample[kind.id]
    parsed = GRAMMAR.parse(text)
    name, fields = text.partition("<")[0], _split(text)
    printed = [
        index
        for index, value in enumerate(parsed.values)
        if value is not None and kind.fields[index].kind in kinds.FLAGS
    ]
    for index in printed:
        other = [*fields]
        other[index] = FLAG_SPELLINGS[other[index]]
        assert GRAMMAR.parse(f"{name}<{','.join(other)}>") == parsed


def _split(text):
    from ckprof.model.strings.grammar import split_arguments

    return [item.text for item in split_arguments(text, text.index("<") + 1, len(text) - 1)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected Name<field,...>, got ''"),
        ("Forward", "expected Name<field,...>, got 'Forward'"),
        (GOOD[:-1], "the closing '>' is missing"),
        (GOOD.replace("Weight", "Wait"), r"unknown kernel name .* did you mean GroupedConvolutionBackwardW"),
        (f"{GOOD[:-1]},0>", "has 32 or 34 fields in revision 2026-06, got 33"),
        (f"{GOOD[:-3]}>", "got 31; revision 2026-02 prints 31: omit --revision to read any"),
        (GOOD.replace("COMPUTE_V3", "COMPUTE_V9"), r"for pipeline_name \(field 24\), got 'COMPUTE_V9'"),
        (GOOD.replace("<2,", "<two,"), r"expected an integer for ndim \(field 1\), got 'two'"),
        (GOOD.replace(",0>", ",no>"), r"expected one of 0, 1, false, true for streamk_enabled"),
        (GOOD.replace(",0>", ",1>"), "has 32 or 34 fields in revision 2026-06, got 32"),
    ],
)
def test_what_is_no_instance_string(text, message):
    with pytest.raises(StringError, match=message):
        GRAMMAR.parse(text, default_revision())


def test_the_place_of_a_wrong_field_is_told():
    text = GOOD.replace("COMPUTE_V3", "COMPUTE_V9")
    with pytest.raises(StringError) as caught:
        GRAMMAR.parse(text)
    assert caught.value.start == text.index("COMPUTE_V9")


def test_differences_name_the_fields():
    other = GOOD.replace("COMPUTE_V3,Intrawave", "MEMORY,Interwave")
    assert GRAMMAR.differences(GRAMMAR.parse(GOOD), GRAMMAR.parse(other)) == (
        ("pipeline_name", "COMPUTE_V3", "MEMORY"),
        ("scheduler", "Intrawave", "Interwave"),
    )
    stream_k = GRAMMAR.parse(GOOD.replace(",0>", ",1,2,0>"))
    assert ("streamk_persistent", "-", "0") in GRAMMAR.differences(GRAMMAR.parse(GOOD), stream_k)
    forward = GRAMMAR.parse(render(string_kinds.FORWARD, weight()))
    assert GRAMMAR.differences(forward, stream_k) == (("kernel", "forward kernel", "backward-weight kernel"),)


OTHERS = {
    kinds.POSITIVE: "7",
    kinds.INT: "5",
    kinds.ELEMENT_TYPE: "fp8",
    kinds.OPERAND_TYPE: "Tuple(fp16,fp16)",
    kinds.LAYOUT: "NGCHW",
    kinds.TUPLE: "Tuple(fp16)",
    kinds.OPERATION: "Scale",
    kinds.SEQUENCE: "Seq()",
    kinds.GEMM_PADDING: "Default",
    **dict.fromkeys(kinds.FLAGS, "0"),
}


@each(kind=GRAMMAR.kinds)
def test_a_change_of_any_field_of_any_kind_is_named(kind, sample):
    text = sample[kind.id]
    fields = _split(text)
    for index, field in enumerate(kind.fields):
        if field.name in kind.literals or field.name in kind.only_if.values():
            continue
        changed = [*fields]
        changed[index] = OTHERS.get(field.kind) or [*field.kind.meanings][-1]
        assert changed[index] != fields[index]
        other = GRAMMAR.parse(f"{kind.name}<{','.join(changed)}>")
        assert [name for name, _, _ in GRAMMAR.differences(GRAMMAR.parse(text), other)] == [field.name]


def test_kinds_that_contradict_themselves_are_rejected():
    with pytest.raises(PluginError, match=r"\['nothing'\] must be among them"):
        StringGrammar([replace(string_kinds.FORWARD, fixed={"nothing": "1"})])
    twice = replace(string_kinds.FORWARD, fields=(*string_kinds.FORWARD.fields, Field("ndim", kinds.INT)))
    with pytest.raises(PluginError, match="fields must be named once"):
        StringGrammar([twice])
