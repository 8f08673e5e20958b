"""Tensors in memory: strides, gaps and places, against arrays of numpy."""

import numpy as np
import pytest

from ckprof.model.tensor import TensorSpec, layout_named
from ckprof_plugins.directions._convolution.layout import LAYOUTS


def spec(shape, line=0, block=0):
    return TensorSpec(
        name="x",
        axes="nhwc"[-len(shape) :],
        shape=shape,
        line_stride=line,
        block_stride=block,
        drawing_order="nhwc"[-len(shape) :],
        position=0,
    )


@pytest.mark.parametrize(
    ("tensor", "stored", "strides"),
    [
        (spec((2, 3, 4)), (2, 3, 4), (12, 4, 1)),
        (spec((5,)), (5,), (1,)),
        # a line has a gap of two elements
        (spec((2, 3, 4), line=6), (2, 3, 6), (18, 6, 1)),
        # blocks of 3 lines are 20 elements apart; 12 and 18 are what their lines take
        (spec((2, 3, 4), block=20), (2, 20), (20, 4, 1)),
        (spec((2, 3, 4), line=6, block=20), (2, 20), (20, 6, 1)),
        (spec((2, 3, 4), block=12), (2, 3, 4), (12, 4, 1)),
        (spec((2, 3, 4), line=6, block=18), (2, 3, 6), (18, 6, 1)),
    ],
)
def test_where_elements_lie(tensor, stored, strides):
    assert (tensor.stored_shape, tensor.strides) == (stored, strides)
    assert tensor.elements == np.prod(tensor.shape) and tensor.stored_elements == np.prod(stored)
    assert tensor.is_packed == (tensor.stored_elements == tensor.elements)
    assert tensor.has_blocks == (len(stored) < len(tensor.shape))
    # each element is at the place that its index says, and everything else is a gap
    places = np.arange(tensor.stored_elements, dtype=np.int32)
    seen = np.lib.stride_tricks.as_strided(places, tensor.shape, [4 * stride for stride in strides])
    where = {int(place): index for index, place in np.ndenumerate(seen)}
    assert len(where) == tensor.elements
    for place in range(tensor.stored_elements):
        index = tensor.index(place)
        inside = all(at < length for at, length in zip(index, tensor.shape, strict=True))
        assert inside is (place in where)
        assert not inside or index == where[place]


def test_layouts_are_found_in_any_case():
    found = layout_named(LAYOUTS, "NHWGC")
    assert found is not None and found.name == "nhwgc" and found is layout_named(LAYOUTS, "nhwgc")
    assert layout_named(LAYOUTS, "nhwg") is None and layout_named((), "nhwgc") is None
