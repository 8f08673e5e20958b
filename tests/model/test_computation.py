"""Tensors by their axes: where the last element lies, and what a problem is made of."""

import numpy as np
import pytest

from ckprof.model.computation import Computation, TensorView
from ckprof.model.tensor import TensorSpec
from ckprof.model.types import ComputeType, DataType, TypeSet
from tests.report.conftest import PROBLEM


@pytest.mark.parametrize("strides", [(12, 4, 1), (16, 5, 1), (1, 2, 6), (0, 0, 1)])
def test_a_view_reaches_from_the_first_element_to_the_last(strides):
    view = TensorView(name="x", axes="nhc", lengths=(2, 3, 4), strides=strides, dtype=DataType.FP16)
    # of bytes, strides are those of elements
    seen = np.lib.stride_tricks.as_strided(np.zeros(100, np.int8), view.lengths, strides)
    low, high = (
        np.lib.array_utils.byte_bounds(seen) if hasattr(np.lib, "array_utils") else np.byte_bounds(seen)
    )
    assert view.extent == high - low
    assert [view.length(axis) for axis in "nhcx"] == [2, 3, 4, 1]
    assert tuple(view.stride(axis) for axis in "nhc") == strides


def test_a_computation_names_tensors_with_their_types():
    specs = [
        TensorSpec(name=name, axes="mk", shape=(2, 3), line_stride=line, drawing_order="mk", position=place)
        for place, (name, line) in enumerate((("a", 0), ("b", 8), ("d", 0), ("e", 0)))
    ]
    types = TypeSet(
        operands=(DataType.FP8, DataType.BF8),
        acc=DataType.FP32,
        result=DataType.BF16,
        ocp=False,
        compute_type=ComputeType.TF32,
    )
    found = Computation.of("op", "rcr", PROBLEM, specs, types)
    assert [(one.name, one.dtype.value, one.strides) for one in found.tensors] == [
        ("a", "fp8", (3, 1)),
        ("b", "bf8", (8, 1)),
        ("d", "bf16", (3, 1)),
        ("e", "bf16", (3, 1)),
    ]
    assert (found.operation, found.layout, found.problem) == ("op", "rcr", PROBLEM.as_dict())
    assert (found.ocp, found.compute_type) == (False, ComputeType.TF32)
