"""Taking instance strings apart, and putting them together again: one grammar, both ways.

A :class:`StringGrammar` knows all kinds. What it parses is normalised (:class:`ParsedString`), so that the
spelling of flags, blanks and fields that a revision leaves out make no difference.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from ckprof.errors import PluginError
from ckprof.model.strings.kind import ParsedString, all_revisions
from ckprof.model.strings.rendering import (
    StringError,
    conditions,
    counts,
    is_true,
    normal_spelling,
    printed_fields,
    render,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.strings.fields import Field
    from ckprof.model.strings.kind import Revision, StringKind


#: an argument whose parentheses match and do not nest
_USUAL: Final = re.compile(r"[^,()]*(?:\([^()]*\)[^,()]*)*")


class Argument(NamedTuple):
    """An argument without the blanks around it."""

    text: str
    #: zero-based place of its first character in the line
    start: int


def split_arguments(text: str, start: int, end: int) -> list[Argument]:
    """Split ``text[start:end]`` at the commas outside parentheses; a blank last argument does not count."""
    arguments = [_stripped(text, *bounds) for bounds in _pieces(text, start, end)]
    if arguments and not arguments[-1].text:
        arguments.pop()
    return arguments


def split_label(argument: Argument) -> tuple[str, Argument]:
    """Return the label in front of the first colon and the value after it; no colon, empty label."""
    label, colon, _ = argument.text.partition(":")
    if not colon:
        return "", argument
    return label.strip(), _stripped(argument.text, len(label) + 1, len(argument.text), argument.start)


def _stripped(text: str, start: int, end: int, base: int = 0) -> Argument:
    piece = text[start:end]
    stripped = piece.strip()
    if len(stripped) == len(piece):
        return Argument(piece, base + start)
    return Argument(stripped, base + start + len(piece) - len(piece.lstrip()))


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    pieces = []
    position = start
    while True:
        match = _USUAL.match(text, position, end)
        assert match is not None  # noqa: S101  # the expression also matches nothing
        stop = match.end()
        pieces.append((position, stop))
        if stop == end:
            return pieces
        if text[stop] != ",":
            return list(_nested_pieces(text, start, end))
        position = stop + 1


def _nested_pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Cut a text whose parentheses nest or do not match."""
    depth = 0
    for index in range(start, end):
        char = text[index]
        if char == "(":
            depth += 1
        elif char == ")":
            depth = max(depth - 1, 0)
        elif char == "," and not depth:
            yield start, index
            start = index + 1
    yield start, end


_SHOWN: Final = 60

#: strings that a grammar remembers with what they say
_REMEMBERED: Final = 20_000


class StringGrammar:
    """All kinds of instance strings.

    :raises PluginError: two kinds cannot be distinguished, or a table contradicts itself.
    """

    def __init__(self, kinds: Sequence[StringKind]) -> None:
        self._known: dict[tuple[str, Revision | None], ParsedString] = {}
        self._by_id: dict[str, StringKind] = {}
        self._by_name: dict[str, list[StringKind]] = {}
        for kind in sorted(kinds, key=lambda item: (not item.literals, item.id)):
            unknown = {*kind.literals, *kind.only_if, *kind.only_if.values(), *kind.fixed} - {
                *kind.field_names
            }
            if unknown or len(set(kind.field_names)) < len(kind.fields):
                raise PluginError(
                    f"kind of instance string {kind.id}: fields must be named once, and {sorted(unknown)} "
                    "must be among them"
                )
            self._by_id[kind.id] = kind
            for name in (kind.name, *kind.other_names):
                self._by_name.setdefault(name, []).append(kind)
        self._spelled = [(kind, kind.spelling) for kind in self._by_id.values() if kind.spelling is not None]

    @property
    def kinds(self) -> tuple[StringKind, ...]:
        """All kinds, by id."""
        return tuple(self._by_id[id_] for id_ in sorted(self._by_id))

    def kind(self, id_: str) -> StringKind:
        """Return the kind with this id."""
        return self._by_id[id_]

    def knows(self, name: str) -> bool:
        """Say whether kernels of this name print instance strings of a known kind."""
        return name in self._by_name

    def parse(self, text: str, revision: Revision | None = None) -> ParsedString:
        """Take a string apart and normalise it.

        :param text: the string, without surrounding blanks.
        :param revision: the only revision that may have printed it; ``None`` accepts them all.
        :raises StringError: unknown name, wrong number of fields, or a field that is spelled wrong.
        """
        # Both sides of a comparison have the same strings, if all is well.
        parsed = self._known.get((text, revision))
        if parsed is None:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            parsed = self._known[text, revision] = self._parse(text, revision)
        return parsed

    def _parse(self, text: str, revision: Revision | None) -> ParsedString:
        for kind, spelling in self._spelled:
            if spelling.recognises(text):
                values = spelling.read(text)
                return ParsedString(kind.id, tuple(values.get(name) for name in kind.field_names))
        name, opening, rest = text.partition("<")
        if not opening or not rest.endswith(">"):
            raise StringError(
                f"expected Name<field,...>, got {shorten(text)}"
                + ("" if not opening else ": the closing '>' is missing"),
                0 if not opening else len(text),
            )
        candidates = self._by_name.get(name)
        if not candidates:
            near = difflib.get_close_matches(name[:200], self._by_name, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise StringError(f"unknown kernel name {shorten(name)}{hint}")
        if "(" in rest or " " in rest:
            fields = [item.text for item in split_arguments(text, len(name) + 1, len(text) - 1)]
        else:
            fields = rest[:-1].split(",")
        kind = _choose(candidates, fields)
        revisions = all_revisions()[::-1] if revision is None else (revision,)
        for profile in revisions:
            layout = _fitting(kind, profile, fields)
            if layout is not None:
                return _parsed(kind, profile, layout, fields, text)
        raise StringError(_wrong_count(kind, revisions, fields))

    def revisions_of(self, text: str) -> tuple[Revision, ...]:
        """Return the revisions that spell a string just so, oldest first.

        :raises StringError: it is none.
        """
        parsed = self.parse(text)
        fields = text.replace(" ", "").partition("<")[2]
        return tuple(each for each in all_revisions() if self._spells(parsed, each, fields))

    def _spells(self, parsed: ParsedString, revision: Revision, fields: str) -> bool:
        try:
            return self.render(parsed, revision).partition("<")[2] == fields
        except StringError:
            return False

    def render(self, parsed: ParsedString, revision: Revision | None = None) -> str:
        """Return the text of a parsed string in a revision's spelling.

        :raises StringError: the revision has no field for something that the string says.
        """
        kind = self._by_id[parsed.kind_id]
        values = {
            field.name: value
            for field, value in zip(kind.fields, parsed.values, strict=True)
            if value is not None
        }
        if kind.spelling is not None:
            return kind.spelling.write(values)
        return render(kind, values, revision)

    def differences(self, first: ParsedString, second: ParsedString) -> tuple[tuple[str, str, str], ...]:
        """Return (field, value of one, value of the other) for every field that differs.

        Strings of different kinds differ in the field ``kernel``.
        """
        if first.kind_id != second.kind_id:
            return (("kernel", self._by_id[first.kind_id].title, self._by_id[second.kind_id].title),)
        return tuple(
            (field.name, _shown(a), _shown(b))
            for field, a, b in zip(
                self._by_id[first.kind_id].fields, first.values, second.values, strict=True
            )
            if a != b
        )


def _shown(value: str | None) -> str:
    return "-" if value is None else value


def _choose(candidates: Sequence[StringKind], fields: Sequence[str]) -> StringKind:
    """Return the kind whose literals the fields have; kinds without literals come last."""
    for kind in candidates:
        positions = [kind.field_names.index(name) for name in kind.literals]
        if all(
            position < len(fields) and fields[position] == text
            for position, text in zip(positions, kind.literals.values(), strict=True)
        ):
            return kind
    return candidates[-1]


def _fitting(kind: StringKind, revision: Revision, fields: Sequence[str]) -> tuple[Field, ...] | None:
    """Return the fields that a revision prints, if their number is right."""
    bare = printed_fields(kind, revision, frozenset())
    deciding = conditions(kind)
    if not deciding:
        return bare if len(fields) == len(bare) else None
    names = [field.name for field in bare]
    true = frozenset(
        flag
        for flag in deciding
        if flag in names and len(fields) > (at := names.index(flag)) and is_true(fields[at])
    )
    layout = printed_fields(kind, revision, true) if true else bare
    return layout if len(fields) == len(layout) else None


def _parsed(
    kind: StringKind, revision: Revision, layout: tuple[Field, ...], fields: Sequence[str], text: str
) -> ParsedString:
    normal = [normal_spelling(field.kind, value) for field, value in zip(layout, fields, strict=True)]
    if None in normal:
        position = normal.index(None)
        field, value = layout[position], fields[position]
        raise StringError(
            f"expected {field.kind.wanted(value)} for {field.name} (field {position + 1}), "
            f"got {shorten(value)}",
            _place(text, position),
        )
    if len(layout) == len(kind.fields):
        return ParsedString(kind.id, tuple(normal))
    values: dict[str, str | None] = dict(revision.absent_fields(kind))
    values.update({field.name: value for field, value in zip(layout, normal, strict=True)})
    return ParsedString(kind.id, tuple(values.get(name) for name in kind.field_names))


def _place(text: str, position: int) -> int:
    opening = text.index("<") + 1
    return split_arguments(text, opening, len(text) - 1)[position].start


def _wrong_count(kind: StringKind, revisions: Sequence[Revision], fields: Sequence[str]) -> str:
    wanted = " or ".join(str(count) for count in sorted({c for r in revisions for c in counts(kind, r)}))
    where = f" in revision {revisions[0].name}" if len(revisions) == 1 else ""
    message = f"{kind.name} has {wanted} fields{where}, got {len(fields)}"
    fitting = [r.name for r in all_revisions() if r not in revisions and len(fields) in counts(kind, r)]
    if fitting:
        message += f"; revision {fitting[-1]} prints {len(fields)}: omit --revision to read any"
    return message


def shorten(text: str) -> str:
    """Return a text in quotes, cut where it is too long for a message."""
    return repr(text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}...")
