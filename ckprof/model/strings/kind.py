"""A kind of instance string: the name of a kernel class and the fields after it, each with its spelling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.parity import Loss
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.model.strings.fields import Field


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StringKind:
    """The fields of the texts ``Name<field,field,...>`` that one class of kernels prints.

    Revision profiles (:mod:`ckprof.model.strings.revision`) say which of the fields a revision prints, and
    how.

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


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedString:
    """What the kernel that is generated for a line of a list prints, by what the line says."""

    text: str
    #: what the line says and the kernel does not have
    losses: tuple[Loss, ...] = ()
    #: why no kernel is generated
    skipped: UnmetRequirement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """A line, and what the list says for all of its lines."""

    #: normal spelling of each field that the line has
    values: Mapping[str, str | None]
    #: names of layout and type of the elements; empty if they are not known
    layout: str
    dtype: str
    #: least K of the MMA tiles of the half types, (for 32-wide, for all others)
    mma_k_table: tuple[int, int]


@runtime_checkable
class Spelling(Protocol):
    """How the strings of a kind are written, of lists and of kernels alike."""

    def recognises(self, text: str) -> bool:
        """Say whether a text is meant to be one of these strings; must be quick."""

    def read(self, text: str) -> Mapping[str, str | None]:
        """Return the normal spelling of each field, ``None`` for those that the text does not say.

        :raises StringError: it is spelled wrong.
        """

    def write(self, values: Mapping[str, str | None]) -> str:
        """Return the text of a kernel with these fields, else that of a list.

        :raises StringError: it takes more fields.
        """

    def generated(self, request: GenerationRequest) -> GeneratedString:
        """Return what is generated for a line.

        It must not be derived by the converter that the comparison is to prove.

        :raises StringError: the line's fields contradict each other, or the list does not say enough.
        """
