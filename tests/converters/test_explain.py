"""What a line is explained as."""

import random
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET

from ckprof.errors import ListError
from ckprof.model.conversion import ConversionRequest
from ckprof.model.types import DataType
from ckprof.paths import conf_root
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from ckprof_converters import explanation as module
from ckprof_plugins.directions._convolution.layout import find_layout
from tests.converters.samples import SHORT, change, column, line
from tests.converters.test_mutations import mutate


def explain(text, grammar, path=Path("line"), **reading):
    request = ConversionRequest(path=path, data=b"", **reading)
    return module.explain(text, request, None, grammar)


def test_every_argument_and_every_key_is_explained(converter):
    text = line("forward_v3")
    explained = explain(f"  {text} # annotation", converter.grammar)
    assert (explained.family, explained.direction, explained.variant) == ("forward_v3", "fwd", "forward")
    assert len(explained.fields) == 50
    tile = explained.fields[17]
    assert (tile.position, tile.name, tile.text, tile.value) == (18, "tile_m", "128", 128)
    assert (tile.column, tile.read) == (column(text, 18) + 2, True)
    assert tile.becomes == ("tile_m", "warp_m", "warp_k", "warp_tile_m")
    sequence = explained.fields[26]
    assert (sequence.name, sequence.read, sequence.becomes) == ("cluster_lengths_a", False, ())
    origins = explained.record
    assert len(origins) == 25
    assert origins["tile_m"] == (128, "argument 18")
    assert origins["warp_m"] == (2, "waves")
    assert origins["pipeline"] == ("compv4", "pipeline-of-version")
    assert [*explained.rules] == ["pipeline-of-version", "waves", "mma-k"]
    assert all(len(text) > 20 for text in explained.rules.values())
    assert origins["epilogue"] == ("cshuffle", "fixed")
    assert not explained.errors


def test_a_dropped_line_names_its_rule(converter):
    explained = explain(change(line("backward_weight"), 33, "3"), converter.grammar)
    assert (explained.rule, explained.record) == ("irregular-vector", {})
    assert explained.reason == "vector_size_b is 3, neither 1 nor even"


def test_a_wrong_line_is_explained_as_far_as_it_goes(converter):
    text = change(line("forward"), 19, "x")
    explained = explain(text, converter.grammar)
    message = "expected an integer for tile_m (argument 19), got 'x'"
    assert explained.errors == ((column(text, 19), message),)
    assert explained.fields[18].error == message
    assert explained.fields[19].value == 16
    derived = explain(change(line("forward"), 19, "65"), converter.grammar)
    assert derived.errors[0][0] == column(text, 19)


def test_short_lines_need_layout_and_type(converter):
    text = line("short_forward")
    assert "pass --layout" in explain(text, converter.grammar).errors[0][1]
    explained = explain(text, converter.grammar, layout=find_layout("nhwgc"), dtype=DataType.FP16)
    assert explained.record["warp_tile_k"][1] == "short-mma-k"
    assert "do not print K1" in explained.note
    assert not explain(text, converter.grammar, path=Path("nhwgc_fp16.conf")).errors


def test_lines_of_logs_and_lines_without_an_instance(converter):
    text = f"Perf:     0.0123 ms, 12.3 TFlops, 45.6 GB/s, {line('forward')}, SplitK 4"
    assert len(explain(text, converter.grammar).record) == 25
    said = explain(f"{line('native_forward')}  # ckprof: two_stage=true", converter.grammar)
    assert said.record["two_stage"] == (True, "annotation")
    assert explain("# hello", converter.grammar).rule == "comment"
    assert explain("  ", converter.grammar).rule == "blank"
    assert explain("hello", converter.grammar).errors[0][0] == 1
    rejected = explain("DeviceGroupedConvFwdMultipleD_Wmma_CShuffle<1>", converter.grammar)
    assert (rejected.family, rejected.rule) == ("wmma", "unsupported-family")


#: a line that is well formed, and gives no instance
REJECTED = "DeviceGroupedConvFwdMultipleD_Wmma_CShuffle<1>"
#: lines that explain once called wrong, or dropped for another reason, where the converter did not
APART = (
    # an annotation that says what the line's operation is
    ("forward/convscale_relu/profiler/ndhwgc_fp8_fp32.conf", lambda text: text),
    # what is wrong with an annotation comes before what is wrong with the line, and before its family
    ("forward/profiler/nhwgc_fp16.conf", lambda text: f"{text}  # ckprof: elementwise_op=3"),
    ("forward/profiler/nhwgc_fp16.conf", lambda text: f"{REJECTED}  # ckprof: elementwise_op=3"),
    # a line that lacks a field, rather than one of an older revision
    ("forward/profiler/nhwgc_fp16.conf", lambda text: text.replace("<2,", "<", 1)),
)


@pytest.fixture(scope="module")
def converter():
    manager = PluginManager()
    manager.load_all()
    return next(one for one in Registry(manager).converters if one.id == "conf")


def converted(converter, request, number):
    """Return what the converter makes of one line of a list."""
    conversion = None
    try:
        conversion = converter.convert(request)
    except ListError as exc:
        errors = tuple((one.column, one.message) for one in exc.diagnostics if one.line == number)
        if errors:
            return "wrong", errors
        conversion = converter.convert(replace(request, lenient=True))
    if (why := conversion.dropped.get(number)) is not None:
        return "dropped", why.rule, why.message
    ids = {key for key, place in conversion.source_lines.items() if place == number}
    # the same record for each type, where nothing says the type
    record = next(
        record
        for catalog in conversion.catalogs
        for record in catalog.records
        if (catalog.variant, record.id) in ids
    )
    values = {name: value for name, value in msgspec.structs.asdict(record).items() if value is not UNSET}
    del values["id"]
    lossy = conversion.lossy.get(number, "")
    return "record", {name: value for name, value in values.items() if value is not None}, lossy


def explained(converter, *asked):
    """Return what a line is explained as."""
    found = converter.explain(*asked)
    if found.errors:
        return "wrong", found.errors
    if found.rule:
        return "dropped", found.rule, found.reason
    values = {name: value for name, (value, _) in found.record.items() if value is not None}
    return "record", values, found.lossy


def assert_alone(converter, path, text):
    """Assert that a line by itself is explained as it is converted, and return as what."""
    # a list of comments alone is no list
    request = ConversionRequest(path=path, data=f"{text}\n{REJECTED}\n".encode())
    as_what = converted(converter, request, 1)
    assert explained(converter, text, replace(request, data=b"")) == as_what
    return as_what


def shipped():
    """Return the distinct lines of the lists that ship, with a path of each."""
    found = {}
    for path in sorted(conf_root().rglob("*.conf")):
        for text in path.read_text().splitlines():
            found.setdefault(text, path)
    return found


@pytest.mark.parametrize(("place", "change"), APART)
def test_lines_that_were_explained_otherwise(converter, place, change):
    path = conf_root() / place
    text = change(path.read_text().splitlines()[0])
    assert_alone(converter, path, text)


def test_lines_that_ship(converter):
    lines = list(shipped().items())
    for text, path in random.Random(1).sample(lines, 600):
        assert_alone(converter, path, text)


@pytest.mark.slow
def test_every_line_that_ships(converter):
    for text, path in shipped().items():
        assert_alone(converter, path, text)


def test_damaged_lines(converter):
    lines, dice = list(shipped().items()), random.Random(2)
    what = set()
    for _ in range(1500):
        text, path = dice.choice(lines)
        damaged = mutate(text, dice)
        if not {"\n", "\r", "\0"} & set(damaged):
            what.add(assert_alone(converter, path, damaged)[0])
    assert what == {"record", "dropped", "wrong"}


FORWARD = line("forward")
#: name of the file, lines, whose fate depends on others
LISTS = {
    "a line twice, and one of another type": ("a.conf", [FORWARD, FORWARD, line("forward", "bf16"), ""]),
    "an id that another line has": ("a.conf", [FORWARD, f"{FORWARD}  # ckprof: id=0"]),
    "a layout that only another line says": ("a.conf", [FORWARD, line(SHORT[0])]),
    "text between lines of a log": (
        "a.txt",
        [
            "loading the weights",
            f"Perf:     0.0123 ms, 12.3 TFlops, 45.6 GB/s, {FORWARD}, SplitK 4",
            f"{FORWARD} does not support this problem",
        ],
    ),
    "the command of a log": (
        "a.txt",
        [
            "./ckProfiler grouped_conv_fwd_clamp 1 1 0 1 0 1 2 1 4 192 192 3 3 28 28 1 1 1 1 1 1 1 1",
            f"Perf:     0.0123 ms, 12.3 TFlops, 45.6 GB/s, {line('forward_v3')}",
        ],
    ),
}


@pytest.mark.parametrize("name", LISTS)
def test_lines_of_lists(converter, name):
    file, lines = LISTS[name]
    request = ConversionRequest(path=Path(file), data="\n".join(lines).encode() + b"\n")
    for number, text in enumerate(lines, 1):
        assert explained(converter, text, request, number) == converted(converter, request, number), text
