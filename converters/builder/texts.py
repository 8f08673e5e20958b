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
from ckprof.formatting import counted
from ckprof.model.strings.argument_kinds import ELEMENT_PAIR
from ckprof.model.strings.grammar import split_label
from ckprof_converters.compiled import LineError, LineProblem, read_field
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
    from collections.abc import Callable, Iterable, Iterator

    from ckprof.model.conversion import ConversionRequest
    from ckprof_converters.conf_family import ConfFamily
    from ckprof_converters.grammar import Grammar


#: what may be the name of a kernel; compilers print other templates, too
_NAME: Final = re.compile(r"\b[A-Za-z_]\w*(?=<)")
#: names that are those of kernels even if they are spelled wrong
_KERNEL: Final = re.compile(r"Device(?:Grouped|Batched)|GroupedConv")

#: in front of a kernel that is named elsewhere as well
_AGAIN: Final = re.compile(r"(?:name:|Fail info:[^<]*)\s*$")
#: in front of a kernel whose results the profiler of CK Tile's kernels found wrong
_WRONG: Final = re.compile(r"\[Error\]\s*$")
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
    run, wrong = 0, []
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
            if _WRONG.search(plain, position, name.start()):
                wrong.append(number)
            position = end
    if wrong:
        notes.append(
            f"{counted(len(wrong), 'line')} with [Error], the first is {wrong[0]}: the profiler found wrong "
            "results; only strings are compared"
        )


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


def fields_of(text: str, grammar: Grammar) -> tuple[ConfFamily, dict[str, str]]:
    """Return the family of a line and its fields as they are spelled; those of a rejected family are empty.

    :raises LineError: the line is of no known family, or fields are spelled wrong.
    """
    compiled, arguments = grammar.split(text)
    family = compiled.family
    if family.rejection:
        return family, {}
    fields: dict[str, str] = {}
    problems = []
    for position, (field, argument) in enumerate(zip(family.fields, arguments, strict=False), 1):
        value = read_field(field, argument, position)
        if isinstance(value, LineProblem):
            problems.append(value)
        elif field.kind is ELEMENT_PAIR:
            fields[field.name] = value
        else:
            fields[field.name] = (split_label(argument)[1] if field.label else argument).text
    if problems:
        raise LineError(*problems)
    return family, {**fields, **_nested_fields(family, text)}


def _nested_fields(family: ConfFamily, text: str) -> dict[str, str]:
    """Return the fields of the template in front of the others, ``Name<a, b>``, if the family has one."""
    if not family.nested:
        return {}
    inside = text.partition("<")[2].partition(">")[0].partition("<")[2].split(",")
    return {field.name: value.strip() for field, value in zip(family.nested_fields, inside, strict=True)}
