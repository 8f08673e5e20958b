"""A family's table, compiled: a regular expression for usual lines, argument by argument for all others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import PluginError
from ckprof.model.strings.grammar import Argument, shorten, split_label
from ckprof.sanitize import unknown_name
from ckprof_converters.derivation import STEPS, fields_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof.model.strings.fields import Field
    from ckprof_converters.conf_family import ConfFamily, Step

#: distinct texts that are remembered with their values, for each run of arguments and each half of a line
_REMEMBERED: Final = 2000


@dataclass(frozen=True, slots=True)
class LineProblem:
    """What is wrong with a line, and the zero-based place in it."""

    message: str
    start: int
    #: the same is likely wrong with many lines: say it once, with their number
    whole_file: bool = False


class LineError(Exception):
    """A line that cannot be read.

    :param problems: in the order of their places; not empty.
    """

    def __init__(self, *problems: LineProblem) -> None:
        super().__init__(problems[0].message)
        self.problems = problems


class CompiledFamily:
    """A family with everything prepared that its lines need.

    :raises PluginError: the table contradicts itself.
    """

    def __init__(self, family: ConfFamily) -> None:
        self.family = family
        if family.rejection:
            return
        counts = family.accepted_counts
        if not counts or counts[-1] != len(family.fields) or family.record_type is None:
            raise PluginError(
                f"conf family {family.id}: it needs fields and a record type, and the largest count of "
                f"arguments must be that of the fields ({len(family.fields)})"
            )
        self._all_runs = _runs(family)
        self._runs = [_Run(family, run) for run in self._all_runs if run[0].read]
        # Lists vary few arguments at a time, so each half of a line is mostly known already.
        self._heads: dict[tuple[str | None, ...], dict[str, Any]] = {}
        self._tails: dict[tuple[str | None, ...], dict[str, Any]] = {}
        self.steps: tuple[Step, ...] = tuple(_step(family, step) for step in family.steps)
        self._record_values = _picker(family.record_type.__struct_fields__[1:])
        properties = (
            family.ndim_field,
            *(family.layout_fields or ()),
            family.layout_name_field,
            *family.dtype_fields,
        )
        fields = [field.name for field in family.fields]
        for kind, name, known in (
            *(("field", name, fields) for name in properties if name),
            *(("layout", name, [one.name for one in family.layouts]) for name in [family.layout] if name),
        ):
            if name not in known:
                raise PluginError(f"conf family {family.id}: {unknown_name(kind, name, known)}")
        #: what records may not be able to hold
        self.apart = fields_apart(field.name for field in family.fields)
        #: values that decide layout and data type of a line
        self.fact_values = _picker([name for name in properties if name])

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # Made when the first line comes: most lists hold lines of one or two families.
        return re.compile(_expression(self.family, self._all_runs))

    def match(self, text: str, start: int) -> tuple[str | None, ...] | None:
        """Return the texts of all runs that are read, if the line is printed as usual, else ``None``.

        :param start: position after the opening bracket.
        """
        match = self._pattern.match(text, start)
        return None if match is None else match.groups()

    def values_of(self, runs: tuple[str | None, ...]) -> dict[str, Any]:
        """Return the values of a line whose runs have matched."""
        half = len(runs) // 2
        head, tail = runs[:half], runs[half:]
        values = dict(self._heads.get(head) or self._remember(self._heads, 0, head))
        values.update(self._tails.get(tail) or self._remember(self._tails, half, tail))
        return values

    def row(self, values: dict[str, Any]) -> tuple[Any, ...]:
        """Return the values of the record, in order, without its id.

        :raises PluginError: the family's steps leave one out.
        """
        try:
            return self._record_values(values)
        except KeyError as exc:
            raise PluginError(f"conf family {self.family.id}: nothing gives a value for {exc}") from None

    def start_of(self, arguments: Sequence[Argument], name: str) -> int:
        """Return the zero-based place of an argument in its line; 0 if the family has none of that name."""
        named = zip(self.family.fields, arguments, strict=False)
        return next((argument.start for field, argument in named if field.name == name), 0)

    def read_fast(self, text: str, start: int) -> dict[str, Any] | None:
        """Return the values of a line that is printed as usual, else ``None``.

        :param start: position after the opening bracket.
        """
        runs = self.match(text, start)
        return None if runs is None else self.values_of(runs)

    def _remember(
        self, read: dict[tuple[str | None, ...], dict[str, Any]], first: int, groups: tuple[str | None, ...]
    ) -> dict[str, Any]:
        """Return the values of neighbouring runs, with the fixed ones below those of the head."""
        values = {} if first else dict(self.family.fixed)
        for run, group in zip(self._runs[first:], groups, strict=False):
            if group is not None:
                values.update(run.parsed.get(group) or run.parse(group))
        if len(read) >= _REMEMBERED:
            read.clear()
        read[groups] = values
        return values

    def read_slowly(self, arguments: Sequence[Argument]) -> dict[str, Any]:
        """Return the values of a line whose number of arguments is accepted.

        :raises LineError: arguments are wrong.
        """
        values = dict(self.family.fixed)
        problems: dict[tuple[str, str], list[LineProblem]] = {}
        for position, (field, argument) in enumerate(zip(self.family.fields, arguments, strict=False), 1):
            value = read_field(field, argument, position)
            if isinstance(value, LineProblem):
                # a wrong type stands in several arguments: it is one mistake
                problems.setdefault((field.kind.wanted(argument.text), argument.text), []).append(value)
            elif field.read:
                values[field.name] = value
        if problems:
            raise LineError(*map(_one_of, problems.values()))
        return values


def _one_of(problems: Sequence[LineProblem]) -> LineProblem:
    """Return one problem for arguments that are wrong alike."""
    first, others = problems[0], len(problems) - 1
    if not others:
        return first
    return LineProblem(f"{first.message} (and in {others} more of the arguments)", first.start)


def read_field(field: Field, argument: Argument, position: int) -> Any:
    """Return the value of an argument, or the :class:`LineProblem` with it.

    :param position: one-based.
    """
    label = ""
    if field.label:
        label, argument = split_label(argument)
    if label != field.label:
        wanted, got = f"'{field.label}: ...'", label or argument.text
    elif field.kind.matches(argument.text):
        return field.kind.parse(argument.text)
    else:
        wanted, got = field.kind.wanted(argument.text), argument.text
    return LineProblem(
        f"expected {wanted} for {field.name} (argument {position}), got {shorten(got)}", argument.start
    )


class _Run:
    """Neighbouring arguments that are all read. Lists repeat the same few runs over and over."""

    def __init__(self, family: ConfFamily, fields: Sequence[Field]) -> None:
        self._fields = fields
        self._separator = family.separator
        #: spelling of the whole run -> values by name
        self.parsed: dict[str, dict[str, Any]] = {}

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        separator = re.escape(self._separator)
        return re.compile(separator.join(_field_expression(field, "({})") for field in self._fields))

    def parse(self, text: str) -> dict[str, Any]:
        """Return and remember the values of the run spelled ``text``, which matches."""
        values = {
            field.name: field.kind.parse(part)
            for field, part in zip(self._fields, self._parts(text), strict=True)
        }
        if len(self.parsed) >= _REMEMBERED:
            self.parsed.clear()
        self.parsed[text] = values
        return values

    def _parts(self, text: str) -> Sequence[str]:
        """Return the texts of the arguments, without labels."""
        parts = text.split(self._separator)
        if len(parts) == len(self._fields):
            # So no argument holds a separator itself, and no expression is needed to find the borders.
            return [
                part[len(field.label) + 2 :] if field.label else part
                for field, part in zip(self._fields, parts, strict=True)
            ]
        match = self._pattern.fullmatch(text)
        assert match is not None  # noqa: S101  # the whole line matched with the same expressions
        return match.groups()


def _runs(family: ConfFamily) -> list[list[Field]]:
    """Cut the arguments into runs that are read or unread as a whole; an optional part starts a new one."""
    optional = family.accepted_counts[:-1]
    runs: list[list[Field]] = []
    for position, field in enumerate(family.fields):
        apart = position in optional or (position and position == family.inside)
        if runs and not apart and runs[-1][0].read == field.read:
            runs[-1].append(field)
        else:
            runs.append([field])
    return runs


def _expression(family: ConfFamily, runs: Sequence[Sequence[Field]]) -> str:
    """Return the regular expression for what follows the opening bracket; each read run is a group."""
    separator = re.escape(family.separator)
    text = ""
    if family.nested:
        inside = ", ".join(_field_expression(field, "(?:{})") for field in family.nested_fields)
        text = f"{family.nested}<{inside}> "
    optional = family.accepted_counts[:-1]
    position = 0
    for run in runs:
        if position in optional:
            text += "(?:"
        run_text = separator.join(_field_expression(field, "(?:{})") for field in run)
        if position:
            text += "> " if position == family.inside else separator
        text += f"({run_text})" if run[0].read else run_text
        position += len(run)
    return text + ")?" * len(optional) + (r"\Z" if family.inside else r">\Z")


def _field_expression(field: Field, group: str) -> str:
    label = re.escape(f"{field.label}: ") if field.label else ""
    return label + group.replace("{}", field.kind.pattern)


def _picker(names: Sequence[str]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """Return a function that picks the values of ``names``, always as a tuple."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda values: tuple(values[name] for name in names)


def _step(family: ConfFamily, step: str | Step) -> Step:
    if not isinstance(step, str):
        return step
    if step not in STEPS:
        raise PluginError(f"conf family {family.id}: unknown step {step!r} (known: {', '.join(STEPS)})")
    return STEPS[step]
