"""Guards of tensors and what was written there; gaps of tensors, against indices that are written out."""

import os
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.measure.worker.guards import (
    CHUNK_BYTES,
    GUARD_BYTES,
    CheckedTensor,
    logical_values,
    memory_of,
    new_memory,
    out_of_bounds_writes,
    reported_writes,
    with_gaps,
    without_gaps,
)
from ckprof.measure.worker.memory import DeviceTensors
from ckprof.model.tensor import TensorSpec

from ..local_worker import HostTarget


@st.composite
def specs(draw):
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


def place(spec, index):
    line = spec.line_stride or spec.shape[-1]
    *first, row, column = index
    block = spec.block_stride or spec.shape[-2] * line
    return (first[0] * block if first else 0) + row * line + column


@given(specs(), st.data())
def test_elements_lie_where_the_strides_say(spec, data):
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
def test_gaps_of_operands_hold_the_poison(spec):
    stored = with_gaps(np.zeros(spec.shape, dtype=np.float16), spec)
    poisoned = np.isnan(stored).sum()
    assert poisoned == spec.stored_elements - spec.elements


def kept(*sizes):
    """Return tensors in memory of this process, and what reads them."""
    tensors = DeviceTensors(HostTarget(), {f"t{number}": size for number, size in enumerate(sizes)})
    return tensors, tensors.read


@pytest.mark.parametrize("size", [4, CHUNK_BYTES, 3 * CHUNK_BYTES + 8])
def test_every_byte_of_guards_and_operands_is_looked_at(size):
    tensors, read = kept(size, 8)
    values = np.arange(size // 2, dtype=np.uint16)
    tensors["t0"].upload(values)
    checked = [
        CheckedTensor(name="t0", size_bytes=size, values=values),
        CheckedTensor(name="t1", size_bytes=8),
    ]
    assert out_of_bounds_writes(read, checked) == ""
    one = np.array([0xEE], dtype=np.uint8)
    said = {
        -GUARD_BYTES: "wrote outside the t0 tensor, before its memory",
        -1: "wrote outside the t0 tensor, before its memory",
        0: "changed its operand, the t0 tensor",
        size - 1: "changed its operand, the t0 tensor",
        size: "wrote outside the t0 tensor, after its memory",
        size + GUARD_BYTES - 1: "wrote outside the t0 tensor, after its memory",
    }
    for at, text in said.items():
        before = read("t0", at, 1).copy()
        tensors["t0"].write(at, one)
        assert out_of_bounds_writes(read, checked) == text, at
        tensors["t0"].write(at, before)
    # the result may hold anything
    tensors["t1"].write(0, one)
    assert out_of_bounds_writes(read, checked) == ""


def test_all_damages_are_told():
    tensors, read = kept(4, 4)
    one = np.zeros(1, dtype=np.uint8)
    for at in (-1, 4):
        tensors["t0"].write(at, one)
    tensors["t1"].write(0, one)
    checked = [
        CheckedTensor(name=name, size_bytes=4, values=np.full(4, 0xA5, dtype=np.uint8))
        for name in ("t0", "t1")
    ]
    tensors["t0"].write(0, np.full(4, 0xA5, dtype=np.uint8))
    tensors["t1"].write(1, np.full(3, 0xA5, dtype=np.uint8))
    assert out_of_bounds_writes(read, checked) == (
        "wrote outside the t0 tensor, before and after its memory; changed its operand, the t1 tensor"
    )


def test_nans_of_operands_are_compared_by_their_bits():
    values = np.array([np.nan, -0.0], dtype=np.float32)
    tensors, read = kept(8)
    tensors["t0"].upload(values)
    assert not out_of_bounds_writes(read, [CheckedTensor(name="t0", size_bytes=8, values=values)])
    tensors["t0"].upload(np.array([np.nan, 0.0], dtype=np.float32))
    assert out_of_bounds_writes(read, [CheckedTensor(name="t0", size_bytes=8, values=values)])


@pytest.mark.parametrize(
    ("guards", "digests", "text"),
    [
        (((0, 0), (0, 0), (0, 0)), (1, 2), ""),
        (((3, 0), (0, 0), (0, 0)), (1, 2), "wrote outside the a tensor, before its memory"),
        (((0, 0), (1, 1), (0, 0)), (1, 2), "wrote outside the e tensor, before and after its memory"),
        (((0, 0), (0, 0), (0, 9)), (1, 2), "wrote outside the reference tensor, after its memory"),
        (((0, 0), (0, 0), (0, 0)), (7, 2), "changed its operand, the a tensor"),
        (
            ((0, 0), (0, 0), (0, 0)),
            (1, 7),
            "wrote outside its tensors, into the reference that its result is compared with",
        ),
        (
            ((0, 1), (0, 0), (0, 0)),
            (3, 2),
            "wrote outside the a tensor, after its memory; changed its operand, ",
        ),
    ],
)
def test_what_a_device_reports_is_told_in_the_same_words(guards, digests, text):
    seen = SimpleNamespace(guards=guards, digests=digests)
    found = reported_writes(seen, ("a", "e"), (1, 2))
    assert found.startswith(text) and bool(found) is bool(text)


def test_shared_memory_has_a_size_that_nobody_changes():
    descriptor = new_memory()
    first, second = memory_of(descriptor), memory_of(descriptor)
    for size in (0, CHUNK_BYTES + 1):
        with pytest.raises(PermissionError):
            os.ftruncate(descriptor, size)
    os.close(descriptor)
    assert first.size == second.size == CHUNK_BYTES
    first[-1] = 7
    assert second[-1] == 7 and second[0] == 0
