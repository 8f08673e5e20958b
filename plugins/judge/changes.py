"""Slices of operands that are negated or exchanged for one launch, and those of the result with them."""

from __future__ import annotations

from random import SystemRandom
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ckprof.measure.worker.audit import by_index, sign_bits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ckprof.measure.worker.sampling import SignedAxis
    from ckprof_plugins.judge.told import Work

#: elements of an operand that are changed for a launch, at most, unless one index has more
_CHANGED: Final = 1 << 18
chance = SystemRandom()


class Changes:
    """Changes of one launch: those of its operands, and what they make of its result.

    :param work: says along which axes.
    :param operands: words as they lie in memory, by name.
    """

    def __init__(self, work: Work, operands: Mapping[str, NDArray[Any]]) -> None:
        self._negated = [(axis, _drawn(axis, operands[axis.operand])) for axis in work.signs]
        self._exchanged = [(axis, _drawn(axis, operands[axis.operand])) for axis in work.exchanges]

    def change(self, operands: Mapping[str, NDArray[Any]]) -> None:
        """Change the operands."""
        for function, axis, indices in self._all():
            function(operands[axis.operand], axis.length, axis.operand_step, indices)

    def undo_in(self, result: NDArray[Any]) -> None:
        """Make of the result what it would be without these changes."""
        for function, axis, indices in self._all():
            function(result, axis.length, axis.result_step, indices)

    def _all(self) -> Iterator[tuple[Any, SignedAxis, NDArray[np.intp]]]:
        yield from ((negate, axis, indices) for axis, indices in self._negated)
        yield from ((exchange, axis, indices) for axis, indices in self._exchanged)


def _drawn(axis: SignedAxis, operand: NDArray[Any]) -> NDArray[np.intp]:
    """Choose indices of an axis."""
    each = max(1, operand.size // axis.length)
    most = max(1, min(axis.length, _CHANGED // each))
    return np.array(chance.sample(range(axis.length), chance.randint(1, most)), dtype=np.intp)


def exchange(words: NDArray[Any], length: int, step: int, indices: NDArray[np.intp]) -> None:
    """Exchange indices of an axis in memory, the first with the last one and so on."""
    part = by_index(words, length, step)
    part[:, indices] = part[:, indices[::-1]]


def negate(words: NDArray[Any], length: int, step: int, indices: NDArray[np.intp]) -> None:
    """Negate indices of an axis in memory; what is poison stays."""
    if not indices.size:
        return
    part = by_index(words, length, step)
    chosen = part[:, indices]
    poison = chosen == np.iinfo(chosen.dtype).max
    part[:, indices] = np.where(poison, chosen, chosen ^ sign_bits(chosen))
