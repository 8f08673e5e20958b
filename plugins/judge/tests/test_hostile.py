"""No candidate of the public classes of cheats and faults is judged right."""

from __future__ import annotations

import json

import pytest

from . import hostile, hostile_by_means, hostile_by_purpose, hostile_faults

TABLES = [one.HOSTILE for one in (hostile, hostile_faults, hostile_by_purpose, hostile_by_means)]
HOSTILE = {name: one for table in TABLES for name, one in table.items()}
#: as small as a problem is that has tails and several lines
PROBLEMS = {"gemm": "24x40x64", "fwd": "conv -n 2 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1"}
#: those whose evidence says what they did, with a part of it
SAID = {
    "cached-by-shape": "it returns the result of that launch",
    "right-ten-times": "right in its first launches, wrong in all of the last",
    "clock-is-slow": "it changed time.perf_counter",
    "clock-in-c": "it defines clock_gettime",
    "changes-its-caller": "it changed PythonCandidate.set_work",
    "clocks-of-texts": "it answered in place of the program that calls it",
    "imports-the-reference": "it imported ckprof, which holds the reference",
    "works-when-it-is-told-sizes": "it changed _set_work",
    **{
        f"key-{name}": "it returns the result of that launch"
        for name in hostile_by_purpose.KEYS
        # addresses change at random
        if not name.startswith("address")
    },
}
#: those that are refused as files
UNREADABLE = dict.fromkeys(
    ("loads-the-reference-from-its-file", "imports-past-the-refusal"), "Permission denied"
)
SAMPLE = ("cached-by-shape", "tail-of-k", "key-eight-values")


def judged(ckprof, tmp_path, name, table, *options):
    direction, suffix, source, *dtypes = table[name]
    file = tmp_path / f"candidate{suffix}"
    file.write_text(source)
    what = ("judge", direction, str(file), "--problem", PROBLEMS[direction], "--dtype", *(dtypes or ["fp32"]))
    called = ckprof(*what, "--format", "json", *options)
    return called.code, json.loads(called.out or json.dumps({"error": called.err}))


def _check(ckprof, tmp_path, name):
    code, said = judged(ckprof, tmp_path, name, HOSTILE, "--budget", "60s", "--timeout", "10")
    if name in UNREADABLE and "error" in said:
        assert code == 3 and UNREADABLE[name] in said["error"]
        return
    assert code == 1 and said["verdict"] in ("wrong", "dishonest"), said
    assert said["finding"]["evidence"]
    if name in SAID:
        assert said["verdict"] == "dishonest" and SAID[name] in said["finding"]["evidence"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", SAMPLE)
def test_a_sample_is_not_judged_right(ckprof, tmp_path, name):
    _check(ckprof, tmp_path, name)


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.parametrize("name", [*HOSTILE])
def test_none_is_judged_right(ckprof, tmp_path, name):
    _check(ckprof, tmp_path, name)


def test_what_cannot_be_loaded_with_half_a_character_in_its_error_is_said(ckprof, tmp_path):
    file = tmp_path / "candidate.py"
    file.write_text("raise ValueError(chr(0xd800))")
    called = ckprof("judge", "gemm", str(file), "--problem", PROBLEMS["gemm"], "--dtype", "fp32")
    assert called.code == 3 and "candidate.py" in called.err and "ValueError: ?" in called.err


def test_there_are_a_hundred_of_all_classes():
    assert len(HOSTILE) == sum(map(len, TABLES)) >= 100
    assert {*SAID, *SAMPLE} <= {*HOSTILE}
