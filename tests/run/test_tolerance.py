from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.model.accumulation import SplitSum
from ckprof.model.dtype import DataType
from ckprof.run.storage import decode, encode
from ckprof.run.tolerance import Tolerance, derive_tolerance, unit_roundoff

magnitudes = st.floats(min_value=-(2.0**100), max_value=2.0**100, width=32)


@pytest.mark.parametrize(
    ("dtype", "floor"), [(DataType.FP32, 5.96e-8), (DataType.FP16, 4.9e-4), (DataType.BF16, 3.9e-3)]
)
def test_floor_is_the_rounding_of_the_type(dtype, floor):
    tolerance = derive_tolerance(dtype, reduction_length=1, magnitude=10.0)
    assert tolerance.rtol == pytest.approx(floor, rel=0.01) == unit_roundoff(dtype)
    assert tolerance.atol == pytest.approx(10 * tolerance.rtol)


def test_long_reductions_widen_it():
    tolerance = derive_tolerance(DataType.FP16, reduction_length=100_000, magnitude=1.0)
    assert tolerance.rtol == pytest.approx(100_000 * 2.0**-24)


def test_splits_that_meet_in_the_accumulator_get_no_slack():
    whole = derive_tolerance(DataType.BF16, reduction_length=6400, magnitude=2.0, deviation=0.5)
    split = derive_tolerance(
        DataType.BF16,
        reduction_length=6400,
        magnitude=2.0,
        deviation=0.5,
        split_k=64,
        split_sum=SplitSum.ACCUMULATOR,
    )
    assert split == whole == Tolerance(rtol=2.0**-8, atol=2.0**-7)


def test_all_zero_reference_must_be_met_exactly():
    assert derive_tolerance(DataType.FP16, reduction_length=9, magnitude=0.0).atol == 0


@given(
    st.lists(magnitudes, min_size=1, max_size=20),
    st.sampled_from([DataType.FP16, DataType.BF16]),
)
def test_covers_rounding_to_nearest(values, dtype):
    reference = np.clip(np.array(values), -6e4, 6e4) if dtype is DataType.FP16 else np.array(values)
    assert_covered(reference, decode(encode(reference, dtype), dtype), dtype)


@given(st.lists(magnitudes, min_size=1, max_size=20))
def test_covers_truncation_to_bf16(values):
    reference = np.array(values, dtype=np.float32)
    truncated = (reference.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    assert_covered(reference.astype(float), truncated.astype(float), DataType.BF16)


def assert_covered(reference, values, dtype):
    magnitude = float(np.abs(reference).max())
    tolerance = derive_tolerance(dtype, reduction_length=1, magnitude=magnitude)
    smallest_normal = 2.0**-126 if dtype is DataType.BF16 else 2.0**-14
    if magnitude >= smallest_normal * 2**9:
        assert (np.abs(values - reference) <= tolerance.atol + tolerance.rtol * np.abs(reference)).all()
