"""What lines say and catalogs have no place for: one table for the converter and for CK Builder's reader."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.parity import Loss
from ckprof.model.types import SHARED_TYPES, ComputeType, TypeSet, accumulator_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ckprof.model.types import DataType

_COMPUTE_TYPE: Final = "compute_type_"
_ACCUMULATOR: Final = "type_accumulator"
_RESULT: Final = "type_result"
_NAMES: Final = frozenset({_ACCUMULATOR, _RESULT})
#: fields that decide what is lost, beside those that it is lost of
_ASKED: Final = (f"{_COMPUTE_TYPE}a", f"{_COMPUTE_TYPE}b", "compute_type", "type_b")

#: compute type of a line, where catalogs have a word for it -> type of the operands
_MADE_FROM: Final = MappingProxyType({kind.value: kind.properties.operands for kind in ComputeType})


@dataclass(frozen=True, slots=True)
class LostField:
    """A field of a line whose value no catalog can hold."""

    #: stable id
    rule: str
    #: name of the field
    field: str
    #: what the line says, for messages
    said: str
    #: what the generated kernel has instead, as strings spell it
    kept: str

    @property
    def loss(self) -> Loss:
        """The same for comparisons of strings."""
        return Loss(rule=self.rule, reason=f"catalogs have no place for {self.said}")


def fields_apart(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of a line's fields that say something which its record may not be able to hold."""
    return tuple(name for name in names if name.startswith(_COMPUTE_TYPE) or name in _NAMES)


def compute_type_of(first: str, second: str, dtype: DataType | None) -> str | None:
    """Return what a catalog says of the types in which products are computed; ``None`` for nothing."""
    made_from = _MADE_FROM.get(first)
    return first if first == second and made_from is not None and dtype is made_from else None


def lost_fields(
    names: Iterable[str], values: Mapping[str, Any], dtype: DataType | None, *, two_stage: bool
) -> tuple[LostField, ...]:
    """Return what a line says that its record does not.

    :param names: those of :func:`fields_apart`.
    :param values: of the line, by the names of its fields.
    :param dtype: of the operands; ``None`` if nothing says it.
    :param two_stage: the generated kernel has a second stage, so that its first one stores fp32.
    """
    if dtype is None:
        return ()
    names = tuple(names)
    said = tuple((name, values[name]) for name in (*names, *_ASKED) if name in values)
    return _lost_of(names, said, dtype, two_stage)


# lines of a list say few different things of their types
@lru_cache(maxsize=1024)
def _lost_of(
    names: tuple[str, ...], said: tuple[tuple[str, Any], ...], dtype: DataType, two_stage: bool
) -> tuple[LostField, ...]:
    return tuple(_lost(names, dict(said), dtype, two_stage=two_stage))


def _lost(
    names: Iterable[str], values: Mapping[str, Any], dtype: DataType, *, two_stage: bool
) -> Iterator[LostField]:
    for name in names:
        said = values.get(name)
        if said is None:
            continue
        if name.startswith(_COMPUTE_TYPE):
            first, second = (values.get(f"{_COMPUTE_TYPE}{letter}", dtype.spelled) for letter in "ab")
            own = values.get("type_b") if name.endswith("b") and dtype not in SHARED_TYPES else None
            own = own or dtype.spelled
            kept = values.get("compute_type") or compute_type_of(first, second, dtype) or own
            if said not in (own, kept):
                yield LostField("compute-type", name, f"{name} {said} of {own} operands", kept)
        elif dtype in SHARED_TYPES:
            shared = TypeSet.shared(dtype)
            kept = (shared.acc if name == _ACCUMULATOR or two_stage else shared.result).value
            if said not in (kept, shared.result.value if name == _RESULT else kept):
                rule = "accumulator" if name == _ACCUMULATOR else "result-type"
                yield LostField(rule, name, f"{name} {said} of {dtype.value} operands", kept)
        elif name == _ACCUMULATOR and said != (kept := accumulator_of(dtype).spelled):
            yield LostField("accumulator", name, f"{name} {said} of {dtype.value} operands", kept)
