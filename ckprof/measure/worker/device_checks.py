"""What a target does on its device to verify results: the ctypes mirror of ``ckprof_checks.h``."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Protocol, runtime_checkable

import msgspec

from ckprof.measure.worker.check_work import MAX_AXES, MAX_CHECKED, MAX_LOOPS
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.messages import AbiStatus
from ckprof.measure.worker.sampling import Findings
from ckprof.model.computation import Rounding

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ckprof.measure.worker.check_work import CheckedIndex, ContractionWork, Loop, OperandFill

#: ``CKPROF_CHECKS_VERSION``
CHECKS_VERSION: Final = 2
_TEXT_BYTES: Final = 4096
#: ``ckprof_rounding``
_ROUNDINGS: Final = {Rounding.NONE: 0, Rounding.NEAREST: 1, Rounding.CUT_OFF: 2}


class CIntegers(ctypes.Structure):
    """``ckprof_integers``."""

    _fields_: ClassVar = [
        ("lowest", c_int32),
        ("count", c_int32),
        ("kept", c_uint64),
        ("exponent", c_int32),
        ("direction", c_int32),
        ("step", c_int64),
        ("length", c_int64),
        ("period", c_int64),
        ("largest", c_float),
        ("less", c_int32),
    ]


class COperand(ctypes.Structure):
    """``ckprof_operand``."""

    _fields_: ClassVar = [
        ("element", c_int32),
        ("values", c_int32),
        ("key", c_uint64),
        ("lowest", c_float),
        ("low", c_uint32),
        ("high", c_uint32),
        ("integers", CIntegers),
        ("axes", c_int32),
        ("lengths", c_int64 * MAX_AXES),
        ("numbers", c_int64 * MAX_AXES),
        ("line", c_int64),
    ]


class CLoop(ctypes.Structure):
    """``ckprof_loop``."""

    _fields_: ClassVar = [
        ("length", c_int64),
        ("result", c_int64),
        ("offset", c_int64 * 2),
        ("checked", (c_int32 * MAX_CHECKED) * 2),
    ]


class CCheckedIndex(ctypes.Structure):
    """``ckprof_checked_index``."""

    _fields_: ClassVar = [("start", c_int32), ("divisor", c_int32), ("length", c_int64), ("stride", c_int64)]


class CContraction(ctypes.Structure):
    """``ckprof_contraction``."""

    _fields_: ClassVar = [
        ("elements", c_int32 * 2),
        ("batches", c_int32),
        ("rows", c_int32),
        ("columns", c_int32),
        ("sums", c_int32),
        ("loop", CLoop * MAX_LOOPS),
        ("checks", c_int32 * 2),
        ("check", (CCheckedIndex * MAX_CHECKED) * 2),
        ("slices", c_int64),
        ("slice", c_int64),
        ("stored", c_int64),
    ]


class CComparison(ctypes.Structure):
    """``ckprof_comparison``."""

    _fields_: ClassVar = [
        ("element", c_int32),
        ("rounding", c_int32),
        ("poison", c_int32),
        ("stored", c_int64),
        ("rtol", c_double),
        ("atol", c_double),
    ]


class CFindings(ctypes.Structure):
    """``ckprof_findings``."""

    _fields_: ClassVar = [
        ("wrong", c_uint64),
        ("unwritten", c_uint64),
        ("non_finite", c_uint64),
        ("in_gaps", c_uint64),
        ("gaps", c_uint64),
        ("first", c_uint64),
        ("max_error", c_double),
        ("got", c_double),
        ("expected", c_double),
    ]


class CChecks(ctypes.Structure):
    """``ckprof_checks``."""

    _fields_: ClassVar = [
        ("version", c_uint32),
        ("fill", ctypes.CFUNCTYPE(c_int, c_void_p, c_int32, c_size_t)),
        ("count_others", ctypes.CFUNCTYPE(c_int, c_void_p, c_int32, c_size_t, POINTER(c_uint64))),
        ("digest", ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_uint64))),
        ("fill_operand", ctypes.CFUNCTYPE(c_int, POINTER(COperand), c_void_p, POINTER(c_double))),
        ("contract", ctypes.CFUNCTYPE(c_int, POINTER(CContraction), c_void_p, c_void_p, c_void_p, c_void_p)),
        ("magnitude", ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, POINTER(c_double), POINTER(c_uint64))),
        ("compare", ctypes.CFUNCTYPE(c_int, POINTER(CComparison), c_void_p, c_void_p, POINTER(CFindings))),
        ("last_error", ctypes.CFUNCTYPE(None, POINTER(c_char), c_size_t)),
        ("negate", ctypes.CFUNCTYPE(c_int, c_void_p, c_int32, c_int64, c_int64, c_int64, c_void_p)),
        ("wait", ctypes.CFUNCTYPE(c_int)),
    ]


#: C name -> mirror, for the test that compares sizes and offsets with the header
MIRRORS = {
    "ckprof_integers": CIntegers,
    "ckprof_operand": COperand,
    "ckprof_loop": CLoop,
    "ckprof_checked_index": CCheckedIndex,
    "ckprof_contraction": CContraction,
    "ckprof_comparison": CComparison,
    "ckprof_findings": CFindings,
    "ckprof_checks": CChecks,
}


class CheckError(OSError):
    """The device could not do what was asked: it may be of no use to this process any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How far an element may be from the reference."""

    rtol: float
    atol: float
    rounding: Rounding = Rounding.NONE


class DeviceChecks:
    """The functions of a library's target that verify results on its device.

    Memory is named by its address. Methods raise :class:`CheckError` when the device has failed.

    :param table: what ``ckprof_get_checks()`` returned.
    """

    def __init__(self, table: Any) -> None:
        self._table = table

    @classmethod
    def of(cls, binary: ctypes.CDLL) -> DeviceChecks | None:
        """Return those of a library; ``None`` if it has none, or those of another version."""
        get = getattr(binary, "ckprof_get_checks", None)
        if get is None:
            return None
        get.restype = POINTER(CChecks)
        get.argtypes = []
        table = get().contents
        return cls(table) if table.version == CHECKS_VERSION else None

    def fill(self, address: int, value: int, size_bytes: int) -> None:
        """Set bytes."""
        self._done("fill memory", self._table.fill(address, value, size_bytes))

    def count_others(self, address: int, value: int, size_bytes: int) -> int:
        """Return how many bytes do not have a value."""
        count = c_uint64()
        status = self._table.count_others(address, value, size_bytes, ctypes.byref(count))
        self._done("look at guards", status)
        return count.value

    def digest(self, address: int, size_bytes: int) -> int:
        """Return a number that changes when a byte does."""
        digest = c_uint64()
        self._done("read a tensor", self._table.digest(address, size_bytes, ctypes.byref(digest)))
        return digest.value

    def fill_operand(self, fill: OperandFill, address: int) -> float:
        """Fill an operand but for its gaps; return the sum of the squares of its values."""
        axes = len(fill.lengths)
        operand = COperand(
            element=fill.element,
            values=fill.values,
            key=fill.key,
            lowest=fill.lowest,
            low=fill.low,
            high=fill.high,
            integers=CIntegers(**msgspec.structs.asdict(fill.integers)),
            axes=axes,
            lengths=(c_int64 * MAX_AXES)(*fill.lengths),
            numbers=(c_int64 * MAX_AXES)(*fill.numbers),
            line=fill.line,
        )
        squares = c_double()
        status = self._table.fill_operand(ctypes.byref(operand), address, ctypes.byref(squares))
        self._done("fill an operand", status)
        return squares.value

    def contract(
        self, work: ContractionWork, operands: Sequence[int], *, partial: int, reference: int
    ) -> bool:
        """Compute a reference; return whether the device takes so large a problem.

        :param partial: memory for the doubles of all slices; the reference's own where there is one slice.
        """
        first, second = operands
        described = _c_contraction(work)
        status = self._table.contract(ctypes.byref(described), first, second, partial, reference)
        if status == AbiStatus.REJECTED:
            return False
        self._done("compute the reference", status)
        return True

    def magnitude(self, reference: int, stored: int) -> tuple[float, int]:
        """Return the largest magnitude of a reference, and how many of its elements are no numbers."""
        largest, gaps = c_double(), c_uint64()
        status = self._table.magnitude(reference, stored, ctypes.byref(largest), ctypes.byref(gaps))
        self._done("read the reference", status)
        return largest.value, gaps.value

    def compare(self, element: int, result: int, reference: int, stored: int, limits: Limits) -> Findings:
        """Compare a result with a reference.

        :param element: ``ckprof_element`` of the result.
        :param stored: elements, gaps included.
        """
        comparison = CComparison(
            element=element,
            rounding=_ROUNDINGS[limits.rounding],
            poison=POISON_BYTE,
            stored=stored,
            rtol=limits.rtol,
            atol=limits.atol,
        )
        seen = CFindings()
        status = self._table.compare(ctypes.byref(comparison), result, reference, ctypes.byref(seen))
        self._done("compare the result", status)
        return Findings(
            wrong=seen.wrong,
            unwritten=seen.unwritten,
            non_finite=seen.non_finite,
            in_gaps=seen.in_gaps,
            gaps=seen.gaps,
            first=seen.first if seen.wrong else None,
            max_error=seen.max_error,
            got=repr(seen.got),
            expected=repr(seen.expected),
        )

    def negate(self, address: int, element: int, elements: int, axis: tuple[int, int], signs: int) -> None:
        """Change the sign of values that are not 0, at some indices of an axis; need not wait for it.

        :param element: ``ckprof_element``, no integer.
        :param axis: its length, and elements from index to index.
        :param signs: where a byte of each index says whether it is meant.
        """
        length, step = axis
        status = self._table.negate(address, element, elements, length, step, signs)
        self._done("negate a tensor", status)

    def wait(self) -> None:
        """Wait until the whole device is idle, whatever stream work was launched in."""
        self._done("finish its work", self._table.wait())

    def _done(self, action: str, status: int) -> None:
        if status != AbiStatus.OK:
            text = ctypes.create_string_buffer(_TEXT_BYTES)
            self._table.last_error(text, _TEXT_BYTES)
            error = text.value.decode(errors="replace")
            raise CheckError(f"the device failed to {action}" + (f": {error}" if error else ""))


@runtime_checkable
class CheckProvider(Protocol):
    """A provider of kernels whose results can be verified on their device."""

    @property
    def checks(self) -> DeviceChecks | None:
        """What verifies them; ``None`` if the target has nothing for that."""


def _c_contraction(work: ContractionWork) -> CContraction:
    loops = (*work.batches, *work.rows, *work.columns, *work.sums)
    return CContraction(
        elements=(c_int32 * 2)(*work.elements),
        batches=len(work.batches),
        rows=len(work.rows),
        columns=len(work.columns),
        sums=len(work.sums),
        loop=(CLoop * MAX_LOOPS)(*map(_c_loop, loops)),
        checks=(c_int32 * 2)(*map(len, work.checks)),
        check=((CCheckedIndex * MAX_CHECKED) * 2)(*map(_c_indices, work.checks)),
        slices=work.slices,
        slice=work.slice,
        stored=work.stored,
    )


def _c_loop(loop: Loop) -> CLoop:
    checked = ((c_int32 * MAX_CHECKED)(*factors) for factors in loop.checked)
    return CLoop(
        length=loop.length,
        result=loop.result,
        offset=(c_int64 * 2)(*loop.offset),
        checked=((c_int32 * MAX_CHECKED) * 2)(*checked),
    )


def _c_indices(indices: Sequence[CheckedIndex]) -> Any:
    checked = (
        CCheckedIndex(start=index.start, divisor=index.divisor, length=index.length, stride=index.stride)
        for index in indices
    )
    return (CCheckedIndex * MAX_CHECKED)(*checked)
