"""A kind of instance string: the name of a kernel class and the fields after it, each with its spelling.

Revision profiles, ``revisions.json`` next to this module, say which fields the strings of a revision of
Composable Kernel have, and how they spell flags.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

import msgspec

from ckprof.errors import UsageError

if TYPE_CHECKING:
    from ckprof.model.parity import Loss
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.model.strings.fields import Field


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StringKind:
    """The fields of the texts ``Name<field,field,...>`` that one class of kernels prints.

    Revision profiles (:mod:`ckprof.model.strings.kind`) say which of the fields a revision prints, and
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

    def generated(
        self,
        values: Mapping[str, str | None],
        *,
        layout: str,
        dtype: str,
        mma_k_table: tuple[int, int],
    ) -> tuple[str, tuple[Loss, ...], UnmetRequirement | None]:
        """Return what the kernel prints that is generated for a line of a list, by what the line says.

        After the text come what the line says and the kernel does not have, and why no kernel is generated.
        It must not be derived by the converter that the comparison is to prove.

        :param values: normal spelling of each field that the line has.
        :param layout: name; empty if it is not known.
        :param dtype: the same of the type of the elements.
        :param mma_k_table: least K of the MMA tiles of the half types, (for 32-wide, for all others).
        :raises StringError: the line's fields contradict each other, or the list does not say enough.
        """


#: stands for all kinds in ``flag_words``
_ALL_KINDS = "*"


class Revision(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True, kw_only=True):
    """The profile of one revision.

    The flags of CK Tile's kernels, and all that ``flag_words`` does not name, are printed as 0 and 1.
    """

    #: month from which strings look like this
    name: str
    #: a few words for help texts
    note: str
    #: kind id -> field that the revision does not print -> the value that its absence stands for
    absent: dict[str, dict[str, str]]
    #: kind id, or ``*`` -> flags that the revision prints as ``true`` and ``false``
    flag_words: dict[str, list[str]]

    def absent_fields(self, kind: StringKind) -> dict[str, str]:
        """Return field -> implied value for the fields that the revision does not print."""
        return self.absent.get(kind.id, {})

    def spells_flag_as_word(self, kind: StringKind, field: str) -> bool:
        """Say whether a flag is printed as ``true`` or ``false``."""
        words = self.flag_words
        return field in words.get(_ALL_KINDS, ()) or field in words.get(kind.id, ())


#: the revision that generated kernels are written for
_DEFAULT: Final = "2026-06"


@cache
def all_revisions() -> tuple[Revision, ...]:
    """Return all profiles, oldest first."""
    text = resources.files("ckprof.model.strings").joinpath("revisions.json").read_bytes()
    return msgspec.json.decode(text, type=tuple[Revision, ...])


def default_revision() -> Revision:
    """Return the profile of the revision that generated kernels are written for."""
    return find_revision(_DEFAULT)


def find_revision(name: str) -> Revision:
    """Return the profile called ``name``.

    :raises UsageError: there is none; the message lists the known ones.
    """
    by_name = {revision.name: revision for revision in all_revisions()}
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name, by_name, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UsageError(f"unknown CK revision {name!r}{hint} (known: {', '.join(by_name)})")
