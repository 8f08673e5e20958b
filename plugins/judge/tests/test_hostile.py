"""No candidate of the public classes of cheats and faults is judged right."""

from __future__ import annotations

import json

import pytest

from ckprof_plugins.judge.tests.hostile import HOSTILE

#: as small as a problem is that has tails and several lines
PROBLEMS = {"gemm": "24x40x64", "fwd": "conv -n 2 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 -p 1 -q 1 -F 1"}
#: those whose evidence says what they did, with a part of it
SAID = {
    "cached-by-shape": "it returns the result of that launch",
    "right-ten-times": "right in its first launches, wrong in all of the last",
    "thread-writes-later": "of its result after it had said that it was done",
    "clock-is-slow": "it changed time.perf_counter",
    "clock-in-c": "it defines clock_gettime",
    "imports-the-reference": "it imported ckprof, which holds the reference",
}
SAMPLE = ("cached-by-shape", "tail-of-k")


def judged(ckprof, tmp_path, name, table, *options):
    direction, suffix, source, *dtypes = table[name]
    file = tmp_path / f"candidate{suffix}"
    file.write_text(source)
    what = ("judge", direction, str(file), "--problem", PROBLEMS[direction], "--dtype", *(dtypes or ["fp32"]))
    called = ckprof(*what, "--format", "json", *options)
    return called.code, json.loads(called.out)


def _check(ckprof, tmp_path, name):
    code, said = judged(ckprof, tmp_path, name, HOSTILE, "--budget", "60s", "--timeout", "10")
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


def test_there_are_forty_of_all_classes():
    assert len(HOSTILE) >= 40
    assert {*SAID, *SAMPLE} <= {*HOSTILE}
