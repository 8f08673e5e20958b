"""A kind of instance string: the name of a kernel class and the fields behind it, each with its spelling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckprof.strings.fields import Field
    from ckprof.strings.spelling import Spelling


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StringKind:
    """The fields of the texts ``Name<field,field,...>`` that one class of kernels prints.

    Revision profiles (:mod:`ckprof.strings.revision`) say which of the fields a revision prints, and how.

    :param id: unique lower-case name.
    :param title: a few words for messages.
    :param name: the text in front of ``<``.
    :param direction: id of the direction that the kernels belong to.
    :param fields: all fields that any revision prints, in order.
    :param literals: fields whose text is fixed and tells the kind from others of the same name.
    :param only_if: field -> flag of the same kind that must be true for the field to be printed.
    :param fixed: values of fields that do not vary among the kernels that ckprof generates.
    :param other_names: further names, of lists, with the same fields.
    :param spelling: how strings are written that are not ``Name<field,field,...>``.
    """

    id: str
    title: str
    name: str
    fields: tuple[Field, ...]
    direction: str = ""
    literals: Mapping[str, str] = field(default_factory=dict)
    only_if: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    other_names: tuple[str, ...] = ()
    spelling: Spelling | None = None

    @property
    def field_names(self) -> tuple[str, ...]:
        """The names of the fields in order."""
        return tuple(item.name for item in self.fields)


@dataclass(frozen=True, slots=True)
class ParsedString:
    """An instance string, taken apart and normalised.

    Equal strings in different spellings, or of revisions that differ only in fields that say nothing, are
    equal. Two instances of this class are equal if kind and values are.
    """

    kind_id: str
    #: normal spelling of each field of the kind; ``None`` for one that does not apply
    values: tuple[str | None, ...]
