"""Rendering and parsing: round trips, spellings, revisions, and what is rejected."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.errors import PluginError, UsageError
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import Field
from ckprof.model.strings.grammar import StringGrammar
from ckprof.model.strings.kind import StringKind, all_revisions, default_revision, find_revision
from ckprof.model.strings.rendering import StringError, counts, render
from ckprof_converters.old_strings import KINDS as OLD_KINDS
from ckprof_plugins.directions._convolution import string_kinds
from ckprof_plugins.directions._convolution.string_kinds import KINDS as TILE_KINDS

GRAMMAR = StringGrammar([*OLD_KINDS, *TILE_KINDS])
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


def values_of(kind: StringKind) -> st.SearchStrategy[dict[str, str]]:
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
def test_what_is_rendered_is_parsed_again(kind: StringKind, data: st.DataObject) -> None:
    values = data.draw(values_of(kind))
    text = render(kind, values, all_revisions()[-1])
    parsed = GRAMMAR.parse(text, all_revisions()[-1])
    assert parsed.kind_id == kind.id
    absent = {name for name, flag in kind.only_if.items() if values[flag] == "0"}
    assert dict(zip(kind.field_names, parsed.values, strict=True)) == {
        name: None if name in absent else value for name, value in values.items()
    }
    assert GRAMMAR.render(parsed, all_revisions()[-1]) == text


@pytest.mark.parametrize("kind", GRAMMAR.kinds, ids=lambda kind: kind.id)
def test_every_flag_takes_four_spellings(kind: StringKind, sample: dict[str, str]) -> None:
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


def _split(text: str) -> list[str]:
    from ckprof.model.strings.grammar import split_arguments

    return [item.text for item in split_arguments(text, text.index("<") + 1, len(text) - 1)]


@pytest.fixture(scope="module")
def sample() -> dict[str, str]:
    """Kind id -> a string with every field, in the newest revision."""
    words = {
        kinds.POSITIVE: "8",
        kinds.INT: "1",
        **dict.fromkeys((kinds.ELEMENT_TYPE, kinds.OPERAND_TYPE), "fp16"),
        kinds.LAYOUT: "NHWGC",
        kinds.TUPLE: "EmptyTuple",
        kinds.OPERATION: "PassThrough",
        kinds.SEQUENCE: "Seq(4,64,1)",
        kinds.GEMM_PADDING: "MNKPadding",
    }
    found = {}
    for kind in GRAMMAR.kinds:
        values = {
            field.name: "1"
            if field.kind in kinds.FLAGS
            else words.get(field.kind) or next(iter(field.kind.meanings))
            for field in kind.fields
            if field.name not in kind.literals
        }
        found[kind.id] = render(kind, values, all_revisions()[-1])
    return found


def test_flags_are_spelled_as_the_revision_spells_them(sample: dict[str, str]) -> None:
    parsed = GRAMMAR.parse(f"{sample['forward_v3'].removesuffix(',8>')},1>")
    old, new = (GRAMMAR.render(parsed, find_revision(name)) for name in ("2025-11", "2026-06"))
    assert old.count(",true") == 1
    assert old.endswith(",true>")
    assert new.count(",true") == 3
    assert new.endswith(",true,1>")


@pytest.mark.parametrize(
    ("kind", "revision", "expected"),
    [
        ("tile_forward", "2025-11", (30,)),
        ("tile_forward", "2026-06", (31,)),
        ("tile_backward_data", "2026-06", (31,)),
        ("tile_backward_weight", "2026-01", (31,)),
        ("tile_backward_weight", "2026-06", (32, 34)),
        ("tile_depthwise", "2026-06", (20,)),
        ("forward", "2026-06", (49,)),
        ("forward_v3", "2026-01", (49,)),
        ("forward_v3", "2026-06", (50,)),
        ("forward_large_tensor", "2026-06", (48,)),
        ("forward_wmma", "2026-06", (46,)),
        ("forward_dl", "2026-06", (42,)),
        ("backward_weight", "2026-06", (43,)),
        ("backward_weight_v3", "2026-06", (45,)),
        ("backward_weight_v3", "2026-09", (46,)),
        ("backward_weight_two_stage", "2026-06", (46,)),
        ("backward_weight_multiple_d_xdl", "2026-06", (43,)),
        ("backward_weight_wmma", "2026-06", (42,)),
        ("backward_weight_wmma_v3", "2026-06", (45,)),
        ("backward_data", "2025-11", (49,)),
        ("backward_data", "2026-06", (51,)),
        ("backward_data_wmma_v3", "2026-06", (50,)),
    ],
)
def test_the_number_of_fields_follows_the_revision(
    kind: str, revision: str, expected: tuple[int, ...]
) -> None:
    assert counts(GRAMMAR.kind(kind), find_revision(revision)) == expected


def test_a_field_that_a_revision_lacks_has_the_value_that_its_absence_means() -> None:
    old = render(string_kinds.BACKWARD_WEIGHT, _weight(streamk_enabled=False), find_revision("2026-01"))
    new = render(string_kinds.BACKWARD_WEIGHT, _weight(streamk_enabled=False))
    assert new == f"{old[:-1]},0>"
    assert GRAMMAR.parse(old) == GRAMMAR.parse(new)
    with pytest.raises(StringError, match="no field streamk_enabled in revision 2026-01: it cannot say 1"):
        render(
            string_kinds.BACKWARD_WEIGHT,
            _weight(streamk_enabled=True, streamk_reduction_strategy=2, streamk_persistent=False),
            find_revision("2026-01"),
        )


def _weight(**changes: object) -> dict[str, object]:
    sizes = {field.name: 4 for field in string_kinds.BACKWARD_WEIGHT.fields if field.kind is kinds.POSITIVE}
    layouts = {"layout_input": "NHWGC", "layout_weight": "GKYXC", "layout_output": "NHWGK"}
    types = {"type_a": "bf16", "type_b": "bf16", "type_result": "bf16"}
    words = {"specialization": "Default", "pipeline_name": "COMPUTE_V3", "scheduler": "Intrawave"}
    flags = {"split_image": False, "explicit_gemm": False, "double_smem_buffer": False}
    return {**sizes, "ndim": 2, **layouts, **types, **words, **flags, **changes}


GOOD = render(string_kinds.BACKWARD_WEIGHT, _weight(streamk_enabled=False))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected Name<field,...>, got ''"),
        ("Forward", "expected Name<field,...>, got 'Forward'"),
        (GOOD[:-1], "the closing '>' is missing"),
        (GOOD.replace("Weight", "Wait"), r"unknown kernel name .* did you mean GroupedConvolutionBackwardW"),
        (f"{GOOD[:-1]},0>", "has 32 or 34 fields in revision 2026-06, got 33"),
        (f"{GOOD[:-3]}>", "got 31; revision 2026-02 prints 31: leave out --revision to read any"),
        (GOOD.replace("COMPUTE_V3", "COMPUTE_V9"), r"for pipeline_name \(field 24\), got 'COMPUTE_V9'"),
        (GOOD.replace("<2,", "<two,"), r"expected an integer for ndim \(field 1\), got 'two'"),
        (GOOD.replace(",0>", ",no>"), r"expected one of 0, 1, false, true for streamk_enabled"),
        (GOOD.replace(",0>", ",1>"), "has 32 or 34 fields in revision 2026-06, got 32"),
    ],
)
def test_what_is_no_instance_string(text: str, message: str) -> None:
    with pytest.raises(StringError, match=message):
        GRAMMAR.parse(text, default_revision())


def test_the_place_of_a_wrong_field_is_told() -> None:
    text = GOOD.replace("COMPUTE_V3", "COMPUTE_V9")
    with pytest.raises(StringError) as caught:
        GRAMMAR.parse(text)
    assert caught.value.start == text.index("COMPUTE_V9")


def test_what_cannot_be_rendered() -> None:
    with pytest.raises(StringError, match="nothing gives a value for tile_m"):
        render(string_kinds.FORWARD, {name: v for name, v in _weight().items() if name != "tile_m"})
    with pytest.raises(StringError, match="tile_m '-1' has no spelling, expected an integer"):
        render(string_kinds.FORWARD, _weight(tile_m=-1))
    with pytest.raises(StringError, match="split_image 'yes' has no spelling"):
        render(string_kinds.FORWARD, _weight(split_image="yes"))


def test_differences_name_the_fields() -> None:
    other = GOOD.replace("COMPUTE_V3,Intrawave", "MEMORY,Interwave")
    assert GRAMMAR.differences(GRAMMAR.parse(GOOD), GRAMMAR.parse(other)) == (
        ("pipeline_name", "COMPUTE_V3", "MEMORY"),
        ("scheduler", "Intrawave", "Interwave"),
    )
    stream_k = GRAMMAR.parse(GOOD.replace(",0>", ",1,2,0>"))
    assert ("streamk_persistent", "-", "0") in GRAMMAR.differences(GRAMMAR.parse(GOOD), stream_k)
    forward = GRAMMAR.parse(render(string_kinds.FORWARD, _weight()))
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


@pytest.mark.parametrize("kind", GRAMMAR.kinds, ids=lambda kind: kind.id)
def test_a_change_of_any_field_of_any_kind_is_named(kind: StringKind, sample: dict[str, str]) -> None:
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


def test_kinds_that_contradict_themselves_are_rejected() -> None:
    with pytest.raises(PluginError, match=r"\['nothing'\] must be among them"):
        StringGrammar([replace(string_kinds.FORWARD, fixed={"nothing": "1"})])
    twice = replace(string_kinds.FORWARD, fields=(*string_kinds.FORWARD.fields, Field("ndim", kinds.INT)))
    with pytest.raises(PluginError, match="fields must be named once"):
        StringGrammar([twice])


def test_revisions_are_found_by_name() -> None:
    assert default_revision().name == "2026-06"
    with pytest.raises(UsageError, match=r"unknown CK revision '2026-05'.*known: 2025-11"):
        find_revision("2026-05")


@pytest.mark.parametrize("revision", all_revisions(), ids=lambda revision: revision.name)
def test_revisions_name_kinds_and_fields_that_exist(revision) -> None:
    known = {kind.id: kind for kind in GRAMMAR.kinds}
    everything = {name for kind in GRAMMAR.kinds for name in kind.field_names}
    for kind, absent in revision.absent.items():
        assert absent.keys() <= {*known[kind].field_names}
    for kind, fields in revision.flag_words.items():
        assert {*fields} <= ({*known[kind].field_names} if kind in known else everything)
        assert kind in known or kind == "*"
