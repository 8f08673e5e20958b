"""Roofs as evidence of sweeps: measured, kept, and found again by the device they are of."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.model.roof import Roof, RoofKind
from ckprof.model.types import DataType
from ckprof.sweep.evidence import device_roofs, kept_roofs, roof_evidence
from tests.store.samples import make_attempt, make_session

if TYPE_CHECKING:
    from ckprof.plugin.protocols import Target

DEVICE = make_attempt(0).key.device
#: knows nothing of its devices
TARGET = cast("Target", SimpleNamespace(theoretical_roofs=lambda arch, device: ()))
rates = st.floats(1e-3, 1e9) | st.just(math.inf)


def roof(
    gflops: float, gbytes: float, *, kind: RoofKind = RoofKind.MEASURED, dtype: DataType | None = None
) -> Roof:
    return Roof(kind=kind, gflops=gflops, gbytes_per_s=gbytes, dtype=dtype)


@given(rates, rates, st.sampled_from(RoofKind), st.sampled_from([None, *DataType]))
def test_what_is_kept_is_read(gflops: float, gbytes: float, kind: RoofKind, dtype: DataType | None) -> None:
    one = roof(gflops, gbytes, kind=kind, dtype=dtype)
    expected = None if min(gflops, gbytes) == math.inf else one
    assert Roof.from_plain(one.as_plain()) == expected


@pytest.mark.parametrize("wrong", [{}, {"kind": "guessed", "gflops": 1, "gbytes_per_s": 1}, {"gflops": "x"}])
def test_what_is_no_roof_is_left_out(wrong: dict[str, object]) -> None:
    assert Roof.from_plain(wrong) is None


def test_what_is_measured() -> None:
    seen = {None: 2e11, DataType.FP32: 5e12, DataType.FP16: 0.0}
    found = device_roofs(TARGET, "", 0, lambda dtype: seen[dtype], [DataType.FP32, DataType.FP16])
    assert found == (roof(5000, 200, dtype=DataType.FP32), roof(math.inf, 200, dtype=DataType.FP16))
    assert device_roofs(TARGET, "", 0, lambda dtype: 0.0, list(DataType)) == ()


def test_roofs_are_those_of_their_device() -> None:
    kept = roof_evidence(DEVICE, [roof(5, 7)])
    session = replace(make_session(1), environment=kept)
    assert kept_roofs(session, DEVICE) == (roof(5, 7),)
    assert kept_roofs(session, replace(DEVICE, model="another")) == ()
    assert kept_roofs(make_session(1), DEVICE) == ()
    assert roof_evidence(DEVICE, []) == {}
