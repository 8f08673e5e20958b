"""What catalogs cannot hold is lossy for parity and for the converter alike, line by line."""

import json
from xml.etree import ElementTree

import pytest

from ckprof import Profiler
from ckprof.errors import ExitCode

from .samples import BACKWARD_DATA, BACKWARD_WEIGHT, FORWARD, first_line

#: a line of each kind of kernel that prints the fields in question
LINES = {
    "fwd": first_line("forward/tests/nhwgc_fp16"),
    "fwd v3": next(line for n in range(40) if "_V3<" in (line := first_line("forward/tests/nhwgc_fp16", n))),
    "bwd_data": first_line("backward_data/tests/nhwgc_fp16"),
    "bwd_weight": first_line("backward_weight/tests/nhwgc_fp16"),
    "native fwd": FORWARD.replace("bf16", "fp16"),
    "native bwd_data": BACKWARD_DATA.replace("bf16", "fp16"),
    "native bwd_weight": BACKWARD_WEIGHT.replace("bf16", "fp16"),
}
PLAIN = "PassThrough,PassThrough,PassThrough"
#: where the accumulator's type stands in each
ACCUMULATORS = {
    "fwd": ("fp16,fp16,fp32", "fp16,fp16,fp16"),
    "fwd v3": ("fp16,fp16,fp32", "fp16,fp16,fp16"),
    "bwd_data": ("fp16,fp16,fp32", "fp16,fp16,fp16"),
    "bwd_weight": ("fp16,fp16,fp16,fp32", "fp16,fp16,fp16,fp16"),
    **dict.fromkeys(
        ("native fwd", "native bwd_data", "native bwd_weight"),
        ("fp32,fp16,EmptyTuple", "fp16,fp16,EmptyTuple"),
    ),
}


def replaced(line, old, new):
    assert line.count(old) == 1, (old, line)
    return line.replace(old, new)


def changed(kind):
    """Lines that say more than a catalog, with the rule under which that is lost."""
    line = LINES[kind]
    yield "accumulator", replaced(line, *ACCUMULATORS[kind])
    if kind.startswith("native"):
        yield "result-type", replaced(line, "fp32,fp16,EmptyTuple", "fp32,bf16,EmptyTuple")
        return
    if "fp16,fp16,false,1>" in line:
        yield "compute-type", replaced(line, "fp16,fp16,false,1>", "fp8,fp16,false,1>")


CASES = [(kind, rule, line) for kind in LINES for rule, line in changed(kind)]


def comparison_of(called):
    return json.loads(called.out)["comparisons"][0]


def direction_of(kind):
    return kind.removeprefix("native ").split()[0]


def converted(tmp_path, *lines):
    """Write a list, and return what the converter says of its lines."""
    path = tmp_path / "nhwgc_fp16.conf"
    path.write_text("\n".join([*lines, ""]))
    return [*Profiler().read(path).lossy.items()]


@pytest.mark.parametrize(("kind", "rule", "line"), CASES)
def test_both_say_which_line_is_lossy(ckprof, tmp_path, kind, rule, line):
    other = LINES[kind].replace("Default", "Filter1x1Pad0", 1)
    (lost,) = converted(tmp_path, line, other)
    parity = ckprof("parity", direction_of(kind), "--conf", "nhwgc_fp16.conf", "--format", "json")
    assert parity.code == ExitCode.OK, parity.out
    found = comparison_of(parity)
    assert (found["counts"]["missing"], found["counts"]["extra"], found["counts"]["duplicate"]) == (0, 0, 0)
    (lossy,) = found["lossy"]
    # the same line, in the same words
    assert lossy["rule"] == rule
    assert lossy["sources"] == [f"nhwgc_fp16.conf:{lost[0]}"] == ["nhwgc_fp16.conf:1"]
    assert lossy["reason"] == f"catalogs have no place for {lost[1]}"
    strict = ("--fail-on", "missing,extra,duplicate,lossy")
    assert ckprof("parity", direction_of(kind), "--conf", "nhwgc_fp16.conf", *strict).code == ExitCode.FAILED


@pytest.mark.parametrize("kind", LINES)
def test_neither_says_it_of_a_plain_line(ckprof, tmp_path, kind):
    plain = LINES[kind].replace("PassThrough", "UnaryConvert")
    assert not converted(tmp_path, plain)
    found = comparison_of(
        ckprof("parity", direction_of(kind), "--conf", "nhwgc_fp16.conf", "--format", "json")
    )
    assert not found["lossy"]
    assert found["counts"]["matched"] == 1


def test_the_string_says_what_is_lost(ckprof, tmp_path):
    converted(tmp_path, replaced(LINES["fwd"], *ACCUMULATORS["fwd"]))
    done = ckprof("parity", "fwd", "--conf", "nhwgc_fp16.conf")
    assert "lossy: accumulator: catalogs have no place for type_accumulator fp16" in done.out
    assert "type_accumulator (fp16 -> fp32)" in done.out
    junit = ElementTree.fromstring(  # noqa: S314  # our own output
        ckprof("parity", "fwd", "--conf", "nhwgc_fp16.conf", "--format", "junit", "--fail-on", "lossy").out
    )
    (failure,) = junit.iter("failure")
    assert failure.get("type") == "lossy"
    assert "type_accumulator fp16" in failure.get("message")


def test_two_lines_that_a_catalog_cannot_tell_apart_are_lossy_for_both(ckprof, tmp_path):
    line = LINES["fwd"]
    assert converted(tmp_path, line, replaced(line, *ACCUMULATORS["fwd"])) == [
        (2, "type_accumulator fp16 of fp16 operands")
    ]
    done = ckprof("parity", "fwd", "--conf", "nhwgc_fp16.conf", "--format", "json")
    (lossy,) = comparison_of(done)["lossy"]
    assert (lossy["rule"], lossy["sources"][-1]) == ("collapsed", "nhwgc_fp16.conf:2")


def test_a_log_that_alone_accumulates_in_another_type_is_no_match(ckprof, tmp_path):
    """What a list does not say is not lost by its conversion."""
    converted(tmp_path, LINES["fwd"])
    said = json.loads(ckprof("list", "instances", "--conf", "nhwgc_fp16.conf", "--format", "json").out)
    (tmp_path / "printed.txt").write_text(
        replaced(said[0]["instance string"], "1,fp32,fp16,E", "1,fp16,fp16,E")
    )
    against = ("parity", "fwd", "--conf", "nhwgc_fp16.conf", "--against", "printed.txt")
    done = ckprof(*against)
    assert done.code == ExitCode.FAILED
    assert "differs in type_accumulator (fp16 -> fp32)" in done.out
    # if the list says it as well, it is
    converted(tmp_path, replaced(LINES["fwd"], *ACCUMULATORS["fwd"]))
    done = ckprof(*against)
    assert done.code == ExitCode.OK, done.out
    assert "1 matched, 0 missing, 0 extra, 0 duplicate, 1 lossy" in done.out


def test_a_folder_says_how_many_lines_are_lossy(ckprof, tmp_path):
    folder = tmp_path / "lists" / "forward" / "tests"
    folder.mkdir(parents=True)
    (folder / "nhwgc_fp16.conf").write_text(replaced(LINES["fwd"], *ACCUMULATORS["fwd"]) + "\n")
    done = ckprof("convert", "lists", "-o", "catalogs")
    assert done.code == ExitCode.OK
    assert "lossy lines: 1" in done.out
    assert "first in line 1: type_accumulator fp16 of fp16 operands" in done.err
