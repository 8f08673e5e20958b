"""What traces, tables and logs hold as text: names of kernels, lines, what a profiler printed in them.

Every search is linear in the length of a line, whatever it holds: logs have lines of any length.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError, input_errors
from ckprof_plugins.consumers.audit import read_file

if TYPE_CHECKING:
    from pathlib import Path

#: columns of profilers' tables that hold names of kernels
_COLUMNS: Final = ("KernelName", "Kernel_Name", "Name", "kernel_name", "Kernel Name")
_WORD: Final = re.compile(r"[A-Za-z_]\w+")
_SIZED: Final = re.compile(r"(?<!\d)\d{1,4}(?=[A-Za-z_])")
#: longest name in a mangled symbol that is looked at
_NAME_MOST: Final = 512
#: longest string of an operation with its arguments
_CALL_MOST: Final = 8192


def identifiers(text: str) -> frozenset[str]:
    """Return the names in a text: its words, and of mangled symbols the names with their lengths before."""
    names = set(_WORD.findall(text))
    for found in _SIZED.finditer(text):
        length = int(found[0])
        name = text[found.end() : found.end() + length] if 2 < length <= _NAME_MOST else ""
        if len(name) == length and _WORD.fullmatch(name):
            names.add(name)
    return frozenset(names)


def heads_of(*names: str) -> re.Pattern[str]:
    """Return what finds angle brackets, and which of them follow a name.

    :param names: patterns of names.
    """
    return re.compile(rf"(?<!\w)(?:{'|'.join(names)})<|[<>]")


def calls_in(text: str, heads: re.Pattern[str]) -> list[str]:
    """Return the names with their arguments in angle brackets, in the order of the text.

    :param heads: of :func:`heads_of`.
    """
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for item in heads.finditer(text):
        if item[0] != ">":
            opened.append(item.start())
        elif opened:
            start = opened.pop()
            if text[start] != "<" and item.end() - start <= _CALL_MOST:
                found.append((start, item.end()))
    return list(starmap(lambda start, end: text[start:end], sorted(found)))


_STATE: Final = re.compile(r"\[(Valid|Error|Not supported)\]")
_TIME: Final = re.compile(r"\bPerf: *(\d[\d.e+-]*) ms")
_INSTANCE: Final = re.compile(r"\(instance (\d+)\)|^\s*\[(\d+)\] ")
_SPLITS: Final = re.compile(r"\bSplitK (-?\d+)")
_STATES: Final = {
    "Valid": "ran with right values",
    "Error": "ran with wrong values",
    "Not supported": "does not support the problem",
}


def printed_by_profiler(line: str) -> str:
    """Return what ckProfiler's line says of a kernel that it names, for people; empty if nothing."""
    state, time, splits = (pattern.search(line) for pattern in (_STATE, _TIME, _SPLITS))
    instance = _INSTANCE.search(line)
    parts = [_STATES[state[1]]] if state else []
    if "does not support this problem" in line:
        parts.append(_STATES["Not supported"])
    parts += [f"{time[1]} ms"] if time else []
    parts += [f"instance {instance[1] or instance[2]} of those that support the problem"] if instance else []
    parts += [f"split-K {splits[1]}"] if splits else []
    return f"ckProfiler: {', '.join(parts)}" if parts else ""


def texts_of(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield text, place and count of what a trace or log holds: names of kernels, or lines.

    :raises InputError: it cannot be read.
    """
    text = read_file(path).decode("utf-8-sig", errors="replace")
    document = _document(text, path)
    if document is not None:
        for name, count in Counter(_events(document)).items():
            yield name, str(path), count
        return
    header, _, _ = text.partition("\n")
    columns = next(csv.reader([header[:4096]]), []) if "," in header else []
    column = next((columns.index(name) for name in _COLUMNS if name in columns), None)
    if column is not None:
        yield from _of_table(text, column, path)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield line.rstrip("\r"), f"{path}:{number}", 1


def _of_table(text: str, column: int, path: Path) -> Iterator[tuple[str, str, int]]:
    # a name may be longer than the limit of cells, which is one of the process
    csv.field_size_limit(1 << 30)
    rows = csv.reader(text.splitlines(keepends=True))
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    line = rows.line_num + 1
    with input_errors(csv.Error, "cannot be read as a table", path):
        for row in rows:
            name = row[column] if len(row) > column and line > 1 else ""
            counts[name] += 1
            first.setdefault(name, line)
            line = rows.line_num + 1
    for name, count in counts.items():
        if name:
            yield name, f"{path}:{first[name]}", count


def _document(text: str, path: Path) -> Any:
    """Return what a JSON file holds; ``None`` for another file.

    :raises InputError: the name says that it is one, and it is not.
    """
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        with input_errors((msgspec.DecodeError, RecursionError), "is no JSON", path):
            return msgspec.json.decode(text)
    except InputError:
        # lines of logs begin with such brackets as well
        if path.suffix == ".json":
            raise
        return None


def _events(document: Any) -> Iterator[str]:
    """Yield the names of the kernels of a trace."""
    events = document.get("traceEvents", []) if isinstance(document, Mapping) else document
    for event in events if isinstance(events, Sequence) else []:
        if isinstance(event, Mapping) and event.get("cat") in ("kernel", "Kernel", None):
            name = event.get("name")
            if isinstance(name, str):
                yield name
