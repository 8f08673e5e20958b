"""Thousands of damaged lines: each is rejected with a message, or gives what an independent reading gives.

The stored corpus holds one line for every kind of outcome that the fuzzing has found so far; ``-m slow``
tries 50,000 mutations, and ``--refresh-golden`` stores the kinds that it finds.
"""

import json
import random
import re
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from ckprof.errors import InputError
from ckprof.model.conversion import ConversionRequest
from ckprof.model.types import DataType
from ckprof.paths import conf_root
from ckprof_converters.converter import ConfConverter
from ckprof_converters.families import FAMILIES
from ckprof_plugins.directions._convolution.layout import find_layout
from tests.convolution_lists import CONVOLUTION_LISTS

from . import reference
from .samples import FAMILIES as SAMPLES
from .samples import SHORT, arguments, line, with_arguments

CORPUS = Path(__file__).parent.parent / "golden" / "mutations.json"
CONVERTER = ConfConverter(FAMILIES)

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


def attempt(text, dtype):
    """Convert a line and return the kind of outcome; a record must be what the independent reading gives."""
    request = ConversionRequest(path=Path("x.conf"), data=text.encode(), dtype=DataType(dtype))
    try:
        try:
            conversion = CONVERTER.convert(request)
        except InputError as error:
            if "pass --layout" not in str(error):
                raise
            conversion = CONVERTER.convert(replace(request, layout=find_layout("nhwgc")))
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
    sources = shipped_lines() + [(line(family), "fp16") for family in SAMPLES] * 40
    kinds = {}
    for _ in range(count):
        text, dtype = dice.choice(sources)
        text = mutate(text, dice)
        started = time.process_time()
        kind = attempt(text, dtype)
        assert time.process_time() - started < 2, text
        kinds.setdefault(kind, (text, dtype))
    return kinds


def test_undamaged_lines_agree_with_the_independent_reading():
    kinds = {attempt(text, dtype).partition(" ")[0] for text, dtype in shipped_lines()}
    assert kinds == {
        "record",
        "annotation",
        "irregular-vector",
        "one-wave-coverage",
        "missing-information",
        "streamk-async-float",
        "thread-share",
    }
    for family in SAMPLES:
        assert attempt(line(family), "fp16").startswith(("record", "missing")) or family in SHORT


def test_the_stored_corpus():
    stored = json.loads(CORPUS.read_text())
    assert len(stored) > 50
    for item in stored:
        assert attempt(item["line"], item["dtype"]) == item["kind"], item["line"]


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
