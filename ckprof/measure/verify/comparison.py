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
    expected_all = reference.ravel()
    position = wrong = unwritten = non_finite = in_gaps = gaps = 0
    max_error, first, got, wanted = 0.0, None, 0.0, 0.0
    for raw in chunks:
        expected = np.asarray(expected_all[position : position + raw.size])
        if expected.size != raw.size:
            raise ValueError(f"the result has more elements than the reference, which has {reference.size}")
        expected = rounded(expected, dtype, rounding, ocp=ocp)
        values = decode(raw, dtype, ocp=ocp)
        # Infinity minus infinity is NaN and compares false; what is finite is not close to infinity.
        with np.errstate(invalid="ignore"):
            errors = distances(values, expected, dtype)
            bounds = tolerance.atol + tolerance.rtol * np.abs(expected)
            bad = ~(errors <= bounds)
        largest = float(errors.max(initial=0.0))
        count = int(np.count_nonzero(bad))
        if count or not math.isfinite(largest):
            finite, poisoned, gap = np.isfinite(values), _is_poison(raw), np.isnan(expected)
            overflowed = np.isinf(values) & (np.signbit(values) == np.signbit(expected))
            # Of an infinite reference, the bound may be none.
            overflow, sizes = overflow_of(dtype), np.abs(expected)
            overflowed &= (sizes >= overflow) | (sizes + bounds >= overflow)
            bad = np.where(gap, ~poisoned, (bad | ~finite) & ~overflowed)
            count = int(np.count_nonzero(bad))
            largest = float(np.max(errors, where=np.isfinite(errors), initial=0.0))
            unwritten += int(np.count_nonzero(bad & poisoned))
            non_finite += int(np.count_nonzero(bad & ~(finite | poisoned | gap)))
            in_gaps += int(np.count_nonzero(bad & gap))
            gaps += int(np.count_nonzero(gap))
            if count and first is None:
                at = int(np.argmax(bad))
                first, got, wanted = position + at, float(values[at]), float(expected[at])
        max_error = max(max_error, largest)
        wrong += count
        position += raw.size
    if position != reference.size:
        raise ValueError(f"the result has {position} elements, the reference {reference.size}")
    return Findings(
        wrong=wrong,
        unwritten=unwritten,
        non_finite=non_finite,
        in_gaps=in_gaps,
        gaps=gaps,
        first=first,
        max_error=max_error,
        got=repr(got),
        expected=repr(wanted),
    )


def _is_poison(raw: NDArray[Any]) -> NDArray[np.bool_]:
    rows = raw[:, None].view(np.uint8)
    result: NDArray[np.bool_] = np.all(rows == POISON_BYTE, axis=1)
    return result
