"""Migrations as tables, Markdown, CSV, JSON, JUnit XML and an HTML page."""

from __future__ import annotations

import json
from collections import Counter
from importlib.util import find_spec
from math import exp, log
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import PluginError
from ckprof.formatting import change, counted
from ckprof.option import limits_text
from ckprof.plugin.additions import RegistryEntries
from ckprof.plugin.protocols import ComparisonFormat
from ckprof.report.ci import JUnit, add, failure_junit, failure_markdown
from ckprof.report.comparison_text import verdict_line
from ckprof.report.document import Document, Heading
from ckprof.report.figures import number_column
from ckprof.report.inspection_report import row_of
from ckprof.report.table import Column, Table
from ckprof_plugins.old_ck.pairs import Loss, asked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from ckprof_plugins.old_ck.pairs import KernelPair, Migration, PairSide

SCHEMA: Final = "ckprof.migrate"
VERSION: Final = 1
#: figure of a table -> field of an inspection
_FIGURES: Final = {
    "vgpr": "vgprs",
    "spills": "spills",
    "scratch": "scratch_bytes",
    "LDS": "lds_bytes",
    "waves": "waves_per_simd",
    "code": "code_bytes",
}


def migration_document(found: Migration) -> Document:
    """Return a row per line, the conditions that cost or gain support, and summaries."""
    table = Table(_columns(found.pairs), found.pairs, elsewhere=_ELSEWHERE)
    document = Document([_about(found), table])
    conditions = [*_conditions(found.pairs)]
    if conditions:
        document.add(Heading("Support"), Table(_CONDITION, conditions, most_rows=30, elsewhere=_ELSEWHERE))
    for name, rows in _summaries(found.pairs):
        document.add(Heading(f"By {name}"), Table(_summary_columns(name), rows))
    document.add(
        *(f"not compared: {note}" for note in found.notes), verdict_line(found.failures, found.fail_on)
    )
    return document


_ELSEWHERE: Final = "--format json has everything"


def _about(found: Migration) -> str:
    lines = [
        f"{found.direction} on {found.target} {found.arch}: old and new kernels of "
        f"{counted(len(found.pairs), 'line')}, {counted(found.random, 'random problem')} each"
    ]
    lines.append(
        "of {asked:,} questions to each side both support {both:,}, the old kernels alone {lost:,}, "
        "the new ones alone {gained:,}; rules of audits judge {judged:,}".format(**found.answers)
    )
    if found.times:
        lines.append(f"times are {found.times}")
    lines += [f"{count} x {loss.value}: {loss.meaning}" for loss, count in found.counts.items() if count]
    return "\n".join(lines)


def _columns(pairs: Sequence[KernelPair]) -> list[Column[KernelPair]]:
    """Return a column for whatever is known of some pair."""
    columns: list[Column[KernelPair]] = [
        Column("line", lambda pair: pair.source, short=lambda pair: pair.source.rpartition("/")[2]),
        Column("loses", lambda pair: ", ".join(loss.value for loss in pair.losses)),
        Column("both", lambda pair: pair.both, align="right"),
        Column("lost", lambda pair: len(pair.only(pair.old)), align="right"),
        Column("gained", lambda pair: len(pair.only(pair.new)), align="right"),
        Column("results", _results),
    ]
    if any(pair.old.code or pair.new.code for pair in pairs):
        columns += [_figure(name, field) for name, field in _FIGURES.items()]
    if any(pair.ratio for pair in pairs):
        columns += [
            number_column("old us", lambda pair: pair.mean_us(pair.old)),
            number_column("new us", lambda pair: pair.mean_us(pair.new)),
            number_column("change", lambda pair: pair.ratio, change),
            Column("bound by", lambda pair: pair.limit, priority=2),
        ]
    if any(pair.loop(side) for pair in pairs for side in (pair.old, pair.new)):
        columns.append(Column("loop", _loop, priority=3))
    return [
        *columns,
        Column("kernel", lambda pair: pair.kernel.name, names=lambda pair: pair.kernel.shown, priority=1),
        Column("why", _why, whole_below=True),
    ]


def _loop(pair: KernelPair) -> str:
    """Return how many instructions the hot loops have, and of these how many of the matrix unit."""
    loops = [pair.loop(side) for side in (pair.old, pair.new)]
    texts = [f"{sum(one.values())} ({one.get('matrix', 0)} matrix)" if one else "-" for one in loops]
    return " -> ".join(dict.fromkeys(texts))


def _results(pair: KernelPair) -> str:
    counts = Counter(one.value for one in pair.agreements.values())
    return ", ".join(f"{count} {value}" for value, count in counts.items())


def _figure(name: str, field: str) -> Column[KernelPair]:
    def text(pair: KernelPair) -> str:
        values = [str(row_of(side.code)[field]) if side.code else "-" for side in (pair.old, pair.new)]
        return values[0] if values[0] == values[1] else " -> ".join(values)

    return Column(name, text, priority=3 if name in ("code", "scratch") else 4)


def _why(pair: KernelPair) -> str:
    """Return what explains the first loss."""
    for side, what in ((pair.new, "no new kernel"), (pair.old, "no old kernel")):
        if side.reason:
            return f"{what}: {side.reason}"
    lost = pair.conditions(pair.new)
    for at in pair.agreements:
        for side, what in ((pair.new, "new"), (pair.old, "old")):
            if side.outcomes[at].reason:
                return f"{what}: {side.outcomes[at].reason} ({asked(pair.queries[at])})"
    return f"{lost[0][3]} ({lost[0][2]})" if lost else ""


_Condition = tuple[str, str, int, str, str]

_CONDITION: Final[list[Column[_Condition]]] = [
    Column("support", lambda row: row[0]),
    Column("condition", lambda row: row[1]),
    Column("problems", lambda row: row[2], align="right"),
    Column("first", lambda row: row[3], priority=3),
    Column("says", lambda row: row[4], whole_below=True),
]


def _conditions(pairs: Sequence[KernelPair]) -> Iterator[_Condition]:
    """Yield the conditions of all pairs: those of new kernels, which lose support, then those of old ones."""
    for what in ("lost", "gained"):
        found: dict[str, list[tuple[str, int, str, str]]] = {}
        for pair in pairs:
            for condition in pair.conditions(pair.new if what == "lost" else pair.old):
                found.setdefault(condition[0], []).append(condition)
        rows = [(what, rule, sum(one[1] for one in of), *of[0][2:]) for rule, of in found.items()]
        yield from sorted(rows, key=lambda row: -row[2])


#: what pairs are summed up by -> fields of an instance
_GROUPS: Final = {
    "tile": ("tile_m", "tile_n", "tile_k"),
    "pipeline": ("gemm_pipeline",),
    "specialization": ("specialization",),
}


def _summaries(pairs: Sequence[KernelPair]) -> Iterator[tuple[str, list[tuple[str, list[KernelPair]]]]]:
    """Yield what pairs are summed up by, and the pairs of each value; nothing where all have one."""
    for name, fields in _GROUPS.items():
        groups: dict[str, list[KernelPair]] = {}
        for pair in pairs:
            known = pair.kernel.instance.fields()
            values = [str(known[field]) for field in fields if known.get(field) is not None]
            groups.setdefault("x".join(values) or "-", []).append(pair)
        if len(groups) > 1:
            yield name, sorted(groups.items(), key=lambda group: -len(group[1]))


def _summary_columns(name: str) -> list[Column[tuple[str, list[KernelPair]]]]:
    def count(loss: Loss) -> Callable[[tuple[str, list[KernelPair]]], int]:
        return lambda row: sum(loss in pair.losses for pair in row[1])

    def ratio(row: tuple[str, list[KernelPair]]) -> float | None:
        logs = [log(pair.ratio) for pair in row[1] if pair.ratio]
        return exp(fmean(logs)) if logs else None

    return [
        Column(name, lambda row: row[0]),
        Column("lines", lambda row: len(row[1]), align="right"),
        *(Column(loss.value, count(loss), align="right") for loss in Loss),
        number_column("change", ratio, change),
    ]


def _content(found: Migration) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "passed": not found.failures,
        "fail_on": limits_text(found.fail_on),
        "direction": found.direction,
        "target": found.target,
        "arch": found.arch,
        "times": found.times,
        "random": found.random,
        "notes": list(found.notes),
        "answers": dict(found.answers),
        "counts": {loss.value: count for loss, count in found.counts.items()},
        "lines": [_pair(pair) for pair in found.pairs],
    }


def _pair(pair: KernelPair) -> dict[str, Any]:
    def conditions(side: PairSide) -> list[dict[str, Any]]:
        names = ("condition", "problems", "first", "reason")
        return [dict(zip(names, one, strict=True)) for one in pair.conditions(side)]

    return {
        "source": pair.source,
        "losses": {loss.value: amount for loss, amount in pair.losses.items()},
        "old": _side(pair.old),
        "new": _side(pair.new),
        "support": {
            "asked": len(pair.queries),
            "both": pair.both,
            "lost": conditions(pair.new),
            "gained": conditions(pair.old),
        },
        "results": [
            {
                "problem": asked(pair.queries[at]),
                "agreement": one.value,
                "old": _outcome(pair.old, at),
                "new": _outcome(pair.new, at),
            }
            for at, one in pair.agreements.items()
        ],
        "times": [
            {
                "problem": asked(pair.queries[at]),
                "old_us": pair.old.times[at][0],
                "new_us": pair.new.times[at][0],
                "old_limit": pair.old.times[at][1],
                "new_limit": pair.new.times[at][1],
                "old_loop": pair.old.loops.get(at),
                "new_loop": pair.new.loops.get(at),
            }
            for at in pair.timed
        ],
        "splits": [
            {
                "problem": asked(pair.queries[at]),
                "old": [pair.old.answers[at].split_k, pair.old.answers[at].workspace_bytes],
                "new": [pair.new.answers[at].split_k, pair.new.answers[at].workspace_bytes],
            }
            for at in pair.splits
        ],
        "rules": [{"problem": asked(pair.queries[at]), "rule": said} for at, said in pair.rules.items()],
    }


def _side(side: PairSide) -> dict[str, Any]:
    kernel = side.candidate
    return {
        "kernel": kernel.name if kernel else None,
        "key": kernel.instance.key if kernel else None,
        "pipeline": kernel.pipeline.id if kernel else None,
        "reason": side.reason,
        "printed": side.strings[0],
        "expected": side.strings[1],
        "code": row_of(side.code) if side.code else None,
    }


def _outcome(side: PairSide, at: int) -> dict[str, Any]:
    outcome = side.outcomes[at]
    seen = outcome.verification
    return {
        "status": outcome.status.value,
        "reason": outcome.reason,
        "max_error": seen.max_error if seen else None,
    }


def _render_json(found: Migration) -> str:
    return json.dumps(_content(found), indent=1) + "\n"


def _render_junit(found: Migration) -> str:
    """Render a suite for each loss that fails the command, and a case for each line."""
    junit = JUnit("ckprof migrate")
    for loss in found.fail_on:
        suite = junit.suite(loss.value)
        for pair in found.pairs:
            case = junit.case(suite, pair.kernel.selected().lasting_name())
            if loss in pair.fails(found.fail_on):
                add(case, "failure", f"{pair.source}: {_why(pair)}", type=loss.value, message=loss.meaning)
    return junit.render()


def _render_html(found: Migration) -> str:
    if find_spec("ckprof_plugins.pages") is None:
        raise PluginError("--format html needs the pages package, which is not installed")
    from ckprof_plugins.pages.page import render_document

    return render_document("ckprof migrate", migration_document(found))


_RENDERERS: Final[Mapping[str, tuple[str, Callable[[Any], str]]]] = {
    "csv": ("one row per line", lambda found: Table(_columns(found.pairs), found.pairs).csv()),
    "html": ("one page", _render_html),
    "json": ("everything, with schema and version", _render_json),
    "junit": ("one test case per loss and line, for CI", _render_junit),
    "md": ("tables in Markdown", lambda found: migration_document(found).markdown()),
    "table": ("tables for a terminal", lambda found: migration_document(found).text()),
}
_FAILURES: Final = {"junit": failure_junit, "md": failure_markdown}
#: every format
MIGRATION_FORMATS: Final = RegistryEntries(
    "migration format",
    [
        (
            id_,
            "ckprof",
            ComparisonFormat(id=id_, label=label, render=render, render_failure=_FAILURES.get(id_)),
        )
        for id_, (label, render) in _RENDERERS.items()
    ],
)
