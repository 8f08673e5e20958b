"""Finding the family of a line among all families, and reading the line with it.

A usual line is read by one regular expression, made from the table of its family: it checks every argument
and picks out those that are read. Any other line is taken apart slowly, which either succeeds (unusual
blanks) or says exactly what is wrong where.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import PluginError
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.grammar import Argument, shorten, split_arguments
from ckprof.model.strings.kind import all_revisions
from ckprof_converters.compiled import CompiledFamily, LineError, LineProblem, read_field
from ckprof_converters.lines import begins_here

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.model.strings.fields import Field
    from ckprof.model.strings.kind import Revision
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType
    from ckprof_converters.conf_family import ConfFamily


def in_every_revision(family: ConfFamily) -> Iterator[ConfFamily]:
    """Yield a family for each number of fields that its lines have in some revision, most fields first.

    The fields that a revision leaves out have the values that their absence stands for. In a shorter line,
    flags are expected as its revisions spell them: else a line that lacks another field might pass for one.
    A family that says itself how many arguments its lines have is yielded as it is.

    :raises PluginError: revisions leave out different fields, and the lines would look alike.
    """
    yield family
    if family.counts or family.rejection:
        return
    kind = family.string_kind or family.id
    alike: dict[frozenset[str], list[Revision]] = {}
    for revision in all_revisions():
        if absent := revision.absent.get(kind):
            alike.setdefault(frozenset(absent), []).append(revision)
    counts = {len(family.fields)}
    for names, revisions in sorted(alike.items(), key=lambda item: len(item[0])):
        spelled = _without(family, revisions[0].absent[kind], _words(kind, revisions))
        if len(spelled.fields) in counts:
            raise PluginError(
                f"conf family {family.id}: lines without {', '.join(sorted(names))} have as many arguments "
                "as those of another revision"
            )
        counts.add(len(spelled.fields))
        yield spelled


def _words(kind: str, revisions: Sequence[Revision]) -> frozenset[str]:
    """Return the flags that each of the revisions prints as a word, of this kind alone."""
    return frozenset.intersection(*(frozenset(revision.flag_words.get(kind, ())) for revision in revisions))


def _without(family: ConfFamily, absent: Mapping[str, str], words: frozenset[str]) -> ConfFamily:
    fields = tuple(
        replace(field, kind=kinds.WORD_FLAG) if field.name in words else field
        for field in family.fields
        if field.name not in absent
    )
    implied = {
        field.name: _value(field, absent[field.name])
        for field in family.fields
        if field.name in absent and field.read
    }
    return replace(family, fields=fields, fixed={**family.fixed, **implied})


def _value(field: Field, implied: str) -> Any:
    """Return what a field means whose text is in normal spelling: flags are 0 and 1 whatever is printed."""
    kind = kinds.FLAG if field.kind in kinds.FLAGS else field.kind
    return kind.parse(implied)


#: name of the lines of bare numbers in old depthwise lists
BARE: Final = ""

#: wrong fields that a line of an older revision may have, before it is taken for one that lacks a field
_MOST_IN_OLDER: Final = 3

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BARE_LINE: Final = re.compile(r"[0-9]+\s*,")
_BEGINNING: Final = re.compile(rf"({_NAME.pattern})<")


class Grammar:
    """All families, by the names of their lines.

    :raises PluginError: a table contradicts itself.
    """

    def __init__(self, families: Sequence[ConfFamily]) -> None:
        self._families = tuple(families)
        self._by_name: dict[str, list[CompiledFamily]] = {}
        self._by_content: list[CompiledFamily] = []
        for family in sorted(families, key=lambda item: item.id):
            for spelled in in_every_revision(family):
                compiled = CompiledFamily(spelled)
                for name in family.names:
                    self._by_name.setdefault(name, []).append(compiled)
                if family.name_contains:
                    self._by_content.append(compiled)

    @property
    def layouts(self) -> Sequence[Layout]:
        """All layouts that lines can have."""
        return list(dict.fromkeys(layout for family in self._families for layout in family.layouts))

    @property
    def dtypes(self) -> Sequence[DataType]:
        """All data types that lines can have."""
        return list(dict.fromkeys(dtype for family in self._families for dtype in family.dtypes))

    def main_variant(self, direction: str) -> str:
        """Return the catalog variant of most families of a direction; empty if there is none."""
        variants = Counter(
            compiled.family.variant
            for compileds in self._by_name.values()
            for compiled in compileds
            if compiled.family.direction == direction and compiled.family.variant
        )
        return variants.most_common(1)[0][0] if variants else ""

    def candidates(self, name: str) -> list[CompiledFamily]:
        """Return the families that answer to a name; exact names come before parts of names."""
        return self._by_name.get(name) or [
            compiled
            for compiled in self._by_content
            if all(part in name for part in compiled.family.name_contains)
        ]

    def match(self, text: str) -> tuple[CompiledFamily, tuple[str | None, ...]] | None:
        """Return the family of a line that is printed as usual, and the texts of its runs that are read.

        ``None`` for all other lines, wrong ones among them: :meth:`read_slowly` deals with those.
        """
        opening = text.find("<")
        for compiled in self._by_name.get(text[:opening], ()) if opening > 0 else ():
            if not compiled.family.rejection:
                runs = compiled.match(text, opening + 1)
                if runs is not None:
                    return compiled, runs
        return None

    def read_slowly(self, text: str) -> tuple[CompiledFamily, dict[str, Any]]:
        """Return the family and the values of a line, argument by argument; no values if it is rejected.

        :raises LineError: the line cannot be read.
        """
        compiled, arguments = self.split(text)
        if compiled.family.rejection:
            return compiled, {}
        try:
            return compiled, compiled.read_slowly(arguments)
        except LineError as error:
            if len(error.problems) <= _MOST_IN_OLDER or not self._lacks_fields(compiled):
                raise
            # a line that lacks a field in its middle, rather than one of an older revision
            first = error.problems[0]
            raise LineError(
                LineProblem(
                    f"{self._miscounted(compiled, len(arguments))}; read as an older one: {first.message}",
                    first.start,
                )
            ) from None

    def _lacks_fields(self, compiled: CompiledFamily) -> bool:
        """Say whether a family has the spelling of a revision that leaves fields out."""
        alike = self.candidates(compiled.family.names[0]) if compiled.family.names else []
        return any(
            item.family.id == compiled.family.id and len(item.family.fields) > len(compiled.family.fields)
            for item in alike
        )

    def split(self, text: str) -> tuple[CompiledFamily, list[Argument]]:
        """Return the family that a line belongs to and its arguments.

        :raises LineError: the name is unknown, a bracket is missing, or the number of arguments is wrong: a
            parenthesis has no partner, or a second instance follows.
        """
        name, start, end = self._outline(text)
        candidates = self.candidates(name)
        if not candidates:
            raise LineError(self._unknown(name))
        marked = [item for item in candidates if item.family.marker and item.family.marker in text]
        possible = marked or [item for item in candidates if not item.family.marker]
        if possible[0].family.nested:
            start = _skip_nested(possible[0].family, text, start, end)
        arguments = split_arguments(text, start, end)
        if possible[0].family.inside:
            arguments += split_arguments(text, end + 1, len(text))
        count = len(arguments)
        for compiled in possible:
            counts = compiled.family.accepted_counts
            if count in counts or not counts:
                if compiled.family.conflicting_family and text[start:end].rstrip().endswith(","):
                    # A blank last argument means nothing elsewhere; here it may be what makes the family.
                    raise LineError(LineProblem(f"{compiled.family.title}: the last argument is blank", end))
                return compiled, arguments
        if not text.isascii():
            odd = next(index for index, char in enumerate(text) if not char.isascii())
            raise LineError(
                LineProblem(f"{text[odd]!r} is not an ASCII character, as all of a line are", odd)
            )
        second = self._beginning(text, start)
        if second is not None:
            message = f"a second instance, of {second[1]}, begins here: expected one a line"
            raise LineError(LineProblem(message, second.start()))
        alone = _unpaired(text, start, end)
        if alone is not None:
            what = "'(' is never closed" if text[alone] == "(" else "')' closes nothing"
            raise LineError(LineProblem(f"this {what}", alone))
        nearest = min(possible, key=lambda item: min(abs(count - n) for n in item.family.accepted_counts))
        blank = next((n for n, argument in enumerate(arguments, 1) if not argument.text), None)
        said = f"{self._miscounted(nearest, count)}{f'; argument {blank} is blank' if blank else ''}"
        raise LineError(LineProblem(said, arguments[blank - 1].start if blank else start))

    def _miscounted(self, compiled: CompiledFamily, count: int) -> str:
        accepted = {
            number
            for item in (*self.candidates(next(iter(compiled.family.names), "")), compiled)
            if item.family.id == compiled.family.id
            for number in item.family.accepted_counts
        }
        wanted = " or ".join(str(number) for number in sorted(accepted))
        return f"{compiled.family.title} needs {wanted} arguments, got {count}"

    def _outline(self, text: str) -> tuple[str, int, int]:
        """Return the name of a line and the bounds of its arguments."""
        opening = text.find("<")
        closing = text.rfind(">")
        if opening < 0:
            if BARE in self._by_name and _BARE_LINE.match(text):
                return BARE, 0, len(text)
            escaped = text.find("&lt")  # a semicolon begins a comment
            if escaped >= 0:
                raise LineError(LineProblem("'&lt;' stands for '<': this is HTML, copy its text", escaped))
            raise LineError(LineProblem(f"expected Name<argument,...>, found no '<' in {shorten(text)}", 0))
        name = text[:opening].strip()
        if not _NAME.fullmatch(name):
            instance = self._beginning(text)
            if instance is not None:
                raise LineError(begins_here(text, instance.start()))
            raise LineError(LineProblem(f"expected the name of a kernel before '<', got {shorten(name)}", 0))
        if closing < opening:
            raise LineError(LineProblem(f"the line ends without '>' (arguments of {name})", len(text)))
        rest = text[closing + 1 :].strip()
        # What the old library appends after the bracket of a rejected family is its own affair.
        if rest and not all(item.family.rejection or item.family.inside for item in self.candidates(name)):
            raise LineError(
                LineProblem(f"unexpected text behind '>': {shorten(rest)}", text.index(rest, closing + 1))
            )
        return name, opening + 1, closing

    def _beginning(self, text: str, start: int = 0) -> re.Match[str] | None:
        """Return where the first instance of a known name begins, if any does."""
        return next((one for one in _BEGINNING.finditer(text, start) if self.candidates(one[1])), None)

    def _unknown(self, name: str) -> LineProblem:
        # A very long name is garbage, and comparing it would take long.
        names = {known.lower(): known for known in self._by_name}
        near = difflib.get_close_matches(name.lower(), names, n=1) if len(name) < 200 else []
        hint = f"; did you mean {names[near[0]]}?" if near else ""
        return LineProblem(f"unknown kernel name {shorten(name)}{hint}", 0)


def _unpaired(text: str, start: int, end: int) -> int | None:
    """Return the place of the first parenthesis in ``text[start:end]`` that has no partner, if any is so."""
    opened: list[int] = []
    for index in range(start, end):
        if text[index] == "(":
            opened.append(index)
        elif text[index] == ")":
            if not opened:
                return index
            opened.pop()
    return opened[0] if opened else None


def _skip_nested(family: ConfFamily, text: str, start: int, end: int) -> int:
    """Check the nested template in front of the arguments, and return the position after it."""
    inner = text.find("<", start, end)
    closing = text.find(">", start, end)
    if inner < 0 or closing < inner or text[start:inner].strip() != family.nested:
        raise LineError(LineProblem(f"expected {family.nested}<...> as start of {family.title}", start))
    inside = split_arguments(text, inner + 1, closing)
    wanted = family.nested_fields
    if len(inside) != len(wanted):
        raise LineError(
            LineProblem(f"{family.nested} needs {len(wanted)} arguments, got {len(inside)}", inner + 1)
        )
    values = [
        read_field(*pair, position) for position, pair in enumerate(zip(wanted, inside, strict=True), 1)
    ]
    problems = [value for value in values if isinstance(value, LineProblem)]
    if problems:
        raise LineError(*problems)
    return closing + 1
