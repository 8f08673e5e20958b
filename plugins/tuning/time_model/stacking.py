"""Sizes and work of many problems as arrays, for formulas that are computed for all of them at once.

NumPy is imported by this module: it is for training and searches only.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ckprof_plugins.tuning.time_model.work import Sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof_plugins.tuning.time_model.work import Work


def stacked(problems: Sequence[Sizes]) -> Sizes:
    """Return the sizes of several problems as arrays."""
    names = Sizes.__dataclass_fields__
    return Sizes(
        **{name: np.array([float(getattr(problem, name)) for problem in problems]) for name in names}
    )


def forms_of(parts: Sequence[tuple[int, slice, Work]]) -> list[tuple[NDArray[np.intp], Work]]:
    """Return (rows, work) for all kernels together whose times have the same terms.

    Few operations on many rows take a fraction of the time of many operations on few.
    """
    forms: dict[tuple[bool, ...], list[tuple[slice, Work]]] = {}
    for _, rows, done in parts:
        form = (done.rounds is None, isinstance(done.extra_bytes, float), done.splits, done.runs is None)
        forms.setdefault(form, []).append((rows, done))
    return [
        (
            np.concatenate([np.arange(rows.start, rows.stop) for rows, _ in members]),
            _joined([done for _, done in members], [rows.stop - rows.start for rows, _ in members]),
        )
        for members in forms.values()
    ]


def _joined(records: Sequence[Any], counts: Sequence[int]) -> Any:
    """Return one record of several ones of the same form, whose values become arrays."""
    values: dict[str, Any] = {}
    for field in fields(records[0]):
        parts = [getattr(record, field.name) for record in records]
        first = parts[0]
        if first is None or isinstance(first, bool):
            values[field.name] = first
        elif field.name == "runs":
            values[field.name] = _joined(parts, counts)
        elif field.name == "extra_bytes" and isinstance(first, float):
            values[field.name] = first
        else:
            rows = [np.broadcast_to(part, count) for part, count in zip(parts, counts, strict=True)]
            values[field.name] = np.concatenate(rows).astype(float)
    return type(records[0])(**values)
