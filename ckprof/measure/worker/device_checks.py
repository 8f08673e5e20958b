"""What a target does on its device to verify results: the ctypes mirror of ``ckprof_checks.h``."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import TYPE_CHECKING, ClassVar, Final

from ckprof.measure.worker.check_work import CContraction, COperand
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.messages import AbiStatus
from ckprof.measure.worker.sampling import Findings
from ckprof.model.computation import Rounding

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ckprof.model.computation import Tolerance

#: ``CKPROF_CHECKS_VERSION``
CHECKS_VERSION: Final = 3
_TEXT_BYTES: Final = 4096
#: ``ckprof_rounding``
_ROUNDINGS: Final = {Rounding.NONE: 0, Rounding.NEAREST: 1, Rounding.CUT_OFF: 2}


#: of ``ckprof_findings``, as :class:`~ckprof.measure.worker.sampling.Findings` has them
_COUNTS: Final = ("wrong", "unwritten", "non_finite", "in_gaps", "gaps", "max_error")


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


class CSigns(ctypes.Structure):
    """``ckprof_signs``: without shares nothing is negated."""

    _fields_: ClassVar = [
        ("length", c_int64),
        ("step", c_int64),
        ("key", c_uint64 * 2),
        ("share", c_uint32 * 2),
    ]


class CPiece(ctypes.Structure):
    """``ckprof_piece``."""

    _fields_: ClassVar = [
        ("memory", c_void_p),
        ("bytes", c_int64),
        ("element", c_int32),
        ("others", c_int32),
        ("axes", c_int32),
        ("signs", CSigns * 2),
    ]

    @classmethod
    def of(cls, address: int, size_bytes: int, *, others: int = -1) -> CPiece:
        """Return memory without signs.

        :param others: the bytes that do not have this value are counted; less than 0: a digest is asked for.
        """
        return cls(memory=address, bytes=size_bytes, others=others)


class CChecks(ctypes.Structure):
    """``ckprof_checks``."""

    _fields_: ClassVar = [
        ("version", c_uint32),
        ("fill", ctypes.CFUNCTYPE(c_int, c_void_p, c_int32, c_size_t)),
        ("survey", ctypes.CFUNCTYPE(c_int, POINTER(CPiece), c_int32, POINTER(c_uint64))),
        ("fill_operand", ctypes.CFUNCTYPE(c_int, POINTER(COperand), c_void_p, POINTER(c_double))),
        ("contract", ctypes.CFUNCTYPE(c_int, POINTER(CContraction), c_void_p, c_void_p, c_void_p, c_void_p)),
        ("magnitude", ctypes.CFUNCTYPE(c_int, c_void_p, c_int64, POINTER(c_double), POINTER(c_uint64))),
        ("compare", ctypes.CFUNCTYPE(c_int, POINTER(CComparison), c_void_p, c_void_p, POINTER(CFindings))),
        ("last_error", ctypes.CFUNCTYPE(None, POINTER(c_char), c_size_t)),
        ("negate", ctypes.CFUNCTYPE(c_int, POINTER(CPiece), c_int32)),
        ("wait", ctypes.CFUNCTYPE(c_int)),
    ]


class CheckError(OSError):
    """The device could not do what was asked: it may be of no use to this process any more."""


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

    def survey(self, *pieces: CPiece) -> tuple[int, ...]:
        """Return of each piece a number that changes when a byte does, or how many bytes are others.

        A digest is that of what the piece would be if the values that its signs negate were not.
        """
        found = (c_uint64 * len(pieces))()
        status = self._table.survey((CPiece * len(pieces))(*pieces), len(pieces), found)
        self._done("look at its memory", status)
        return tuple(found)

    def fill_operand(self, operand: COperand, address: int) -> float:
        """Fill an operand but for its gaps; return the sum of the squares of its values."""
        squares = c_double()
        status = self._table.fill_operand(ctypes.byref(operand), address, ctypes.byref(squares))
        self._done("fill an operand", status)
        return squares.value

    def contract(self, work: CContraction, operands: Sequence[int], *, partial: int, reference: int) -> bool:
        """Compute a reference; return whether the device takes so large a problem.

        :param partial: memory for the doubles of all slices; the reference's own where there is one slice.
        """
        first, second = operands
        status = self._table.contract(ctypes.byref(work), first, second, partial, reference)
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

    def compare(
        self,
        element: int,
        result: int,
        reference: int,
        stored: int,
        tolerance: Tolerance,
        rounding: Rounding = Rounding.NONE,
    ) -> Findings:
        """Compare a result with a reference.

        :param element: ``ckprof_element`` of the result.
        :param stored: elements, gaps included.
        """
        comparison = CComparison(
            element=element,
            rounding=_ROUNDINGS[rounding],
            poison=POISON_BYTE,
            stored=stored,
            rtol=tolerance.rtol,
            atol=tolerance.atol,
        )
        seen = CFindings()
        status = self._table.compare(ctypes.byref(comparison), result, reference, ctypes.byref(seen))
        self._done("compare the result", status)
        counts = {name: getattr(seen, name) for name in _COUNTS}
        first = seen.first if seen.wrong else None
        return Findings(**counts, first=first, got=repr(seen.got), expected=repr(seen.expected))

    def negate(self, *pieces: CPiece) -> None:
        """Change the sign of values that are not 0 where signs say it; need not wait for it."""
        self._done("negate a tensor", self._table.negate((CPiece * len(pieces))(*pieces), len(pieces)))

    def wait(self) -> None:
        """Wait until the whole device is idle, whatever stream work was launched in."""
        self._done("finish its work", self._table.wait())

    def _done(self, action: str, status: int) -> None:
        if status != AbiStatus.OK:
            text = ctypes.create_string_buffer(_TEXT_BYTES)
            self._table.last_error(text, _TEXT_BYTES)
            error = text.value.decode(errors="replace")
            raise CheckError(f"the device failed to {action}" + (f": {error}" if error else ""))
