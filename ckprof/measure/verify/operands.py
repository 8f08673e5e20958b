"""Values of the operands: seeded, independent of layout, representable in the data type.

Random numbers are had by their number, the n-th one without those before it, anywhere alike. The generator is
that of ``ckprof_check_elements.hpp``: the finaliser of splitmix64 (Steele, Lea and Flood, "Fast splittable
pseudorandom number generators", 2014) of a key and a counter.

numpy is imported where it is used: command lines offer the kinds of values without it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.tensor import TensorSpec
    from ckprof.model.types import DataType


_MASK: Final = 2**64 - 1
_STEP: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB


def _mixed(value: int) -> int:
    value &= _MASK
    value = ((value ^ (value >> 30)) * _FIRST) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND) & _MASK
    return value ^ (value >> 31)


def stream_key(seed: int, stream: int) -> int:
    """Return the key of one of the streams of a seed, 64 bits.

    :param stream: from 0; streams have nothing in common.
    """
    return _mixed(_mixed(seed) + (stream + 1) * _STEP)


def random_words(key: int, numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the random 64-bit words with these numbers; overwrites ``numbers``."""
    import numpy as np

    words = numbers
    words += np.uint64(1)
    words *= np.uint64(_STEP)
    words += np.uint64(key)
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
    return words


class InitKind(Enum):
    """What the operands are filled with."""

    #: all zero: the result must be exactly zero
    ZEROS = "zeros"
    #: integers from -5 to 4
    INTEGER = "integer"
    #: what is given to the operation from 0 to 1, what it learns and gradients from -0.5 to 0.5; as
    #: ``INTEGER`` in tensors of integers
    DECIMAL = "decimal"
    #: -1, 0 and 1, so few of them not 0 that every sum is exact in every type, however it is split
    EXACT = "exact"

    @property
    def is_drawn(self) -> bool:
        """True where the seed decides the values."""
        return self is not InitKind.ZEROS


#: products that are not 0 in one element of a result of exact operands, on average; sums of up to 256 of them
#: are exact in bf16, which is 24 standard deviations more
_EXACT_TERMS: Final = 64
#: decimals are multiples of one part in so many
_FRACTIONS: Final = 2**24
#: elements drawn at a time: what is computed of them stays in the caches
_CHUNK: Final = 2**16
#: random bits that say whether an integer is left as it is
_KEPT: Final = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class Integers:
    """Integers as an operand holds them, and what is made of them."""

    #: the least one, and how many there are
    lowest: int = -5
    count: int = 10
    #: share of elements that are not made 0
    share: float = 1.0
    #: each is multiplied by a power of two whose exponent is that of the scale ...
    exponent: int = 0
    #: ... plus, or minus, the element's index along an axis modulo a period; no axis: the index is 0
    axis: str = ""
    direction: int = 1
    period: int = 1
    #: no magnitude exceeds that
    largest: float = math.inf
    #: the last place of numbers in fp32 is taken off their magnitudes
    less: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandValues:
    """What operands are filled with."""

    kind: InitKind
    seed: int
    #: products accumulated into one element of the result
    reduction_length: int
    #: name of an operand -> its integers, where they are none of :attr:`InitKind.INTEGER`
    integers: Mapping[str, Integers] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How the values of one operand come from random words, the same on the host and on devices."""

    kind: InitKind
    #: of the operand's own stream of random words: no operand depends on the size of another one
    key: int
    #: added to decimals
    lowest: float
    #: of :attr:`InitKind.EXACT`: words whose upper 24 bits are less than this are 1 ...
    low: int
    #: ... and from this on -1
    high: int
    #: of :attr:`InitKind.INTEGER`
    integers: Integers
    #: the lower half of a word from which on an integer is made 0
    kept: int
    #: elements from index to index along the axis of the integers, as they are numbered, and its length
    step: int
    length: int
    #: values lose their signs, and none is less, but for those of :attr:`InitKind.ZEROS`; 0: they keep them
    least: float = 0.0

    @classmethod
    def of(cls, spec: TensorSpec, dtype: DataType, wanted: OperandValues) -> Drawing:
        """Return how an operand is drawn."""
        kind = wanted.kind
        if kind is InitKind.DECIMAL and dtype.properties.is_integer:
            kind = InitKind.INTEGER
        # Both operands are not 0 at that share of all places.
        share = math.sqrt(min(1.0, _EXACT_TERMS / wanted.reduction_length))
        low = math.ceil(share / 2 * _FRACTIONS)
        integers = (wanted.integers or {}).get(spec.name, Integers())
        lengths = dict(zip(spec.axes, spec.shape, strict=True))
        inner = spec.drawing_order[spec.drawing_order.find(integers.axis) + 1 :] if integers.axis else ""
        return cls(
            kind=kind,
            key=stream_key(wanted.seed, spec.position),
            lowest=spec.lowest_decimal,
            low=low,
            high=_FRACTIONS - low,
            integers=integers,
            kept=math.ceil(integers.share * _KEPT),
            step=math.prod(lengths[axis] for axis in inner),
            length=lengths.get(integers.axis, 1),
            least=spec.least if kind is not InitKind.ZEROS else 0.0,
        )

    def values(self, numbers: NDArray[np.uint64]) -> NDArray[np.float32]:
        """Return the values of the elements with these numbers; may overwrite ``numbers``."""
        import numpy as np

        drawn = self._drawn(numbers)
        return np.maximum(np.abs(drawn), np.float32(self.least)) if self.least else drawn

    def _drawn(self, numbers: NDArray[np.uint64]) -> NDArray[np.float32]:
        import numpy as np

        if self.kind is InitKind.ZEROS:
            return np.zeros(numbers.shape, dtype=np.float32)
        if self.kind is InitKind.INTEGER:
            return self._integers(numbers)
        fractions = random_words(self.key, numbers) >> np.uint64(40)
        if self.kind is InitKind.EXACT:
            signs: NDArray[np.float32] = (fractions < self.low).astype(np.float32)
            signs -= fractions >= self.high
            return signs
        decimals: NDArray[np.float32] = fractions.astype(np.float32)
        decimals *= np.float32(1 / _FRACTIONS)
        decimals += np.float32(self.lowest)
        return decimals

    def _integers(self, numbers: NDArray[np.uint64]) -> NDArray[np.float32]:
        import numpy as np

        integers = self.integers
        scale = None
        if integers.period > 1:
            indices = numbers // np.uint64(self.step) % np.uint64(self.length) % np.uint64(integers.period)
            scale = integers.exponent + integers.direction * indices.astype(np.int32)
        words = random_words(self.key, numbers)
        upper = (words >> np.uint64(32)) * np.uint64(integers.count)
        values: NDArray[np.float32] = (upper >> np.uint64(32)).astype(np.float32)
        values += np.float32(integers.lowest)
        if self.kept < _KEPT:
            values[(words & np.uint64(_KEPT - 1)) >= np.uint64(self.kept)] = 0
        if scale is not None:
            values = np.ldexp(values, scale)
        if math.isfinite(integers.largest):
            np.clip(values, -integers.largest, integers.largest, out=values)
        if integers.less:
            bits = values.view(np.uint32)
            bits -= values != 0
        return values


def make_operand(
    spec: TensorSpec, dtype: DataType, wanted: OperandValues, *, ocp: bool = True
) -> NDArray[Any]:
    """Return the values of one operand as stored, in the memory order of its layout, without gaps.

    The same sizes and wanted values give the same value to the same logical element in every layout, so that
    results of different layouts can be compared.

    :param ocp: which variant of the 8-bit floating-point types is meant.
    :returns: a C-contiguous array of the data type's storage type.
    """
    import numpy as np

    from ckprof.measure.verify.storage import encode

    lengths = dict(zip(spec.axes, spec.shape, strict=True))
    drawing = Drawing.of(spec, dtype, wanted)
    values = np.empty(math.prod(spec.shape), dtype=np.float32)
    for start in range(0, values.size, _CHUNK):
        part = values[start : start + _CHUNK]
        part[...] = drawing.values(np.arange(start, start + part.size, dtype=np.uint64))
    stored = encode(values.reshape([lengths[axis] for axis in spec.drawing_order]), dtype, ocp=ocp)
    del values  # as large as the tensor
    return np.ascontiguousarray(stored.transpose([spec.drawing_order.index(axis) for axis in spec.axes]))
