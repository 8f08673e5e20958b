"""Texts of traces and logs: names of kernels in tables and events, or lines."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

#: columns of profilers' tables that hold names of kernels
_COLUMNS: Final = ("KernelName", "Kernel_Name", "Name", "kernel_name", "Kernel Name")
_WORD: Final = re.compile(r"[A-Za-z_]\w+")
_SIZED: Final = re.compile(r"\d+")


def identifiers(text: str) -> frozenset[str]:
    """Return the names in a text: its words, and of mangled symbols the names with their lengths before."""
    names = set(_WORD.findall(text))
    for found in _SIZED.finditer(text):
        length = int(found[0]) if len(found[0]) < 5 else 0
        name = text[found.end() : found.end() + length]
        if length > 2 and len(name) == length and _WORD.fullmatch(name):
            names.add(name)
    return frozenset(names)


def texts_of(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield text, place and count of what a trace or log holds: names of kernels, or lines.

    :raises InputError: it cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
    start = text.lstrip()[:1]
    if start in ("{", "["):
        yield from _of_json(text, path)
        return
    header = next(csv.reader(io.StringIO(text)), [])
    column = next((name for name in _COLUMNS if name in header), None)
    if column is not None:
        counts: Counter[str] = Counter()
        first: dict[str, int] = {}
        for number, row in enumerate(csv.DictReader(io.StringIO(text)), 2):
            name = row.get(column) or ""
            counts[name] += 1
            first.setdefault(name, number)
        for name, count in counts.items():
            if name:
                yield name, f"{path}:{first[name]}", count
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield line, f"{path}:{number}", 1


def _of_json(text: str, path: Path) -> Iterator[tuple[str, str, int]]:
    try:
        document: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as exc:
        raise InputError(f"is no JSON: {exc}", path) from None
    events = document.get("traceEvents", []) if isinstance(document, Mapping) else document
    counts: Counter[str] = Counter()
    for event in events if isinstance(events, Sequence) else []:
        if isinstance(event, Mapping) and event.get("cat") in ("kernel", "Kernel", None):
            name = event.get("name")
            if isinstance(name, str):
                counts[name] += 1
    for name, count in counts.items():
        yield name, str(path), count
