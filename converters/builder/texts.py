"""Where kernels are named in a list or in the output of a profiler, and how many of them there are.

Output is read as it is found: with colours, with several lines run together, with a last line cut off, and
with the same kernel named again for every split of the reduction, in every run, and as the best one.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.strings.argument_kinds import ELEMENT_PAIR
from ckprof.model.strings.grammar import split_label
from ckprof.model.strings.rendering import normal_spelling
from ckprof_converters.compiled import LineError, LineProblem
from ckprof_converters.grammar import Grammar
from ckprof_converters.lines import (
    end_of_fields,
    instance_text,
    iterate_lines,
    looks_like_log,
    stated_operation,
    without_comment,
    without_escapes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ckprof.model.conversion import ConversionRequest
    from ckprof.model.strings.argument_kinds import Kind
    from ckprof.model.strings.fields import Field
    from ckprof.model.strings.grammar import Argument
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType
    from ckprof_converters.conf_family import ConfFamily


#: what may be the name of a kernel; compilers print other templates, too
_NAME: Final = re.compile(r"\b[A-Za-z_]\w*(?=<)")
#: names that are those of kernels even if they are spelled wrong
_KERNEL: Final = re.compile(r"Device(?:Grouped|Batched)|GroupedConv")

#: in front of a kernel that is named elsewhere as well
_AGAIN: Final = re.compile(r"(?:name:|Fail info:[^<]*)\s*$")
_SPLIT: Final = re.compile(r"[ ,]*\(?(?:SplitK|KBatch)[ =]*(-?[0-9]+)")
_INSTANCE: Final = re.compile(r"[^<>]*?\(instance ([0-9]+)\)")
_NEW_RUN: Final = re.compile(r"IMPORTANT: Generate instances|\bfound [0-9]+ instances|^\s*input: dim")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedKernel:
    """A kernel that is named somewhere."""

    text: str
    #: one-based place
    line: int
    column: int
    #: the element-wise operation that an annotation says
    stated: str | None = None


def kernel_texts(
    request: ConversionRequest, knows: Callable[[str], bool]
) -> tuple[tuple[NamedKernel, ...], tuple[str, ...]]:
    """Return the kernels of a list or of output, each as often as there is an instance of it, and remarks.

    :param knows: says of a name whether kernels are called so; all others in a log are something else.
    :raises InputError: a line of output breaks off within a kernel, other than the last one.
    """
    if not looks_like_log(request.data):
        return tuple(_list_lines(request)), ()
    notes: list[str] = []
    mentions = list(_mentions(request, knows, notes))
    return tuple(_instances(mentions)), tuple(notes)


def _list_lines(request: ConversionRequest) -> Iterator[NamedKernel]:
    for number, line in enumerate(iterate_lines(request), 1):
        plain = without_escapes(line)
        text = instance_text(plain, upstream_comments=request.upstream_comments)
        if text:
            column = len(plain) - len(plain.lstrip()) + 1
            yield NamedKernel(text=text, line=number, column=column, stated=stated_operation(line))


def _mentions(
    request: ConversionRequest, knows: Callable[[str], bool], notes: list[str]
) -> Iterator[tuple[NamedKernel, tuple[int, str] | None, str]]:
    """Yield the kernels that are named; the occasion, and the number of the instance if the line says it.

    The occasion is the number of the run and of the split: what tells a repetition from a second instance.
    ``None`` stands for what is said of a kernel that has a line of its own.
    """
    run = 0
    lines = list(iterate_lines(request))
    for number, line in enumerate(lines, 1):
        plain = without_comment(without_escapes(line))
        if _NEW_RUN.search(plain):
            run += 1
        position = 0
        while (name := _NAME.search(plain, position)) is not None:
            if not _KERNEL.match(name.group()) and not knows(name.group()):
                position = name.end()
                continue
            end = _closing(plain, name.end())
            if end is None:
                if number == len(lines):
                    notes.append(f"line {number} is cut off within a kernel, which is not counted")
                    break
                raise InputError(
                    f"the text of {name.group()} breaks off: lines of several processes may have been mixed",
                    request.path,
                    number,
                    name.start() + 1,
                )
            end = end_of_fields(plain, end)
            split, instance = _SPLIT.match(plain, end), _INSTANCE.match(plain, end)
            again = _AGAIN.search(plain, position, name.start())
            yield (
                NamedKernel(text=plain[name.start() : end], line=number, column=name.start() + 1),
                None if again else (run, split.group(1) if split else ""),
                instance.group(1) if instance else "",
            )
            position = end


def _closing(text: str, opening: int) -> int | None:
    """Return the position after the bracket that closes the one at ``opening``; ``None`` if none does.

    Brackets nest once at most, and what stands between them is short words: anything else belongs to
    another line.
    """
    depth = 0
    for position in range(opening, len(text)):
        char = text[position]
        if char == "<":
            depth += 1
            if depth > 2 or (depth == 2 and not text[:position].endswith("DeviceBatchedGemmXdlUniversal")):
                return None
        elif char == ">":
            depth -= 1
            if not depth:
                return position + 1
    return None


def _instances(
    mentions: Iterable[tuple[NamedKernel, tuple[int, str] | None, str]],
) -> Iterator[NamedKernel]:
    """Return each kernel as often as there are instances of it, at the places where it is named first."""
    by_text: dict[str, list[tuple[NamedKernel, tuple[int, str] | None, str]]] = {}
    for mention in mentions:
        by_text.setdefault(mention[0].text, []).append(mention)
    for same in by_text.values():
        firsts = [mention for mention in same if mention[1] is not None] or same[:1]
        numbered = {instance for _, _, instance in firsts if instance}
        count = len(numbered) or max(Counter(occasion for _, occasion, _ in firsts).values())
        kernels = {
            instance or str(index): kernel for index, (kernel, _, instance) in reversed([*enumerate(firsts)])
        }
        yield from sorted([*kernels.values()][-count:], key=lambda kernel: kernel.line)


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
            problems.append(LineProblem(message, argument.start))
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
