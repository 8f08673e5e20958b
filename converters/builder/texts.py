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
from ckprof_converters.annotations import stated_operation
from ckprof_converters.lines import instance_text, iterate_lines, without_comment
from ckprof_converters.log import end_of_fields, looks_like_log, without_escapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ckprof.model.conversion import ConversionRequest

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
class KernelText:
    """A kernel that is named somewhere."""

    text: str
    #: one-based place
    line: int
    column: int
    #: the element-wise operation that an annotation says
    stated: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTexts:
    """All kernels of a list or of output, each as often as there is an instance of it."""

    texts: tuple[KernelText, ...]
    is_output: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Mention:
    kernel: KernelText
    #: number of the run and of the split: what tells a repetition from a second instance
    occasion: tuple[int, str]
    #: number of the instance in the registry, if the line says it
    instance: str
    #: said of a kernel that has a line of its own
    again: bool


def kernel_texts(request: ConversionRequest, knows: Callable[[str], bool]) -> KernelTexts:
    """Return the kernels that are named in the request's content.

    :param knows: says of a name whether kernels are called so; all others in a log are something else.
    :raises InputError: a line of output breaks off within a kernel, other than the last one.
    """
    if not looks_like_log(request.data):
        return KernelTexts(texts=tuple(_list_lines(request)), is_output=False)
    notes: list[str] = []
    mentions = list(_mentions(request, knows, notes))
    return KernelTexts(texts=tuple(_instances(mentions)), is_output=True, notes=tuple(notes))


def _list_lines(request: ConversionRequest) -> Iterator[KernelText]:
    for number, line in enumerate(iterate_lines(request), 1):
        plain = without_escapes(line)
        text = instance_text(plain, upstream_comments=request.upstream_comments)
        if text:
            column = len(plain) - len(plain.lstrip()) + 1
            yield KernelText(text=text, line=number, column=column, stated=stated_operation(line))


def _mentions(
    request: ConversionRequest, knows: Callable[[str], bool], notes: list[str]
) -> Iterator[_Mention]:
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
            yield _Mention(
                KernelText(text=plain[name.start() : end], line=number, column=name.start() + 1),
                (run, split.group(1) if split else ""),
                instance.group(1) if instance else "",
                _AGAIN.search(plain, position, name.start()) is not None,
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


def _instances(mentions: Iterable[_Mention]) -> Iterator[KernelText]:
    """Return each kernel as often as there are instances of it, at the places where it is named first."""
    by_text: dict[str, list[_Mention]] = {}
    for mention in mentions:
        by_text.setdefault(mention.kernel.text, []).append(mention)
    for same in by_text.values():
        first_mentions = [mention for mention in same if not mention.again] or same[:1]
        numbered = {mention.instance for mention in first_mentions if mention.instance}
        count = len(numbered) or max(Counter(mention.occasion for mention in first_mentions).values())
        firsts = {
            mention.instance or str(index): mention
            for index, mention in reversed([*enumerate(first_mentions)])
        }
        yield from sorted((m.kernel for m in [*firsts.values()][-count:]), key=lambda kernel: kernel.line)
