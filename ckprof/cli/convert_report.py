"""What a conversion did, list by list: as a table and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ckprof.formatting import agreeing, counted
from ckprof.model.conversion import CatalogState, ListState
from ckprof.report.ci import AnnotationLevel, Remark, remark, remarks_on, render
from ckprof.report.document import Document
from ckprof.report.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ckprof.cli.console import Console
    from ckprof.model.conversion import CatalogFile, Conversion, TreeList


SCHEMA: Final = "ckprof.convert"
VERSION: Final = 1

#: values of ``--format``
FORMATS: Final = ("table", "json", "github")

#: differences of a catalog that are printed one by one
_SHOWN: Final = 50


class ConvertReport:
    """All lists and all catalog files of one call."""

    def __init__(self, lists: Sequence[TreeList], files: Sequence[CatalogFile]) -> None:
        self.lists, self.files = lists, files

    def as_document(self) -> Document:
        """Return one row per list, and a summary line."""
        columns: list[Column[TreeList]] = [
            Column("list", lambda item: item.path, text=lambda item: str(item.path)),
            Column("lines", lambda item: item.conversion and item.conversion.lines, align="right"),
            Column("instances", lambda item: _instances(item) if item.conversion else None, align="right"),
            Column(
                "dropped lines",
                lambda item: item.conversion and _counts(item.conversion.dropped_by_rule),
                priority=1,
            ),
            Column("lossy lines", lambda item: item.conversion and len(item.conversion.lossy), align="right"),
            Column("result", lambda item: _state(item, self._files_of(item.path))),
        ]
        table = Table(columns, self.lists, elsewhere="--format json has every column")
        return Document([table, self._summary()])

    def as_json(self) -> str:
        """Return the report as a JSON object with schema and version."""
        return json.dumps(
            {
                "schema": SCHEMA,
                "version": VERSION,
                "lists": [self._list_values(item) for item in self.lists],
                "catalogs": [_file_values(file) for file in self.files],
            },
            indent=2,
        )

    def as_annotations(self) -> str:
        """Return remarks on wrong lines and catalogs, on what was left out, and on what is lossy."""
        remarks = [one for item in self.lists for one in _remarks(item)]
        remarks += [
            remark(AnnotationLevel.ERROR, f"catalog {file.path}", text, file.path)
            for file in self.files
            for text in _differences(file)
        ]
        return render(remarks, self._summary())

    def show(self, form: str | None, console: Console) -> None:
        """Print the report in one of :data:`FORMATS`, as a table unless one is named."""
        if form == "github":
            console.exact(self.as_annotations())
        else:
            console.result(self.as_json() if form == "json" else self.as_document())

    def difference_lines(self) -> Iterator[str]:
        """Yield one line per difference between the files and what they should hold."""
        for file in self.files:
            for text in _differences(file):
                yield f"{file.path}: {text}"

    def _files_of(self, path: Path) -> list[CatalogFile]:
        return [file for file in self.files if path in file.sources]

    def _summary(self) -> str:
        lists = Counter(item.state.value for item in self.lists)
        files = Counter(file.state.value for file in self.files)
        dropped: Counter[str] = Counter()
        for item in self.lists:
            if item.conversion is not None:
                dropped += item.conversion.dropped_by_rule
        instances = sum(len(file.catalog.records) for file in self.files)
        parts = [
            f"{counted(len(self.lists), 'list')}: {_counts(lists)}",
            f"{counted(len(self.files), 'catalog')} with {counted(instances, 'instance')}: {_counts(files)}"
            if self.files
            else "no catalogs",
        ]
        if dropped:
            parts.append(f"dropped lines: {_counts(dropped)}")
        lossy = sum(len(item.conversion.lossy) for item in self.lists if item.conversion is not None)
        if lossy:
            parts.append(f"lossy lines: {lossy}")
        return "; ".join(parts)

    def _list_values(self, item: TreeList) -> dict[str, Any]:
        values: dict[str, Any] = {"list": str(item.path), "state": item.state.value}
        conversion = item.conversion
        if conversion is not None:
            values |= {
                "lines": conversion.lines,
                "instances": _instances(item),
                "dropped": dict(sorted(conversion.dropped_by_rule.items())),
                "lossy_lines": [{"line": line, "what": what} for line, what in conversion.lossy.items()],
                "dropped_lines": [
                    {"line": line, "rule": why.rule, "reason": why.message}
                    for line, why in conversion.dropped.items()
                ],
                "notes": list(conversion.notes),
                "catalogs": [str(file.path) for file in self._files_of(item.path)],
            }
        if item.reason:
            values["reason"] = item.reason
        if item.error is not None:
            values["errors"] = [
                {"line": one.line, "column": one.column, "message": one.message}
                for one in item.error.diagnostics
            ]
        return values


def _differences(file: CatalogFile) -> Iterator[str]:
    if file.state is CatalogState.MISSING:
        yield f"is missing, expected {counted(len(file.catalog.records), 'instance')}"
    yield from map(str, file.differences[:_SHOWN])
    if len(file.differences) > _SHOWN:
        yield f"... and {len(file.differences) - _SHOWN} more differences"


def _remarks(item: TreeList) -> Iterator[Remark]:
    if item.error is not None:
        yield from remarks_on(item.error)
    if item.conversion is None:
        return
    for line, why in item.conversion.dropped.items():
        if why.rule == "error":
            yield remark(AnnotationLevel.WARNING, "excluded", why.message, item.path, line)
    for line, what in item.conversion.lossy.items():
        yield remark(AnnotationLevel.NOTICE, "lossy", what, item.path, line)


def _file_values(file: CatalogFile) -> dict[str, Any]:
    catalog = file.catalog
    return {
        "path": str(file.path),
        "state": file.state.value,
        "variant": catalog.variant,
        "layout": catalog.layout.name,
        "datatype": catalog.dtype.value,
        "instances": len(catalog.records),
        "sources": [str(source) for source in file.sources],
        "differences": [asdict(difference) for difference in file.differences],
    }


def _instances(item: TreeList) -> int:
    """Return the instances that a list gives, each once however many catalogs it gives."""
    return len(item.conversion.source_lines) if item.conversion is not None else 0


def _state(item: TreeList, files: list[CatalogFile]) -> str:
    if item.state is ListState.FAILED:
        return f"failed: {item.error.message}" if item.error else "failed"
    if item.state is not ListState.CONVERTED:
        return f"{item.state.value}{': ' if item.reason else ''}{item.reason}"
    if not files:
        return "no catalog"
    return ", ".join(f"{file.state.value} {file.path.name}" for file in files)


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counter.items()))


#: wrong lines of a list that are shown one by one without ``-v``
_WARNINGS: Final = 20


def report_conversion(conversion: Conversion, console: Console) -> None:
    """Say how many lines became instances, and count every dropped line by its reason."""
    count = sum(len(catalog.records) for catalog in conversion.catalogs)
    dropped = ", ".join(f"{n} {rule}" for rule, n in sorted(conversion.dropped_by_rule.items()))
    console.info(
        f"read {conversion.path}: {counted(conversion.lines, 'line')}, {counted(count, 'instance')}"
        + (f"; dropped lines: {dropped}" if dropped else "")
    )
    report_lossy_lines(conversion, console)
    for note in conversion.notes:
        console.info(f"note: {note}")
    report_dropped_lines(conversion, console)


def report_lossy_lines(conversion: Conversion, console: Console) -> None:
    """Warn of lines that say more than catalogs can hold; ``-v`` shows each of them."""
    if not conversion.lossy:
        return
    first, said = next(iter(conversion.lossy.items()))
    lines = counted(len(conversion.lossy), "line")
    console.warning(
        f"{conversion.path}: lossy: kernels of {lines} do without what the list says, "
        f"first in line {first}: {said}"
    )
    for line, what in conversion.lossy.items():
        console.detail(f"{conversion.path}:{line}: lossy: {what}")


def report_dropped_lines(conversion: Conversion, console: Console) -> None:
    """Warn of wrong lines that were left out, the first ones one by one; ``-v`` shows every dropped line."""
    wrong, more = 0, conversion.unlisted.get("error", 0)
    for line, why in conversion.dropped.items():
        where = f"{conversion.path}:{line}"
        if why.rule == "error" and wrong < _WARNINGS:
            wrong += 1
            console.warning(f"{where}: excluded: {why.message}")
        else:
            more += why.rule == "error"
            console.detail(f"{where}: {why.rule}: {why.message}")
    if more:
        lines = counted(more, "more wrong line", "more wrong lines")
        console.warning(f"{conversion.path}: {lines} {agreeing(more, 'was', 'were')} excluded")
    if unlisted := sum(conversion.unlisted.values()):
        console.detail(f"{conversion.path}: {unlisted} more dropped lines, counted above")
