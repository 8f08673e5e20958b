"""The template arguments that type strings do not say, from the tuples of the library's own sources."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import CkprofError
from ckprof_converters.compiled import LineError
from ckprof_converters.lines import instance_text
from ckprof_converters.properties import FileFacts
from ckprof_plugins.extract.extraction import DerivedLine
from ckprof_plugins.extract.extractors import LibraryExtractor
from ckprof_plugins.extract.lists import ExtractRequest
from ckprof_plugins.targets.hip.headers import find_headers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.model.conversion import ConversionRequest
    from ckprof_converters.grammar import Grammar

#: how the ids of families begin whose lines are type strings
SHORT = "short_"


def with_all_arguments(request: ConversionRequest, grammar: Grammar) -> ConversionRequest:
    """Return a request with the lines that the library has in place of their type strings.

    The tree is that of ``--ck-root`` or ``$CK_ROOT``, or what was fetched. Several instances may have one
    type string: where a list has it as often as the library, they stand for each other in their order; else
    the line stays.
    """
    facts = FileFacts(request, grammar.layouts, grammar.dtypes)
    if request.stream is not None or facts.layout is None or facts.dtype is None:
        return request
    lines = request.data.decode("utf-8", "surrogateescape").split("\n")
    short = dict(_short(lines, grammar))
    counts = Counter(text for _, text in short.values())
    named = request.plugin_options.get("ck_root")
    root = named if isinstance(named, Path) else None
    written: dict[str, Iterator[str]] = {}
    for number, (direction, text) in short.items():
        if text not in written:
            found = instances_of(direction, facts.layout.name, facts.dtype.value, root).get(text, ())
            written[text] = iter(found if len(found) == counts[text] else ())
        lines[number] = next(written[text], lines[number])
    return replace(request, data="\n".join(lines).encode("utf-8", "surrogateescape")) if short else request


def _short(lines: Sequence[str], grammar: Grammar) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield place, direction and text of each type string."""
    for number, line in enumerate(lines):
        text = instance_text(line, upstream_comments=False) if ", " in line else ""
        try:
            family = grammar.split(text)[0].family if text else None
        except LineError:
            continue
        if family is not None and family.id.startswith(SHORT):
            yield number, (family.direction, text)


@lru_cache(maxsize=8)
def instances_of(
    direction: str, layout: str, dtype: str, root: Path | None = None
) -> Mapping[str, Sequence[str]]:
    """Return type string -> lines of the instances that have it; nothing where no tree says it.

    :param root: the tree; ``None`` for the one that is found.
    """
    try:
        tree = find_headers(root).root.parent
        report = LibraryExtractor().extract(
            ExtractRequest(
                source=tree, directions=(direction,), layouts=(layout,), dtypes=(dtype,), sets=("profiler",)
            )
        )
    except CkprofError:
        return {}
    found: dict[str, list[str]] = {}
    for item in report.lists:
        for line in (line for file in item.files for line in file.lines):
            if isinstance(line, DerivedLine) and line.type_text:
                found.setdefault(line.type_text, []).append(line.text)
    return found
