"""How many digits results lose that tuned rows ask for."""

from __future__ import annotations

from typing import Final

from ckprof.measure.verify.tolerance import Sums, derive_tolerance, spacing
from ckprof.model.types import DataType

#: types of results in which sums lose digits that anyone would miss
_SHORT: Final = (DataType.FP16, DataType.BF16)
#: of a sum of products, in its standard deviations: a large one
_MAGNITUDE: Final = 6.0
#: times the error of a single split, from which on a row is remarkable
_GROWTH: Final = 8.0


def lost_digits(dtype: str, splits: int, length: int) -> str:
    """Return how far splits are off that are added up in the type of the result; empty where it is little.

    The bounds are those that verification allows a right kernel
    (:func:`ckprof.measure.verify.tolerance.derive_tolerance`), in units in the last place of a large result.

    :param dtype: of the result.
    :param length: products accumulated into one element.
    """
    kind = next((one for one in _SHORT if one.value == dtype), None)
    if kind is None or splits < 2:
        return ""

    def units(parts: int) -> float:
        sums = Sums(reduction_length=length, magnitude=_MAGNITUDE, deviation=1.0)
        bound = derive_tolerance(kind, sums, split_k=parts)
        return (bound.atol + bound.rtol * _MAGNITUDE) / spacing(kind, _MAGNITUDE)

    alone, together = units(1), units(splits)
    if together < _GROWTH * alone:
        return ""
    return (
        f"{splits} splits are added up in {dtype}: results may be off by {together:.2g} units in the last "
        f"place, by {alone:.2g} without splits"
    )
