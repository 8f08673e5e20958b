"""Whatever is done to a list: a right conversion or an input error, never a silently wrong value."""

import json
import random
import re
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.model.conversion import ConversionRequest
from ckprof.model.types import DataType
from ckprof.paths import conf_root
from ckprof_converters.converter import ConfConverter
from ckprof_converters.explanation import explain
from ckprof_converters.families import FAMILIES as TABLES
from ckprof_plugins.directions._convolution.layout import find_layout
from tests.converters import reference
from tests.converters.samples import FAMILIES, SHORT, arguments, change, line, with_arguments
from tests.convolution_lists import CONVOLUTION_LISTS

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


CORPUS = Path(__file__).parent.parent / "golden" / "mutations.json"
CONVERTER_OF_FUZZ = ConfConverter(TABLES)

#: what is put into lines: pieces of the grammar, numbers at limits, other scripts, controls
PIECES = [
    *"< > , , , ( ) Seq( : ; # - + . x 0 1 2 3 7 16 64 512 999999999 9999999999 1e3 0x10 ² ٣ é".split(),
    *("\t", "\x0b", "\x1b", "\ufeff", "\r", "\n", " ", "'", '"'),
    *"true false True Default OddC Filter3x3 Intrawave v1 v4 v5 v6 v9 fp16 fp32 bf16 s8 NHWGC NDHWGC".split(),
    *"NGCHW Large TwoStage Xdl_CShuffle_V3 # ckprof: two_stage=true BASIC_ASYNC_V1 EmptyTuple".split(),
]


#: rules of which the independent reading knows nothing
UNCHECKED = ("missing-information", "text", "elementwise", "operand-operation", "d-tensor-type")


def shipped_lines():
    """Return all distinct lines that ship with ckprof, with the data type of their list."""
    found = {}
    for path in (conf_root() / name for name in CONVOLUTION_LISTS):
        dtype = re.search("int8|bf8|fp8|fp32|fp16|bf16", path.name)
        for text in path.read_text().splitlines():
            if text and not text.startswith("#"):
                found.setdefault(text, dtype[0] if dtype else "fp16")
    return list(found.items())


def mutate(text, dice):
    """Return a damaged line."""
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        place = dice.randrange(len(text) + 1)
        other = min(len(text), place + dice.choice((1, 1, 2, 5, 40)))
        match dice.randrange(10):
            case 0:
                text = text[:place] + text[other:]
            case 1:
                text = text[:place] + dice.choice(PIECES) + text[place:]
            case 2:
                text = text[:place] + dice.choice(PIECES) + text[other:]
            case 3:
                text = text[:place] + text[place:other] * 2 + text[other:]
            case 4:
                text = text[:place] + text[place:other].swapcase() + text[other:]
            case 5:
                text = text[:place]
            case _:
                text = mutate_arguments(text, dice)
    return text


def mutate_arguments(text, dice):
    try:
        values = arguments(text)
    except (ValueError, AttributeError):
        return text
    if not values:
        return text
    one, other = dice.randrange(len(values)), dice.randrange(len(values))
    match dice.randrange(5):
        case 0:
            del values[one]
        case 1:
            values.insert(one, values[other])
        case 2:
            values[one], values[other] = values[other], values[one]
        case 3:
            values[one] = dice.choice(PIECES)
        case _:
            values[one] = str(dice.choice((0, 1, 2, 3, 4, 5, 8, 16, 32, 48, 64, 128, 256, 512)))
    return with_arguments(text, values)


def attempt_text(text, dtype):
    """Convert a line and return the kind of outcome; a record must be what the independent reading gives."""
    request = ConversionRequest(path=Path("x.conf"), data=text.encode(), dtype=DataType(dtype))
    try:
        try:
            conversion = CONVERTER_OF_FUZZ.convert(request)
        except InputError as error:
            if "pass --layout" not in str(error):
                raise
            conversion = CONVERTER_OF_FUZZ.convert(replace(request, layout=find_layout("nhwgc")))
    except InputError as error:
        return kind_of(error)
    return checked(conversion, text, dtype)


def kind_of(error):
    message = str(error)
    assert message.startswith("x.conf") and len(message) < 4000
    kind = re.sub("'.*?'|\".*?\"", "'...'", error.message)
    kind = re.sub(r"(arguments of|did you mean|unknown layout|layout|got|is) [A-Za-z0-9_/]+", r"\1 ...", kind)
    return re.sub("[0-9]+", "N", re.sub(r" for \w+ \(", " for ... (", kind))


def checked(conversion, text, dtype):
    records = [(catalog, record) for catalog in conversion.catalogs for record in catalog.records]
    if not records:
        rules = {why.rule for why in conversion.dropped.values()}
        (dropped,) = rules - {"comment", "blank", "log-text"} or {"text"}
        if not dropped.startswith("unsupported") and dropped not in UNCHECKED:
            assert reference.read(text, dtype) is None, text
        return dropped
    # Line breaks within the text make several lines of it.
    lines = re.split("\r\n|\r|\n", text)
    for catalog, record in records:
        number = conversion.source_lines[catalog.variant, record.id]
        if "ckprof:" in lines[number - 1]:
            return "annotation"
        expected = reference.read(lines[number - 1], catalog.dtype.value)
        found = msgspec.structs.asdict(record)
        assert {key: found[key] for key in expected} == expected, text
    return f"record of {catalog.variant}"


def fuzz(seed, count):
    """Return kind of outcome -> (line, data type) for so many mutations."""
    dice = random.Random(seed)
    sources = shipped_lines() + [(line(family), "fp16") for family in FAMILIES] * 40
    kinds = {}
    for _ in range(count):
        text, dtype = dice.choice(sources)
        text = mutate(text, dice)
        started = time.process_time()
        kind = attempt_text(text, dtype)
        assert time.process_time() - started < 2, text
        kinds.setdefault(kind, (text, dtype))
    return kinds


@pytest.mark.thorough
def test_undamaged_lines_agree_with_the_independent_reading():
    kinds = {attempt_text(text, dtype).partition(" ")[0] for text, dtype in shipped_lines()}
    assert kinds == {
        "record",
        "annotation",
        "irregular-vector",
        "one-wave-coverage",
        "missing-information",
        "streamk-async-float",
        "thread-share",
    }
    for family in FAMILIES:
        assert attempt_text(line(family), "fp16").startswith(("record", "missing")) or family in SHORT


def test_the_stored_corpus():
    stored = json.loads(CORPUS.read_text())
    assert len(stored) > 50
    for item in stored:
        assert attempt_text(item["line"], item["dtype"]) == item["kind"], item["line"]


def test_some_fresh_mutations():
    seed = random.randrange(2**32)
    print(f"fuzz({seed}, 1000)")  # shown where it fails
    assert len(fuzz(seed, 1000)) > 20


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_fifty_thousand_mutations(request):
    refresh = request.config.getoption("--refresh-golden")
    kinds = fuzz(1, 50_000)
    assert len(kinds) > 50
    if refresh:
        stored = [
            {"kind": kind, "line": text, "dtype": dtype} for kind, (text, dtype) in sorted(kinds.items())
        ]
        CORPUS.write_text(json.dumps(stored, indent=1) + "\n")
