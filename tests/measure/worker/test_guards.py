"""Tensors with gaps between lines and between blocks of lines, against indices that are written out."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ckprof.measure.worker.guards import logical_values, with_gaps, without_gaps
from ckprof.model.tensor import TensorSpec


@st.composite
def specs(draw: st.DrawFn) -> TensorSpec:
    """Two or three axes; lines and blocks that may be longer than what they hold."""
    shape = tuple(draw(st.integers(1, 5)) for _ in range(draw(st.integers(2, 3))))
    line = shape[-1] + draw(st.integers(0, 3))
    block = 0
    if len(shape) == 3:
        # the last line of a block needs no gap behind it
        least = (shape[1] - 1) * line + shape[2]
        block = draw(st.sampled_from([0, least, shape[1] * line, least + draw(st.integers(0, 20))]))
    axes = "GMK"[-len(shape) :]
    return TensorSpec(
        name="a",
        axes=axes,
        shape=shape,
        line_stride=draw(st.sampled_from([line, 0])),
        block_stride=block,
        drawing_order=axes,
        position=0,
    )


def place(spec: TensorSpec, index: tuple[int, ...]) -> int:
    line = spec.line_stride or spec.shape[-1]
    *first, row, column = index
    block = spec.block_stride or spec.shape[-2] * line
    return (first[0] * block if first else 0) + row * line + column


@given(specs(), st.data())
def test_elements_lie_where_the_strides_say(spec: TensorSpec, data: st.DataObject) -> None:
    values = np.arange(1, spec.elements + 1, dtype=np.int32).reshape(spec.shape)
    stored = with_gaps(values, spec, fill=0)
    assert stored.shape == spec.stored_shape and stored.size == spec.stored_elements
    flat = stored.reshape(-1)
    places = {place(spec, index): index for index in product(*map(range, spec.shape))}
    assert len(places) == spec.elements
    for position in range(stored.size):
        index = places.get(position)
        assert flat[position] == (0 if index is None else values[index])
        if index is not None:
            assert spec.index(position) == index
    assert (logical_values(stored, spec) == values).all()
    assert spec.is_packed == (len(places) == stored.size)
    cuts = sorted(data.draw(st.lists(st.integers(0, flat.size), max_size=4)))
    pieces = np.split(flat, cuts)
    starts = (0, *cuts)
    found = [without_gaps(piece, start, spec) for piece, start in zip(pieces, starts, strict=True)]
    assert (np.concatenate(found) == values.reshape(-1)).all()


@given(specs())
def test_gaps_of_operands_hold_the_poison(spec: TensorSpec) -> None:
    stored = with_gaps(np.zeros(spec.shape, dtype=np.float16), spec)
    poisoned = np.isnan(stored).sum()
    assert poisoned == spec.stored_elements - spec.elements
