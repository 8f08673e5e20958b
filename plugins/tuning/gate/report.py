"""Comparisons of predictions as tables, Markdown, JSON, JUnit XML and remarks for GitHub."""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import PluginError
from ckprof.formatting import agreeing, change, counted
from ckprof.option import limits_text
from ckprof.plugin.additions import RegistryEntries
from ckprof.plugin.protocols import ComparisonFormat
from ckprof.report.ci import (
    AnnotationLevel,
    JUnit,
    add,
    failure_annotations,
    failure_junit,
    failure_markdown,
    remark_at,
    render,
)
from ckprof.report.comparison_text import verdict_line
from ckprof.report.document import Block, Document, Heading
from ckprof.report.figures import number_column
from ckprof.report.table import Column, Table
from ckprof.sanitize import json_text
from ckprof_plugins.tuning.gate.causes import without_registers
from ckprof_plugins.tuning.gate.comparison import Regression
from ckprof_plugins.tuning.gate.loops import loop_table, side_by_side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ckprof_plugins.tuning.gate.baseline import KernelFigures
    from ckprof_plugins.tuning.gate.bisection import Bisection, Tried
    from ckprof_plugins.tuning.gate.causes import Reason
    from ckprof_plugins.tuning.gate.comparison import KernelChange, PredictionDiff

SCHEMA: Final = "ckprof.predict-diff"
VERSION: Final = 1
BISECT_SCHEMA: Final = "ckprof.predict-bisect"
BISECT_VERSION: Final = 1
#: said wherever a time of a comparison is shown
_NOT_MEASURED: Final = "times are predicted from machine code, not measured"
#: rows whose reasons are listed
_EXPLAINED: Final = 20
_ELSEWHERE: Final = "--format json has everything"


def diff_document(found: PredictionDiff, *, loops: bool = False) -> Document:
    """Return a table of what differs, why the slowest rows changed, and the verdict.

    :param loops: with both loops of each of these rows next to each other.
    """
    differing = found.differing
    document = Document([_about(found, len(differing))])
    if differing:
        document.add(Table(_columns(differing), differing, elsewhere=_ELSEWHERE))
    explained = [row for row in differing if row.reasons or _lost(row)]
    for row in explained[:_EXPLAINED]:
        document.add(Heading(f"{row.either.line}: {row.either.name}", 3), *_why(row))
        if loops and row.before and row.after:
            document.add(loop_table(side_by_side(row.before, row.after)))
    if len(explained) > _EXPLAINED:
        document.add(f"... and {len(explained) - _EXPLAINED} more; {_ELSEWHERE}")
    document.add(verdict_line(found.failures, found.fail_on))
    return document


def _about(found: PredictionDiff, differing: int) -> str:
    rows = counted(len(found.rows), "prediction")
    lines = [
        f"before: {found.before} ({found.old.compiler})",
        f"after: {found.after} ({found.new.compiler})",
        f"{found.new.direction} on {found.new.gpu} ({found.new.arch}): {rows}, {differing} of them "
        f"{agreeing(differing, 'differs', 'differ')}; " + _NOT_MEASURED,
    ]
    if found.ratio is not None and differing:
        lines.append(f"geometric mean of all times: {change(found.ratio)}")
    lines += [f"{count} x {kind.value}: {kind.meaning}" for kind, count in found.counts.items() if count]
    return "\n".join(lines)


def _columns(rows: Sequence[KernelChange]) -> list[Column[KernelChange]]:
    """Return a column for whatever differs in some row."""

    def of(side: str, field: str) -> Callable[[KernelChange], Any]:
        def value(row: KernelChange) -> Any:
            figures = getattr(row, side)
            return getattr(figures, field) if figures is not None and row.predicted else None

        return value

    columns: list[Column[KernelChange]] = [
        Column("line", lambda row: row.either.line, short=lambda row: row.either.line.rpartition("/")[2]),
        Column("problem", lambda row: row.problem, priority=3),
        number_column("before us", of("old", "time_us")),
        number_column("after us", of("new", "time_us")),
        number_column("change", lambda row: row.ratio, change),
        number_column("cycles before", of("old", "cycles"), "{:,.0f}".format, priority=2),
        number_column("after", of("new", "cycles"), "{:,.0f}".format, priority=2),
        Column("bound by", partial(_arrow, lambda one: one.limit), priority=2),
    ]
    for name, value in _FIGURES.items():
        if any(row.predicted and value(row.predicted[0]) != value(row.predicted[1]) for row in rows):
            columns.append(Column(name, partial(_arrow, value), priority=3))
    return [
        *columns,
        Column("kernel", lambda row: row.either.name, priority=1),
        Column("why", _first, whole_below=True),
    ]


#: column -> figure that differs
_FIGURES: Final[Mapping[str, Callable[[KernelFigures], object]]] = {
    "vgprs": lambda one: one.needs.get("vgprs", 0),
    "spills": lambda one: one.spills,
    "scratch": lambda one: one.needs.get("scratch_bytes", 0),
    "LDS": lambda one: one.needs.get("lds_bytes", 0),
    "wg/CU": lambda one: one.resident,
}


def _arrow(value: Callable[[KernelFigures], object], row: KernelChange) -> str:
    if row.predicted is None:
        return ""
    return " -> ".join(dict.fromkeys(str(value(side)) for side in row.predicted))


def _first(row: KernelChange) -> str:
    return _lost(row) or (row.reasons[0].text if row.reasons else "")


def _lost(row: KernelChange) -> str:
    """Return what a row without two times is."""
    if row.old is None or row.new is None:
        return f"only {'after' if row.old is None else 'before'}"
    if row.predicted is not None:
        return ""
    reason = row.new.reason or row.old.reason
    return f"{row.old.status} -> {row.new.status}" + (f": {reason}" if reason else "")


def _why(row: KernelChange) -> Iterator[str | Block]:
    yield row.problem + (f", split_k {row.either.split_k}" if row.either.split_k != 1 else "")
    if lost := _lost(row):
        yield lost
        return
    old, new = row.predicted or (row.either, row.either)
    if waits := _stalls(old, new):
        yield waits
    shown: list[tuple[str, ...]] = []
    for reason in row.reasons:
        yield reason.text
        place = tuple(_place(reason))
        if place and place not in shown:
            shown.append(place)
            yield Block(place)


#: share of the waves' time by which waits have to differ to be named
_NOTABLE: Final = 0.02


def _stalls(old: KernelFigures, new: KernelFigures) -> str:
    names = sorted({*old.stalls, *new.stalls})
    changed = [
        f"{name} {old.stalls.get(name, 0):.0%} -> {new.stalls.get(name, 0):.0%}"
        for name in names
        if abs(old.stalls.get(name, 0) - new.stalls.get(name, 0)) >= _NOTABLE
    ]
    return f"share of the waves' time that they wait for: {', '.join(changed)}" if changed else ""


def _place(reason: Reason) -> Iterator[str]:
    """Yield the instructions of both sides as differences are usually shown; registers make none."""
    old, new = ([*map(without_registers, texts)] for texts in (reason.before, reason.after))
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            yield from (f"  {text}" for text in reason.after[j1:j2])
        else:
            yield from (f"- {text}" for text in reason.before[i1:i2])
            yield from (f"+ {text}" for text in reason.after[j1:j2])


def _render_json(found: PredictionDiff) -> str:
    return json_text(_values(found), 1) + "\n"


def _values(found: PredictionDiff) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "predicted": True,
        "passed": not found.failures,
        "fail_on": limits_text(found.fail_on),
        "before": _side(found, found.before, "old"),
        "after": _side(found, found.after, "new"),
        "model": found.new.model,
        "gpu": found.new.gpu,
        "arch": found.new.arch,
        "direction": found.new.direction,
        "ratio": found.ratio,
        "counts": {kind.value: count for kind, count in found.counts.items()},
        "rows": [_row(row, found) for row in found.rows],
    }


def _side(found: PredictionDiff, name: str, side: str) -> dict[str, str]:
    return {"name": name, "compiler": getattr(found, side).compiler}


def _row(row: KernelChange, found: PredictionDiff) -> dict[str, Any]:
    return {
        "problem": row.problem,
        "line": row.either.line,
        "kernel": row.either.name,
        "key": row.either.key,
        "split_k": row.either.split_k,
        "ratio": row.ratio,
        "regressions": {kind.value: amount for kind, amount in row.regressions.items()},
        "fails": [kind.value for kind in row.fails(found.fail_on)],
        "before": msgspec.to_builtins(row.old) if row.old else None,
        "after": msgspec.to_builtins(row.new) if row.new else None,
        "reasons": [
            {
                "cause": reason.cause.value,
                "text": reason.text,
                "before": list(reason.before),
                "after": list(reason.after),
            }
            for reason in row.reasons
        ],
    }


def _text(row: KernelChange) -> str:
    """Return a row in one line."""
    if row.predicted is None:
        return _lost(row)
    old, new = row.predicted
    times = f"{change(new.time_us / old.time_us)}: {old.time_us:.4g} -> {new.time_us:.4g} us predicted"
    return f"{times}; {_first(row)}" if row.reasons else times


def _render_junit(found: PredictionDiff) -> str:
    """Render a suite for each problem, and a case for each kernel."""
    junit = JUnit("ckprof predict")
    suites: dict[str, Any] = {}
    for row in found.rows:
        if row.problem not in suites:
            suites[row.problem] = junit.suite(f"{found.new.direction} {row.problem}")
        splits = f" (split-K {row.either.split_k})" if row.either.split_k != 1 else ""
        case = junit.case(suites[row.problem], f"{row.either.name} {row.either.key[:8]}{splits}")
        failing = row.fails(found.fail_on)
        if failing:
            text = "\n".join((row.either.line, *(reason.text for reason in row.reasons)))
            add(case, "failure", text, type=failing[0].value, message=_text(row))
        elif row.predicted is None:
            add(case, "skipped", message=_text(row))
    return junit.render()


def _render_github(found: PredictionDiff) -> str:
    """Render an error for whatever fails, and a notice for what else became worse."""
    remarks = []
    for row in found.rows:
        worse = [kind for kind in row.regressions if kind is not Regression.FASTER]
        if worse:
            level = AnnotationLevel.ERROR if row.fails(found.fail_on) else AnnotationLevel.NOTICE
            title = f"{', '.join(kind.value for kind in worse)}: {row.either.name}"
            remarks.append(remark_at(row.either.line, level, title, f"{row.problem}: {_text(row)}"))
    verdict = verdict_line(found.failures, found.fail_on)
    return render(remarks, f"{found.before} and {found.after}, predicted, not measured: {verdict}")


def _render_html(found: PredictionDiff) -> str:
    if find_spec("ckprof_plugins.pages") is None:
        raise PluginError("--format html needs the pages package, which is not installed")
    from ckprof_plugins.pages.page import render_document

    return render_document("ckprof predict --diff", diff_document(found, loops=True))


_RENDERERS: Final[Mapping[str, tuple[str, Callable[[Any], str]]]] = {
    "github": ("remarks for GitHub Actions", _render_github),
    "html": ("one page", _render_html),
    "json": ("everything, with schema and version", _render_json),
    "junit": ("one test case per problem and kernel, for CI", _render_junit),
    "md": ("tables in Markdown", lambda found: diff_document(found).markdown()),
    "table": ("tables for a terminal", lambda found: diff_document(found).text()),
}


def bisection_document(found: Bisection) -> Document:
    """Return a row for each state that was looked at; the last good and the first bad one, compared."""
    first = found.tried[0].diff
    columns: list[Column[Tried]] = [
        Column("state", lambda row: row.index, align="right"),
        Column("name", lambda row: row.name),
        Column("verdict", lambda row: row.verdict),
        number_column("time", lambda row: row.diff.ratio if row.diff else None, change),
        Column(
            "why",
            lambda row: row.reason or ", ".join(row.diff.failures if row.diff else ()),
            whole_below=True,
        ),
    ]
    about = f"{counted(len(found.states), 'state')}, {len(found.tried)} of them looked at; {_NOT_MEASURED}"
    document = Document([about, Table(columns, found.tried)])
    if found.diff is None:
        asked = ",".join(limits_text(first.fail_on if first else ())) or "none"
        document.add(f"nothing became worse (--fail-on {asked})")
        return document
    document.add(*diff_document(found.diff).parts, f"first bad state: {' or '.join(found.suspects)}")
    return document


def bisection_values(found: Bisection) -> dict[str, Any]:
    """Return everything, as JSON has it."""
    return {
        "schema": BISECT_SCHEMA,
        "version": BISECT_VERSION,
        "predicted": True,
        "states": list(found.states),
        "tried": [
            {
                "index": one.index,
                "name": one.name,
                "verdict": one.verdict,
                "ratio": one.diff.ratio if one.diff else None,
                "failures": one.diff.failures if one.diff else [],
                "reason": one.reason,
            }
            for one in found.tried
        ],
        "suspects": list(found.suspects),
        "diff": _values(found.diff) if found.diff else None,
    }


_FAILURES: Final = {"github": failure_annotations, "junit": failure_junit, "md": failure_markdown}
#: every format
DIFF_FORMATS: Final = RegistryEntries(
    "format of a comparison of predictions",
    [
        (
            id_,
            "ckprof",
            ComparisonFormat(id=id_, label=label, render=render, render_failure=_FAILURES.get(id_)),
        )
        for id_, (label, render) in _RENDERERS.items()
    ],
)
