"""How a kind of instance string is printed: which fields a revision has, and how values are spelled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError, ExitCode
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.kind import default_revision

if TYPE_CHECKING:
    from ckprof.model.strings.fields import Field
    from ckprof.model.strings.kind import Revision, StringKind

#: normal spelling of a flag -> the word
_WORDS: Final[Mapping[str | None, str]] = {"0": "false", "1": "true"}


class StringError(CkprofError):
    """A text that is no instance string, or values that a string cannot say.

    :param start: zero-based place in the text.
    """

    exit_code = ExitCode.INPUT

    def __init__(self, message: str, start: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.start = start


@cache
def printed_fields(kind: StringKind, revision: Revision, flags: frozenset[str]) -> tuple[Field, ...]:
    """Return the fields that are printed, given the flags that are true."""
    absent = revision.absent_fields(kind)
    return tuple(
        field
        for field in kind.fields
        if field.name not in absent and (field.name not in kind.only_if or kind.only_if[field.name] in flags)
    )


@cache
def conditions(kind: StringKind) -> frozenset[str]:
    """Return the flags that other fields depend on."""
    return frozenset(kind.only_if.values())


@cache
def _slots(
    kind: StringKind, revision: Revision, flags: frozenset[str]
) -> tuple[tuple[Field, object, bool], ...]:
    """Return the fields as a revision prints them: value of kernels that do not vary, flags as words."""
    return tuple(
        (
            field,
            kind.literals.get(field.name, kind.fixed.get(field.name)),
            revision.spells_flag_as_word(kind, field.name),
        )
        for field in printed_fields(kind, revision, flags)
    )


def render(kind: StringKind, values: Mapping[str, object], revision: Revision | None = None) -> str:
    """Return the text of a kind of string.

    :param values: field name -> value; flags as ``bool``, ``0`` or ``1``. Fields of ``kind.fixed`` and
        ``kind.literals`` may be left out, and so may those that the flags make superfluous.
    :param revision: ``None`` for the default one.
    :raises StringError: a value is missing, has no spelling, or the revision has no field for it.
    """
    revision = revision or default_revision()
    flags = frozenset(flag for flag in conditions(kind) if is_true(values.get(flag)))
    printed = []
    for field, fixed, as_word in _slots(kind, revision, flags):
        value = values.get(field.name, fixed)
        if value is None:
            raise StringError(f"{kind.name}: nothing gives a value for {field.name}")
        text = _spelled(field, value, as_word)
        if text is None:
            raise StringError(
                f"{kind.name}: {field.name} {_plain(value)!r} not writable, expected {field.kind.expected}"
            )
        printed.append(text)
    for name, implied in revision.absent_fields(kind).items():
        text_of_absent = _plain(values.get(name, implied))
        absent = next(field for field in kind.fields if field.name == name)
        if normal_spelling(absent.kind, text_of_absent) != implied:
            raise StringError(
                f"{kind.name} has no field {name} in revision {revision.name}: it cannot say {text_of_absent}"
            )
    return f"{kind.name}<{','.join(printed)}>"


@lru_cache(maxsize=65536)
def _spelled(field: Field, value: object, as_word: bool) -> str | None:
    """Return how a value is printed, or ``None`` if it has no spelling."""
    text = _plain(value)
    if field.kind in kinds.FLAGS:
        normal = kinds.FLAG_NORMAL.get(text)
        return _WORDS.get(normal) if as_word else normal
    return None if normal_spelling(field.kind, text) is None else text


def _plain(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def is_true(value: object) -> bool:
    """Say whether a flag's value, in whatever spelling, is true."""
    return kinds.FLAG_NORMAL.get(_plain(value)) == "1"


@lru_cache(maxsize=65536)
def normal_spelling(kind: kinds.Kind, text: str) -> str | None:
    """Return the normal spelling of a field, or ``None`` if the text is none of its spellings."""
    if kind in kinds.FLAGS:
        return kinds.FLAG_NORMAL.get(text)
    return text.replace(" ", "") if kind.matches(text) else None


def counts(kind: StringKind, revision: Revision) -> tuple[int, ...]:
    """Return the numbers of fields that a revision prints for a kind, ascending."""
    sizes = {len(printed_fields(kind, revision, frozenset()))}
    absent = revision.absent_fields(kind)
    true = frozenset(flag for flag in conditions(kind) if flag not in absent)
    if true:
        sizes.add(len(printed_fields(kind, revision, true)))
    return tuple(sorted(sizes))
