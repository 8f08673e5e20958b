"""Faults of which the condition is known are explained by it, and made as small as they are."""

from __future__ import annotations

from math import prod

import pytest

import ckprof
from ckprof_plugins.hunt.findings import explained, findings

from .conftest import ScriptedHunt


@pytest.mark.parametrize(
    ("direction", "fails", "condition", "least"),
    [
        ("fwd", lambda p, _: p.groups > 1, "G > 1", {"groups": 2, "batch": 1, "in_channels": 1}),
        (
            "bwd_weight",
            lambda p, splits: splits > 2 and p.batch * prod(p.output) > 64,
            "split_k > 2 and loops",
            {"groups": 1, "out_channels": 1},
        ),
        (
            "bwd_data",
            lambda p, _: p.groups == 1 and any(s > d for s, d in zip(p.strides, p.dilations, strict=True)),
            "G == 1",
            {"groups": 1, "batch": 1, "out_channels": 1},
        ),
        ("fwd", lambda p, _: p.left_pads != p.right_pads, "left_pads != right_pads", {"groups": 1}),
    ],
)
def test_a_fault_is_explained_and_made_small(hunted, direction, fails, condition, least):
    (found, *_) = findings(hunted(direction, fails))
    assert condition in found.condition or not found.condition
    assert fails(found.problem, found.split_k)
    assert {name: getattr(found.problem, name) for name in least} == least
    assert found.failed > 1 and found.passed > 10 and found.boundaries


def test_what_no_formula_has_in_common_is_one_finding(hunted):
    hunt = hunted("fwd", lambda p, _: hash(p) % 7 == 0)
    (key,) = hunt.candidates
    groups = list(explained(hunt, key))
    assert sum(len(pairs) for _, pairs in groups) == sum(o.status.is_failure for o in hunt.outcomes.values())
    assert groups[-1][0] == ""


def test_widths_that_follow_from_the_tile_are_in_no_condition():
    profiler = ckprof.Profiler()
    query = ckprof.InstanceQuery(conf="gemm/universal/rcr_fp16", indices=(0,))
    candidates = profiler.instances(query).candidates
    operation = profiler.registry.operation("gemm")
    (found,) = findings(ScriptedHunt(operation, candidates, lambda problem, _: problem.stride_a > 0))
    assert found.condition == "stride_a > 0" and (found.problem.m, found.problem.batch) == (1, 1)


def test_right_kernels_have_no_findings(hunted):
    assert findings(hunted("fwd")) == []
