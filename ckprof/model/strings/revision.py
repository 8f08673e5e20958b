"""Revision profiles: which fields the instance strings of a revision of Composable Kernel have, and how they
spell flags. The profiles are data, ``revisions.json`` beside this module.
"""

from __future__ import annotations

import difflib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Literal

import msgspec

from ckprof.errors import UsageError

if TYPE_CHECKING:
    from ckprof.model.strings.kind import StringKind

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


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    schema: Literal["ckprof-string-revisions"]
    version: Literal[1]
    default: str
    revisions: list[Revision]


@cache
def _profiles() -> _File:
    text = resources.files("ckprof.model.strings").joinpath("revisions.json").read_bytes()
    return msgspec.json.decode(text, type=_File)


def all_revisions() -> tuple[Revision, ...]:
    """Return all profiles, oldest first."""
    return tuple(_profiles().revisions)


def default_revision() -> Revision:
    """Return the profile of the revision that generated kernels are written for."""
    return find_revision(_profiles().default)


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
