"""Evidence of sweeps: ceilings, found again by the device they are of, and layers, by their problems."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.model.problem import Problem
from ckprof.model.problem_case import ProblemCase
from ckprof.model.roofline import Ceiling, CeilingKind
from ckprof.model.types import DataType
from ckprof.sweep.evidence import (
    LAYERS,
    Layers,
    SweptLayer,
    canary_evidence,
    ceiling_evidence,
    device_ceilings,
    kept_ceilings,
    layer_evidence,
    problem_digest,
)
from tests.store.samples import make_attempt, make_problem, make_session

if TYPE_CHECKING:
    from ckprof.plugin.protocols import Target

DEVICE = make_attempt(0).key.device
#: knows nothing of its devices
TARGET = cast("Target", SimpleNamespace(theoretical_ceilings=lambda arch, device: ()))
rates = st.floats(1e-3, 1e9) | st.just(math.inf)


def ceiling(gflops, gbytes, *, kind=CeilingKind.MEASURED, dtype=None):
    return Ceiling(kind=kind, gflops=gflops, gbytes_per_s=gbytes, dtype=dtype)


@given(rates, rates, st.sampled_from(CeilingKind), st.sampled_from([None, *DataType]))
def test_what_is_kept_is_read(gflops, gbytes, kind, dtype):
    one = ceiling(gflops, gbytes, kind=kind, dtype=dtype)
    expected = None if min(gflops, gbytes) == math.inf else one
    assert Ceiling.from_plain(one.as_plain()) == expected


@pytest.mark.parametrize("wrong", [{}, {"kind": "guessed", "gflops": 1, "gbytes_per_s": 1}, {"gflops": "x"}])
def test_what_is_no_ceiling_is_left_out(wrong):
    assert Ceiling.from_plain(wrong) is None


def test_what_is_measured():
    seen = {None: 2e11, DataType.FP32: 5e12, DataType.FP16: 0.0}
    found = device_ceilings(TARGET, "", 0, lambda dtype: seen[dtype], [DataType.FP32, DataType.FP16])
    assert found == (ceiling(5000, 200, dtype=DataType.FP32), ceiling(math.inf, 200, dtype=DataType.FP16))
    assert device_ceilings(TARGET, "", 0, lambda dtype: 0.0, list(DataType)) == ()


def test_ceilings_are_those_of_their_device():
    kept = ceiling_evidence(DEVICE, [ceiling(5, 7)])
    session = replace(make_session(1), environment=kept)
    assert kept_ceilings(session, DEVICE) == (ceiling(5, 7),)
    assert kept_ceilings(session, replace(DEVICE, model="another")) == ()
    assert kept_ceilings(make_session(1), DEVICE) == ()
    assert ceiling_evidence(DEVICE, []) == {}


def kept_layers(*cases):
    return replace(make_session(1), environment=layer_evidence(cases))


def test_canaries_are_those_of_an_object_on_a_device(tmp_path):
    def digest(device, code):
        canary = tmp_path / "canaries.so"
        canary.write_text(code)
        kept = canary_evidence(device, canary)
        return replace(make_session(), environment=kept).canary_digest

    without = canary_evidence(DEVICE, None)
    assert without == {} and replace(make_session(), environment=without).canary_digest == ""
    first = digest(DEVICE, "one")
    assert first == digest(replace(DEVICE, memory_bytes=7), "one") != ""
    for changed in ({"model": "other"}, {"compute_units": 3}, {"target": "other"}):
        assert digest(replace(DEVICE, **changed), "one") != first, changed
    assert digest(DEVICE, "two") != first


def test_layers_are_kept_only_where_a_source_says_anything():
    plain, named = ProblemCase(problem=make_problem(5)), ProblemCase(problem=make_problem(6), name="conv1")
    assert layer_evidence([plain]) == {}
    often = replace(plain, count=3, dtype=DataType.FP16)
    assert layer_evidence([plain, named, often]) == {
        LAYERS: [
            {"problem": problem_digest(named.problem), "name": "conv1"},
            {"problem": problem_digest(plain.problem), "count": 3, "dtype": "fp16"},
        ]
    }
    assert problem_digest(plain.problem) != problem_digest(named.problem)
    assert not Layers([make_session(1)]) and Layers([kept_layers(named)])


def test_a_problem_has_all_its_names_and_its_counts_together():
    problem = make_problem(5)
    cases = [
        ProblemCase(problem=problem, name="a", network="one", count=2),
        ProblemCase(problem=problem, name="b", network="one"),
        ProblemCase(problem=problem, name="a", network="two", count=4),
        ProblemCase(problem=problem, name="other", direction="bwd_data"),
        ProblemCase(problem=problem, name="wide", dtype=DataType.FP32),
    ]
    layers = Layers([kept_layers(*cases)])
    found = layers.of(problem, "fwd", "fp16", "nhwgc")
    assert found is not None and (found.name, found.counts, found.count) == ("a, b", {"one": 3, "two": 4}, 7)
    alone = Layers([kept_layers(cases[3])])
    assert alone.of(problem, "fwd", "fp16", "nhwgc") is None
    assert alone.of(problem, "bwd_data", "fp16", "nhwgc") == SweptLayer(name="other", counts={"": 1})
    assert layers.of(make_problem(6), "fwd", "fp16", "nhwgc") is None


def test_what_a_later_session_says_of_a_network_counts():
    problem = make_problem(5)

    def session(network, count):
        return kept_layers(
            ProblemCase(problem=problem, name=f"{network}{count}", network=network, count=count)
        )

    layers = Layers([session("one", 2), session("two", 3), session("one", 5)])
    found = layers.of(problem, "fwd", "fp16", "nhwgc")
    assert found is not None and (found.name, found.counts) == ("one5, two3", {"one": 5, "two": 3})
    # names without a network are those of the same layers
    with_none = Layers([session("one", 2), session("", 9)])
    found = with_none.of(problem, "fwd", "fp16", "nhwgc")
    assert found is not None and found.counts == {"one": 2}
    keys = [LayerKey(problem), LayerKey(make_problem(6))]
    assert {key: layer.count for key, layer in layers.of_keys(keys).items()} == {keys[0]: 8}


class LayerKey(NamedTuple):
    problem: Problem
    direction: str = "fwd"
    dtype: str = "fp16"
    layout: str = "nhwgc"


@pytest.mark.parametrize("kept", [None, "x", {"problem": 1}, [3, "y", {}], [{"problem": 5, "name": "a"}]])
def test_layers_that_another_version_wrote_are_left_out(kept):
    session = replace(make_session(1), environment={LAYERS: kept})
    assert Layers([session]).of(make_problem(5), "fwd", "fp16", "nhwgc") is None
