"""Lines of old lists as fields by name, spelled as they stand there: all that the two readings share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from ckprof.model.strings.argument_kinds import ELEMENT_PAIR
from ckprof.model.strings.line_arguments import split_label
from ckprof.model.strings.rendering import normal_spelling
from ckprof_converters.compiled import LineError, Problem
from ckprof_converters.conf_parser import Grammar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.layout import Layout
    from ckprof.model.strings.argument_kinds import Kind
    from ckprof.model.strings.fields import Field
    from ckprof.model.strings.line_arguments import Argument
    from ckprof.model.types import DataType
    from ckprof_converters.conf_family import ConfFamily

#: an argument of a usual line
_ARGUMENT: Final = re.compile(r"[^,()]+(?:\([^()]*\)[^,()]*)?")


class LineFields:
    """Takes lines apart.

    :param families: the tables of all plugins.
    :raises PluginError: a table contradicts itself.
    """

    def __init__(self, families: Sequence[ConfFamily]) -> None:
        self._lines = Grammar(families)
        #: fields of a family -> (name, kind, text in front) of each
        self._plans: dict[tuple[Field, ...], tuple[tuple[str, Kind, str], ...]] = {}

    @property
    def layouts(self) -> Sequence[Layout]:
        """All layouts that lines can have."""
        return self._lines.layouts

    @property
    def dtypes(self) -> Sequence[DataType]:
        """All data types that lines can have."""
        return self._lines.dtypes

    def read(self, text: str) -> tuple[ConfFamily, dict[str, str]]:
        """Return the family of a line and its fields; those of a rejected family are empty.

        :raises LineError: the line is of no known family, or fields are spelled wrong.
        """
        return self._read_usual(text) or self._read_any(text)

    def place_of(self, text: str, field: str) -> int:
        """Return the zero-based place of a field in a line; 0 if the line has none of that name."""
        compiled, arguments = self._lines.split(text)
        return compiled.start_of(arguments, field)

    def _read_usual(self, text: str) -> tuple[ConfFamily, dict[str, str]] | None:
        """Read a line without anything unusual, else return ``None``."""
        name, _, inside = text.partition("<")
        candidates = self._lines.candidates(name)
        if not candidates or not inside.endswith(">") or any(c.family.marker for c in candidates):
            return None
        nested, start = "", 0
        if candidates[0].family.nested:
            start = inside.find(">") + 1
            nested = inside[:start]
        texts = _ARGUMENT.findall(inside, start, len(inside) - 1)
        for compiled in candidates:
            family = compiled.family
            if len(texts) in family.accepted_counts and not family.rejection:
                break
        else:
            return None
        fields = {}
        for (field, kind, label), argument in zip(self._plan(family), texts, strict=False):
            value = argument.strip()
            if label:
                if not value.startswith(label):
                    return None
                value = value[len(label) :].strip()
            if normal_spelling(kind, value) is None:
                return None
            fields[field] = value
        return family, {**fields, **_nested_fields(family, nested)}

    def _plan(self, family: ConfFamily) -> tuple[tuple[str, Kind, str], ...]:
        plan = self._plans.get(family.fields)
        if plan is None:
            plan = tuple((f.name, f.kind, f"{f.label}:" if f.label else "") for f in family.fields)
            self._plans[family.fields] = plan
        return plan

    def _read_any(self, text: str) -> tuple[ConfFamily, dict[str, str]]:
        compiled, arguments = self._lines.split(text)
        family = compiled.family
        if family.rejection:
            return family, {}
        nested = text.partition("<")[2].partition(">")[0] if family.nested else ""
        return family, {**_checked_fields(family, arguments), **_nested_fields(family, nested)}


def _checked_fields(family: ConfFamily, arguments: Sequence[Argument]) -> dict[str, str]:
    fields: dict[str, str] = {}
    problems = []
    for position, (field, argument) in enumerate(zip(family.fields, arguments, strict=False), 1):
        text = argument.text
        if field.label:
            label, value = split_label(argument)
            text = value.text if label == field.label else ""
        if normal_spelling(field.kind, text) is None:
            wanted = field.kind.wanted(text)
            message = f"expected {wanted} for {field.name} (argument {position}), got {text!r}"
            problems.append(Problem(message, argument.start))
        fields[field.name] = field.kind.parse(text) if field.kind is ELEMENT_PAIR and not problems else text
    if problems:
        raise LineError(*problems)
    return fields


def _nested_fields(family: ConfFamily, nested: str) -> dict[str, str]:
    """Return the fields of the template in front of the others, ``Name<a, b>``, if the family has one."""
    if not family.nested:
        return {}
    inside = nested.partition("<")[2].rstrip(">").split(",")
    return {field.name: value.strip() for field, value in zip(family.nested_fields, inside, strict=True)}
