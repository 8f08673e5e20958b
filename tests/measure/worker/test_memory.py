"""Tensors in target memory, between guards; the target is this process."""

import numpy as np
import pytest

from ckprof.measure.worker.guards import CHUNK_BYTES, GUARD_BYTE, GUARD_BYTES, POISON_BYTE
from ckprof.measure.worker.memory import DeviceTensors, GuardedTensor

from ..local_worker import HostTarget


def bytes_of(tensor, start, size):
    out = np.empty(size, dtype=np.uint8)
    tensor.read(start, out)
    return out


def test_a_tensor_lies_between_guards():
    tensor = GuardedTensor(HostTarget(), 100)
    for start in (-GUARD_BYTES, 100):
        assert (bytes_of(tensor, start, GUARD_BYTES) == GUARD_BYTE).all()
    tensor.poison()
    assert (bytes_of(tensor, 0, 100) == POISON_BYTE).all()
    assert [*bytes_of(tensor, -1, 2), *bytes_of(tensor, 99, 2)] == [
        *(GUARD_BYTE, POISON_BYTE, POISON_BYTE, GUARD_BYTE)
    ]


def test_some_of_a_tensor_is_poisoned_or_written():
    tensor = GuardedTensor(HostTarget(), 10)
    tensor.write(0, np.arange(10, dtype=np.uint8))
    tensor.poison(2, 3)
    tensor.write(8, np.array([77, 78], dtype=np.uint8))
    assert bytes_of(tensor, 0, 10).tolist() == [0, 1, POISON_BYTE, POISON_BYTE, POISON_BYTE, 5, 6, 7, 77, 78]


@pytest.mark.parametrize(
    ("start", "size"), [(-GUARD_BYTES - 1, 1), (100 + GUARD_BYTES, 1), (99, GUARD_BYTES + 2)]
)
def test_nothing_outside_of_the_guards_is_read(start, size):
    with pytest.raises(ValueError, match=f"bytes {start} to {start + size} are outside of tensor and guards"):
        bytes_of(GuardedTensor(HostTarget(), 100), start, size)


@pytest.mark.parametrize("elements", [1, CHUNK_BYTES // 2, CHUNK_BYTES // 2 + 1, CHUNK_BYTES + 3])
def test_all_that_is_uploaded_arrives(elements):
    values = np.random.default_rng(elements).integers(0, 2**16, (1, elements), dtype=np.uint16)
    tensor = GuardedTensor(HostTarget(), values.nbytes)
    tensor.upload(values)
    assert np.array_equal(bytes_of(tensor, 0, values.nbytes).view(np.uint16), values[0])
    assert (bytes_of(tensor, values.nbytes, 8) == GUARD_BYTE).all()


def test_tensors_are_passed_in_the_order_of_their_names():
    target = HostTarget()
    tensors = DeviceTensors(target, {"b": 8, "a": 3 * CHUNK_BYTES})
    assert tensors.size_bytes == 8 + 3 * CHUNK_BYTES
    assert [*tensors.buffers.tensors[:2]] == [tensors["b"].address, tensors["a"].address]
    tensors["b"].write(0, np.arange(8, dtype=np.uint8))
    assert tensors.read("b", 2, 3).tolist() == [2, 3, 4]
    tensors.release()
    assert tensors.size_bytes == 0 and not target._blocks


def test_nothing_stays_allocated_where_one_does_not_fit():
    class Small(HostTarget):
        def allocate(self, size_bytes):
            if len(self._blocks) == 2:
                raise MemoryError("only two")
            return super().allocate(size_bytes)

    target = Small()
    with pytest.raises(MemoryError, match="only two"):
        DeviceTensors(target, dict.fromkeys("abc", 4))
    assert not target._blocks
