"""Comparison of a result with its double-precision reference, in chunks so that memory stays bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ckprof.measure.verify.storage import decode, distances, overflow_of, rounded
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.model.computation import Rounding
from ckprof.model.outcome import DEVICE_REFERENCE, HOST_REFERENCE, Verification

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

    from ckprof.measure.verify.storage import StoredFile
    from ckprof.measure.worker.sampling import Findings
    from ckprof.model.computation import Tolerance
    from ckprof.model.tensor import TensorSpec
    from ckprof.model.types import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class Mismatch:
    """One wrong element."""

    #: position in memory order
    position: int
    got: float
    expected: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultComparison:
    """A verification and what it takes to explain a failed one."""

    #: its ``max_error`` is the largest among finite elements
    verification: Verification
    #: wrong elements that still hold the poison
    unwritten: int
    #: wrong elements that are infinite or NaN, unwritten ones not counted
    non_finite: int
    #: wrong elements that lie between the lines of the result, where nothing may be written
    in_gaps: int
    first: Mismatch | None

    def reason(self, result: TensorSpec) -> str:
        """Return one sentence about a failed comparison, or an empty text.

        :param result: how what was compared lies in memory.
        """
        first = self.first
        if first is None:
            return ""
        seen = self.verification
        details = ""
        if self.unwritten:
            details += f", {self.unwritten} never written"
        if self.non_finite:
            details += f", {self.non_finite} not finite"
        if self.in_gaps:
            details += f", {self.in_gaps} written between the lines of the result"
        expected = "no write" if math.isnan(first.expected) else f"{first.expected:.6g}"
        index = result.index(first.position)
        where = ",".join(f"{axis.lower()}={at}" for axis, at in zip(result.axes, index, strict=True))
        return (
            f"{seen.wrong_elements} of {seen.elements} elements differ "
            f"({100 * seen.wrong_elements / seen.elements:.3g} %{details}), first at [{where}]: "
            f"got {first.got:.6g}, expected {expected}; largest error {seen.max_error:.3g}, "
            f"rtol {seen.rtol:.3g}, atol {seen.atol:.3g}"
        )


def compare(
    chunks: Iterable[NDArray[Any]],
    reference: NDArray[np.float64] | StoredFile,
    dtype: DataType,
    tolerance: Tolerance,
    rounding: Rounding = Rounding.NONE,
    *,
    ocp: bool = True,
) -> ResultComparison:
    """Compare a result with the reference.

    An element passes when it is finite and ``|out - ref| <= atol + rtol * |ref|``, when it is infinite where
    the type holds no number that is near enough, and one in a gap when it is still poisoned.

    :param chunks: stored values of the result in memory order, in pieces of any length.
    :param reference: all elements in the same order, any shape, or the file that holds them; NaN in gaps.
    :param rounding: how the reference is rounded to the type before.
    :param ocp: which variant of the 8-bit floating-point types is meant.
    :raises ValueError: the lengths differ.
    """
    expected_all = reference.reshape(-1)
    tally = _Tally(dtype, tolerance, ocp=ocp)
    for raw in chunks:
        expected = np.asarray(expected_all[tally.position : tally.position + raw.size])
        if expected.size != raw.size:
            raise ValueError(f"the result has more elements than the reference, which has {reference.size}")
        tally.add(raw, rounded(expected, dtype, rounding, ocp=ocp))
    if tally.position != reference.size:
        raise ValueError(f"the result has {tally.position} elements, the reference {reference.size}")
    return tally.comparison()


class _Tally:
    """What is wrong with a result, piece by piece."""

    def __init__(self, dtype: DataType, tolerance: Tolerance, *, ocp: bool) -> None:
        self._dtype = dtype
        self._ocp = ocp
        self._tolerance = tolerance
        #: elements so far
        self.position = 0
        self._wrong = self._unwritten = self._non_finite = self._in_gaps = self._gaps = 0
        self._max_error = 0.0
        self._first: Mismatch | None = None

    def add(self, raw: NDArray[Any], expected: NDArray[np.float64]) -> None:
        """Compare the next elements with what they should be."""
        values = decode(raw, self._dtype, ocp=self._ocp)
        # Infinity minus infinity is NaN and compares false; what is finite is not close to infinity.
        with np.errstate(invalid="ignore"):
            errors = distances(values, expected, self._dtype)
            bounds = self._tolerance.atol + self._tolerance.rtol * np.abs(expected)
            bad = ~(errors <= bounds)
        largest = float(errors.max(initial=0.0))
        count = int(np.count_nonzero(bad))
        if count or not math.isfinite(largest):
            finite, poisoned, gap = np.isfinite(values), _is_poison(raw), np.isnan(expected)
            overflowed = np.isinf(values) & (np.signbit(values) == np.signbit(expected))
            # Of an infinite reference, the bound may be none.
            overflow, sizes = overflow_of(self._dtype), np.abs(expected)
            overflowed &= (sizes >= overflow) | (sizes + bounds >= overflow)
            bad = np.where(gap, ~poisoned, (bad | ~finite) & ~overflowed)
            count = int(np.count_nonzero(bad))
            largest = float(np.max(errors, where=np.isfinite(errors), initial=0.0))
            self._unwritten += int(np.count_nonzero(bad & poisoned))
            self._non_finite += int(np.count_nonzero(~finite & ~poisoned & ~gap & ~overflowed))
            self._in_gaps += int(np.count_nonzero(bad & gap))
            self._gaps += int(np.count_nonzero(gap))
            if count and self._first is None:
                at = int(np.argmax(bad))
                self._first = Mismatch(
                    position=self.position + at, got=float(values[at]), expected=float(expected[at])
                )
        self._max_error = max(self._max_error, largest)
        self._wrong += count
        self.position += raw.size

    def comparison(self) -> ResultComparison:
        """Return what was found."""
        verification = Verification(
            max_error=self._max_error,
            wrong_elements=self._wrong,
            elements=self.position - self._gaps,
            rtol=self._tolerance.rtol,
            atol=self._tolerance.atol,
            reference=HOST_REFERENCE,
        )
        return ResultComparison(
            verification=verification,
            unwritten=self._unwritten,
            non_finite=self._non_finite,
            in_gaps=self._in_gaps,
            first=self._first,
        )


def comparison_of(findings: Findings, elements: int, tolerance: Tolerance) -> ResultComparison:
    """Return what a device has found as what :func:`compare` returns.

    :param elements: of the result, without gaps.
    """
    first = None
    if findings.first is not None:
        first = Mismatch(position=findings.first, got=float(findings.got), expected=float(findings.expected))
    verification = Verification(
        max_error=findings.max_error,
        wrong_elements=findings.wrong,
        elements=elements,
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        reference=DEVICE_REFERENCE,
    )
    return ResultComparison(
        verification=verification,
        unwritten=findings.unwritten,
        non_finite=findings.non_finite,
        in_gaps=findings.in_gaps,
        first=first,
    )


def _is_poison(raw: NDArray[Any]) -> NDArray[np.bool_]:
    rows = raw.reshape(-1, 1).view(np.uint8)
    result: NDArray[np.bool_] = np.all(rows == POISON_BYTE, axis=1)
    return result
