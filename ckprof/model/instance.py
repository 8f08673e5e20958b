"""What every kernel configuration has in common; the rest belongs to its pipeline plugin."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from enum import Enum
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, cast

import msgspec

from ckprof.errors import PluginError
from ckprof.model.types import SplitSum, TypeSet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType


class _Remembered:
    """A place for what is computed from the fields; no field itself, so neither compared nor shown."""

    __slots__ = ("_key",)

    _key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance(_Remembered):
    """One kernel configuration.

    A pipeline plugin derives its own frozen, slotted, keyword-only dataclass and sets ``pipeline`` to its id.
    Every field that its constructor takes, except ``id``, takes part in the identity.
    """

    #: id of the pipeline plugin that owns the class
    pipeline: ClassVar[str]

    #: how the kernel adds up the parts of a split reduction; a family that rounds only once says so
    split_sum: ClassVar[SplitSum] = SplitSum.RESULT_TYPE

    #: second name of a field of :meth:`fields` -> the field; for people who know the catalogs' spelling
    field_aliases: ClassVar[Mapping[str, str]] = {}

    #: second spelling of a value of a field -> the value, which filters take it for
    value_aliases: ClassVar[Mapping[str, str]] = {}

    #: fields that part of the instances have; ``None`` in all others, whose identity does not mention them
    optional_fields: ClassVar[frozenset[str]] = frozenset()

    #: id of the record in its catalog; for people, not part of the identity
    id: int
    #: id of the operation
    direction: str
    #: number of spatial dimensions, 0 for operations that have none
    ndim: int
    layout: Layout
    #: element type of the operands
    dtype: DataType

    @property
    def types(self) -> TypeSet:
        """Types of all tensors and of the sums; a family with several says so."""
        return TypeSet.shared(self.dtype)

    @property
    def preparation(self) -> tuple[str, bool]:
        """What its launcher does around the kernel, for tables, and whether that is part of the time."""
        return "", True

    @property
    def key(self) -> str:
        """Content hash over the pipeline id and all fields but ``id``: 32 hexadecimal digits.

        :raises PluginError: a field of the family's class has no form in JSON.
        """
        try:
            return self._key
        except AttributeError:
            pass
        try:
            text = msgspec.json.encode(self.identity(), order="sorted")
        except (TypeError, msgspec.MsgspecError) as error:
            raise PluginError(
                f"pipeline {self.pipeline!r}: a field of {type(self).__name__} has no form in JSON: {error}"
            ) from error
        key = hashlib.blake2b(text, digest_size=16).hexdigest()
        object.__setattr__(self, "_key", key)  # of a frozen class; it depends on nothing that can change
        return key

    def fields(self) -> dict[str, int | str | bool | None]:
        """Return the fields of :meth:`identity` without nesting: ``tile_m`` is the ``m`` of ``tile``.

        A layout is given by its name.
        """
        values: dict[str, int | str | bool | None] = {}
        for name, value in self.identity().items():
            if name == "layout":
                values[name] = self.layout.name
            elif isinstance(value, dict):
                values.update({f"{name}_{inner}": part for inner, part in value.items()})
            else:
                values[name] = cast("int | str | bool | None", value)
        return values

    def derived_fields(self) -> dict[str, int | str | bool | None]:
        """Return what follows from the fields and programs ask of a library's kernels; empty for most."""
        return {}

    def identity(self) -> dict[str, object]:
        """Return the fields that distinguish two instances as plain JSON values."""
        values: dict[str, object] = {"pipeline": self.pipeline}
        kind: Any = type(self)
        for name in _identity_fields(kind):
            value = getattr(self, name)
            if value is None and name in kind.optional_fields:
                continue
            values[name] = value if type(value) in _PLAIN_TYPES else _plain(value)
        return values


_PLAIN_TYPES = frozenset({int, str, bool, float, type(None)})


@cache
def _identity_fields(kind: type[Instance]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind) if field.init and field.name != "id")


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # most instances of a list share their parts
        part: Any = value
        return dict(_plain_part(part) if part.__hash__ is not None else _plain_fields(part))
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _plain_fields(value: Any) -> dict[str, object]:
    return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}


_plain_part = lru_cache(maxsize=1024)(_plain_fields)
