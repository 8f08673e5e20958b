"""Compiling the tables of all families, and reading one line with them.

A usual line is read by one regular expression, made from the table of its family: it checks every argument
and picks out those that are read. Any other line is taken apart slowly, which either succeeds (unusual
blanks) or says exactly what is wrong where.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import PluginError
from ckprof_converters.arguments import Argument, split_arguments, split_label
from ckprof_converters.derivation import STEPS
from ckprof_converters.family import ConfFamily, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof_converters.family import Step

#: name of the list of bare numbers that old depthwise lists hold, which have no name at all
BARE: Final = ""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a line, and the zero-based place in it."""

    message: str
    start: int
    #: the same is likely wrong with many lines: say it once, with their number
    whole_file: bool = False


class LineError(Exception):
    """A line that cannot be read.

    :param problems: in the order of their places; not empty.
    """

    def __init__(self, *problems: Problem) -> None:
        super().__init__(problems[0].message)
        self.problems = problems


class CompiledFamily:
    """A family with everything prepared that its lines need."""

    def __init__(self, family: ConfFamily) -> None:
        self.family = family
        counts = family.accepted_counts
        if family.refusal:
            return
        if not counts or counts[-1] != len(family.fields) or family.record_type is None:
            raise PluginError(
                f"conf family {family.id}: a record type is needed, and the largest count of arguments "
                f"must be that of the fields ({len(family.fields)})"
            )
        self.steps: tuple[Step, ...] = tuple(_step(family, step) for step in family.steps)
        read = [field for field in family.fields if field.read]
        #: (name, parser) of each group of the pattern
        self.parsers: tuple[tuple[str, Callable[[str], Any]], ...] = tuple(
            (field.name, field.kind.parse) for field in read
        )
        self.pattern = re.compile(_expression(family))
        #: values of the record, in order, without its id
        self.record_values: Callable[[dict[str, Any]], tuple[Any, ...]] = itemgetter(
            *family.record_type.__struct_fields__[1:]
        )
        #: raw texts that decide layout and data type of a line
        self.fact_names = tuple(
            name for name in (family.ndim_field, *(family.layout_fields or ()), *family.dtype_fields) if name
        )

    def read_fast(self, text: str, start: int) -> dict[str, Any] | None:
        """Return the values of a line that is printed as usual, else ``None``.

        :param start: place behind the opening bracket.
        """
        match = self.pattern.match(text, start)
        if match is None:
            return None
        values = dict(self.family.fixed)
        for (name, parse), group in zip(self.parsers, match.groups(), strict=True):
            if group is not None:
                values[name] = parse(group)
        return values

    def read_slowly(self, arguments: Sequence[Argument]) -> dict[str, Any]:
        """Return the values of a line whose number of arguments is accepted.

        :raises LineError: an argument is wrong.
        """
        values = dict(self.family.fixed)
        problems = []
        for position, (field, argument) in enumerate(zip(self.family.fields, arguments, strict=False), 1):
            problem, value = read_field(field, argument, position)
            if problem is not None:
                problems.append(problem)
            elif field.read:
                values[field.name] = value
        if problems:
            raise LineError(*problems)
        return values


def read_field(field: Field, argument: Argument, position: int) -> tuple[Problem | None, Any]:
    """Return what is wrong with an argument and its value; one of both is ``None``.

    :param position: one-based.
    """
    if field.label:
        label, argument = split_label(argument)
        if label != field.label:
            got = repr(label) if label else repr(argument.text)
            return Problem(
                f"expected '{field.label}: ' for {field.name} (argument {position}), got {got}",
                argument.start,
            ), None
    text = argument.text
    if field.kind.matches(text):
        return None, field.kind.parse(text)
    shown = repr(text if len(text) <= 60 else f"{text[:57]}...")
    return Problem(
        f"expected {field.kind.wanted(text)} for {field.name} (argument {position}), got {shown}",
        argument.start,
    ), None


class Grammar:
    """All families, by the names of their lines.

    :raises PluginError: two families have the same id, or one names an unknown step.
    """

    def __init__(self, families: Sequence[ConfFamily]) -> None:
        ids: set[str] = set()
        self._by_name: dict[str, list[CompiledFamily]] = {}
        self._by_content: list[CompiledFamily] = []
        for family in sorted(families, key=lambda item: item.id):
            if family.id in ids:
                raise PluginError(f"two plugins offer the conf family {family.id!r}")
            ids.add(family.id)
            compiled = CompiledFamily(family)
            for name in family.names:
                self._by_name.setdefault(name, []).append(compiled)
            if family.name_contains:
                self._by_content.append(compiled)
        self._near: dict[str, list[CompiledFamily]] = {}

    def candidates(self, name: str) -> list[CompiledFamily]:
        """Return the families that answer to a name; exact names come before parts of names."""
        found = self._by_name.get(name)
        if found is not None:
            return found
        if name not in self._near:
            if len(self._near) > 1000:
                self._near.clear()
            self._near[name] = [
                compiled
                for compiled in self._by_content
                if all(part in name for part in compiled.family.name_contains)
            ]
        return self._near[name]

    def read(self, text: str) -> tuple[CompiledFamily, dict[str, Any]]:
        """Return the family and the values of a line without comment and surrounding blanks.

        The values of a refused family are empty.

        :raises LineError: the line cannot be read.
        """
        opening = text.find("<")
        name = text[: max(opening, 0)]
        for compiled in self._by_name.get(name, ()) if name else ():
            if not compiled.family.refusal:
                values = compiled.read_fast(text, opening + 1)
                if values is not None:
                    return compiled, values
        compiled, arguments = self.split(text)
        if compiled.family.refusal:
            return compiled, {}
        return compiled, compiled.read_slowly(arguments)

    def split(self, text: str) -> tuple[CompiledFamily, list[Argument]]:
        """Return the family that a line belongs to and its arguments.

        :raises LineError: the name is unknown, a bracket is missing, or the number of arguments is wrong.
        """
        name, start, end = self._outline(text)
        candidates = self.candidates(name)
        if not candidates:
            raise LineError(self._unknown(name))
        by_count = [compiled for compiled in candidates if not compiled.family.marker]
        for compiled in candidates:
            if compiled.family.marker and compiled.family.marker in text:
                by_count = [compiled]
        nested = [compiled for compiled in by_count if compiled.family.nested]
        if nested:
            return nested[0], _behind_nested(nested[0], text, start, end)
        arguments = split_arguments(text, start, end)
        count = len(arguments)
        for compiled in by_count:
            counts = compiled.family.accepted_counts
            if count in counts or not counts:
                return compiled, arguments
        nearest = min(by_count, key=lambda item: min(abs(count - n) for n in item.family.accepted_counts))
        raise LineError(Problem(_wrong_count(nearest.family, count), start))

    def _outline(self, text: str) -> tuple[str, int, int]:
        """Return the name of a line and the bounds of its arguments."""
        opening = text.find("<")
        closing = text.rfind(">")
        if opening < 0:
            if BARE in self._by_name and re.match(r"\s*[0-9]+\s*,", text):
                return BARE, 0, len(text)
            raise LineError(Problem(f"expected Name<argument,...>, found no '<' in {_short(text)}", 0))
        name = text[:opening].strip()
        if not _NAME.fullmatch(name):
            raise LineError(Problem(f"expected the name of a kernel before '<', got {_short(name)}", 0))
        if closing < opening:
            raise LineError(Problem(f"the line ends without '>' (arguments of {name})", len(text)))
        # What the old library appends behind the bracket of a refused family is its own affair.
        rest = text[closing + 1 :]
        if rest.strip() and not all(item.family.refusal for item in self.candidates(name)):
            behind = closing + 1 + len(rest) - len(rest.lstrip())
            raise LineError(Problem(f"unexpected text behind '>': {_short(rest.strip())}", behind))
        return name, opening + 1, closing

    def _unknown(self, name: str) -> Problem:
        near = difflib.get_close_matches(name, self._by_name, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        return Problem(f"unknown kernel name {_short(name)}{hint}", 0)


def _behind_nested(compiled: CompiledFamily, text: str, start: int, end: int) -> list[Argument]:
    """Check the nested template in front of the arguments, and split what follows it."""
    family = compiled.family
    inner = text.find("<", start, end)
    closing = text.find(">", start, end)
    name = text[start : inner if inner >= 0 else start].strip()
    if inner < 0 or closing < inner or name != family.nested:
        raise LineError(Problem(f"expected {family.nested}<...> as first argument of {family.title}", start))
    inside = split_arguments(text, inner + 1, closing)
    if len(inside) != len(family.nested_fields):
        raise LineError(
            Problem(
                f"{family.nested} needs {len(family.nested_fields)} arguments, got {len(inside)}", inner + 1
            )
        )
    problems = [
        problem
        for position, (field, argument) in enumerate(zip(family.nested_fields, inside, strict=True), 1)
        if (problem := read_field(field, argument, position)[0])
    ]
    if problems:
        raise LineError(*problems)
    arguments = split_arguments(text, closing + 1, end)
    if len(arguments) not in family.accepted_counts:
        raise LineError(Problem(_wrong_count(family, len(arguments)), closing + 1))
    return arguments


def _wrong_count(family: ConfFamily, count: int) -> str:
    wanted = " or ".join(str(number) for number in family.accepted_counts)
    return f"{family.title} needs {wanted} arguments, got {count}"


def _step(family: ConfFamily, step: str | Step) -> Step:
    if not isinstance(step, str):
        return step
    if step not in STEPS:
        raise PluginError(f"conf family {family.id}: unknown step {step!r} (known: {', '.join(STEPS)})")
    return STEPS[step]


def _expression(family: ConfFamily) -> str:
    """Return the regular expression for all that follows the opening bracket."""
    separator = re.escape(family.separator)
    text = ""
    if family.nested:
        inside = ", ".join(_field_expression(field) for field in family.nested_fields)
        text = f"{family.nested}<{inside}> "
    optional = set(family.accepted_counts[:-1])
    for position, field in enumerate(family.fields):
        if position in optional:
            text += "(?:"
        text += (separator if position else "") + _field_expression(field)
    return text + ")?" * len(optional) + r">\Z"


def _field_expression(field: Field) -> str:
    label = re.escape(f"{field.label}: ") if field.label else ""
    return f"{label}({field.kind.pattern})" if field.read else f"{label}(?:{field.kind.pattern})"


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
