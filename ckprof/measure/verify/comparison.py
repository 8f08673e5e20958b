"""Comparison of a result with its double-precision reference, in chunks so that memory stays bounded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ckprof.measure.verify.storage import decode, distances, overflow_of, rounded
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.sampling import Findings
from ckprof.model.computation import Rounding
from ckprof.model.outcome import Verification

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

    from ckprof.measure.verify.storage import StoredFile
    from ckprof.model.computation import Tolerance
    from ckprof.model.tensor import TensorSpec
    from ckprof.model.types import DataType


def verification_of(findings: Findings, elements: int, tolerance: Tolerance, reference: str) -> Verification:
    """Return what a comparison says of a result.

    :param elements: of the result, without gaps.
    :param reference: where it was computed.
    """
    return Verification(
        max_error=findings.max_error,
        wrong_elements=findings.wrong,
        elements=elements,
        rtol=tolerance.rtol,
        atol=tolerance.atol,
        reference=reference,
    )


def reason_of(findings: Findings, seen: Verification, result: TensorSpec) -> str:
    """Return one sentence about a failed comparison, or an empty text.

    :param seen: its verification.
    :param result: how what was compared lies in memory.
    """
    if findings.first is None:
        return ""
    details = ""
    if findings.unwritten:
        details += f", {findings.unwritten} never written"
    if findings.non_finite:
        details += f", {findings.non_finite} not finite"
    if findings.in_gaps:
        details += f", {findings.in_gaps} written between the lines of the result"
    wanted = float(findings.expected)
    expected = "no write" if math.isnan(wanted) else f"{wanted:.6g}"
    index = result.index(findings.first)
    where = ",".join(f"{axis.lower()}={at}" for axis, at in zip(result.axes, index, strict=True))
    return (
        f"{seen.wrong_elements} of {seen.elements} elements differ "
        f"({100 * seen.wrong_elements / seen.elements:.3g} %{details}), first at [{where}]: "
        f"got {float(findings.got):.6g}, expected {expected}; largest error {seen.max_error:.3g}, "
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
) -> Findings:
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
    return tally.findings()


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
        self._first: int | None = None
        self._got = self._expected = 0.0

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
                self._first = self.position + at
                self._got, self._expected = float(values[at]), float(expected[at])
        self._max_error = max(self._max_error, largest)
        self._wrong += count
        self.position += raw.size

    def findings(self) -> Findings:
        """Return what was found."""
        return Findings(
            wrong=self._wrong,
            unwritten=self._unwritten,
            non_finite=self._non_finite,
            in_gaps=self._in_gaps,
            gaps=self._gaps,
            first=self._first,
            max_error=self._max_error,
            got=repr(self._got),
            expected=repr(self._expected),
        )


def _is_poison(raw: NDArray[Any]) -> NDArray[np.bool_]:
    rows = raw.reshape(-1, 1).view(np.uint8)
    result: NDArray[np.bool_] = np.all(rows == POISON_BYTE, axis=1)
    return result
