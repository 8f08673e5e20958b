"""Baselines as files."""

import json

import pytest

from ckprof.errors import InputError
from ckprof_plugins.tuning.gate.baseline import read_baseline
from plugins.tuning.tests.gate.sides import PROBLEM, as_values, figures, file, side


def test_a_baseline_comes_back_as_it_was(tmp_path):
    kernels = (figures(), figures(key="cd" * 16, status="unsupported", reason="K is odd"))
    path = file(tmp_path / "baseline.json", *kernels)
    found = read_baseline(path)
    assert as_values(found) == as_values(side(*kernels))
    assert found.problems[0].parsed == PROBLEM
    # version control shows a kernel that changed as one line
    changed = file(tmp_path / "changed.json", figures(time_us=11.0), kernels[1])
    lines = [one.read_text().splitlines() for one in (path, changed)]
    assert sum(a != b for a, b in zip(*lines, strict=True)) == 1


def test_what_is_no_baseline_is_named(tmp_path):
    path = file(tmp_path / "baseline.json")
    whole = path.read_text()
    for text, said in (
        (whole[: len(whole) // 2], "not a baseline of 'ckprof predict --write'"),
        ("", "not a baseline"),
        (
            json.dumps({**json.loads(whole), "schema": "ckprof-prediction"}),
            "expected 'ckprof-prediction-baseline'",
        ),
        (json.dumps({**json.loads(whole), "version": 2}), "version 2 is not known, expected 1"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=said):
            read_baseline(path)
