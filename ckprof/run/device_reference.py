"""The double-precision reference in the memory of a device that compares results by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.model.dtype import DataType
from ckprof.model.outcome import Verification
from ckprof.run.abi import CComparisonRequest
from ckprof.run.memory import CHUNK_BYTES, POISON_BYTE
from ckprof.run.storage import decode, storage_type
from ckprof.run.verify import Comparison, Mismatch

if TYPE_CHECKING:
    from ckprof.run.abi import Target
    from ckprof.run.memory import GuardedTensor
    from ckprof.run.stored_file import StoredFile
    from ckprof.run.tolerance import Tolerance

#: ``ckprof_element``
_ELEMENTS: Final = {DataType.FP32: 0, DataType.FP16: 1, DataType.BF16: 2}
_DOUBLE_BYTES: Final = 8


class DeviceReference:
    """All elements of the reference in target memory.

    :param target: whose memory it is.
    :param address: where the first element is.
    :param values: the same elements on the host.
    """

    def __init__(self, target: Target, address: int, values: StoredFile) -> None:
        self._target = target
        self._address = address
        self._values = values

    @classmethod
    def upload(cls, target: Target, values: StoredFile) -> DeviceReference | None:
        """Copy the reference to the target; ``None`` if it has not enough memory."""
        try:
            address = target.allocate(values.size * _DOUBLE_BYTES)
        except MemoryError:
            return None
        length = CHUNK_BYTES // _DOUBLE_BYTES
        for start in range(0, values.size, length):
            part = np.ascontiguousarray(values[start : start + length], dtype=np.float64)
            target.copy_to_device(address + start * _DOUBLE_BYTES, part.ctypes.data, part.nbytes)
        return cls(target, address, values)

    def release(self) -> None:
        """Give the memory back."""
        self._target.release(self._address)

    def compare(self, result: GuardedTensor, dtype: DataType, tolerance: Tolerance) -> Comparison:
        """Compare a result with the reference; the same answer as :func:`ckprof.run.verify.compare`."""
        if result.elements != self._values.size:
            raise ValueError(f"the result has {result.elements} elements, the reference {self._values.size}")
        answer = self._target.compare(
            CComparisonRequest(
                result=result.address,
                reference=self._address,
                elements=result.elements,
                element=_ELEMENTS[dtype],
                poison=POISON_BYTE,
                rtol=tolerance.rtol,
                atol=tolerance.atol,
            )
        )
        return Comparison(
            verification=Verification(
                max_error=answer.max_error,
                wrong_elements=answer.wrong,
                elements=result.elements,
                rtol=tolerance.rtol,
                atol=tolerance.atol,
            ),
            unwritten=answer.unwritten,
            non_finite=answer.non_finite,
            first=self._mismatch(result, dtype, int(answer.first)) if answer.wrong else None,
        )

    def _mismatch(self, result: GuardedTensor, dtype: DataType, position: int) -> Mismatch:
        storage = storage_type(dtype)
        raw = np.empty(1, dtype=storage)
        self._target.copy_to_host(raw.ctypes.data, result.address + position * storage.itemsize, raw.nbytes)
        return Mismatch(
            position=position,
            got=float(decode(raw, dtype)[0]),
            expected=float(self._values[position : position + 1][0]),
        )
