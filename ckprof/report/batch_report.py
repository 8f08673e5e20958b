"""Reports of a batch over many lists: one line per list, failures in full, a grand total."""

from __future__ import annotations

import json
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from ckprof.formatting import counted
from ckprof.model.outcome import Status
from ckprof.model.results import ListVerdict, status_counts
from ckprof.report.document import Document
from ckprof.report.layout import Align
from ckprof.report.rows import RequirementCount, reason_of, requirement_counts, rows_of_problem
from ckprof.report.run_data import as_json
from ckprof.report.run_table import why_table
from ckprof.report.table import ESSENTIAL, Column, Table, csv_text
from ckprof.report.unserved import unserved_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.results import BatchResults, ListResult
    from ckprof.report.rows import ResultRow

#: the name that stored reports have
SCHEMA: Final = "ckprof.batch"

#: raised whenever a key changes its meaning or vanishes; new keys do not raise it
VERSION: Final = 1


_COLUMNS: Final = (
    *("list", "direction", "verdict", "instances", "problems", "ok", "unsupported", "failed"),
    *("best_gflops", "best_ms", "best_split_k", "best_instance", "build_s", "run_s", "total_s", "reason"),
)


def render_batch_csv(batch: BatchResults) -> str:
    """Render one row per list; empty cells where there is no such figure."""
    return csv_text([_properties(item) for item in batch.lists], _COLUMNS)


def render_batch_json(batch: BatchResults) -> str:
    """Render everything: the summary, and the full report of each list."""
    values = {
        "schema": SCHEMA,
        "version": VERSION,
        "root": batch.root,
        "set": batch.set_name,
        "finished": batch.finished,
        "partial": not batch.finished,
        "lists_found": batch.found,
        "lists": {verdict.value: batch.verdicts.get(verdict, 0) for verdict in ListVerdict},
        "outcomes": {status.value: batch.counts.get(status, 0) for status in Status},
        "stops": [
            {**_properties(item), "report": as_json(item.results) if item.results else None}
            for item in batch.lists
        ],
    }
    return json.dumps(values, indent=2) + "\n"


def _properties(item: ListResult) -> dict[str, Any]:
    counts, results = item.counts, item.results
    best = _best(item)
    return {
        "list": item.name,
        "direction": item.direction,
        "verdict": item.verdict.value,
        "instances": len(results.instances) if results else None,
        "problems": len(results.problems) if results else None,
        "ok": counts.get(Status.OK, 0) if results else None,
        "unsupported": counts.get(Status.UNSUPPORTED, 0) if results else None,
        "failed": sum(n for status, n in counts.items() if status.is_failure) if results else None,
        "best_gflops": best and (best.gflops or 0.0),
        "best_ms": best and best.measurement and best.measurement.time_ms,
        "best_split_k": best and best.outcome.split_k,
        "best_instance": best and best.instance.name,
        "build_s": results.stages_s.get("build") if results else None,
        "run_s": results.stages_s.get("run") if results else None,
        "total_s": item.seconds if results else None,
        "reason": " ".join(item.reason.split()),
    }


def _best(item: ListResult) -> ResultRow | None:
    """Return the fastest verified outcome of a list, over all its problems."""
    if item.results is None:
        return None
    problems = (rows_of_problem(item.results, index) for index in range(len(item.results.problems)))
    best = [rows[0] for rows in problems if rows and rows[0].rank is not None]
    return max(best, key=lambda row: row.gflops or 0.0, default=None)


def batch_document(batch: BatchResults) -> Document:
    """Return one line per list and a total, failures in full, what was not met if that was asked for."""
    rows = [_properties(item) for item in batch.lists]
    document = Document([Table(_shown_columns(), [*rows, _total_row(rows)])])
    not_run = [
        f"{item.name}: {item.verdict.value}: {' '.join(item.reason.split())}"
        for item in batch.lists
        if item.results is None
    ]
    failures = [f"{item.name}: {line}" for item in batch.lists for line in _failures_of(item)]
    document.add(_section("Not run:", not_run), _section("Failed:", failures))
    counts = _requirement_counts(batch) if batch.why else []
    if counts:
        document.add(why_table(counts))
    document.add(_closing_line(batch))
    return document


def _shown_columns() -> list[Column[dict[str, Any]]]:
    def column(
        key: str, name: str = "", unit: str = "", *, priority: int = ESSENTIAL
    ) -> Column[dict[str, Any]]:
        align: Align = "left" if key in ("list", "direction", "verdict") else "right"
        form = ".1f" if unit else ""
        return Column(name or key, itemgetter(key), unit=unit, align=align, form=form, priority=priority)

    return [
        *map(column, ("list", "direction", "instances", "ok", "unsupported", "failed")),
        column("best_gflops", "best", "GFLOP/s", priority=4),
        column("build_s", "build", "s", priority=1),
        column("run_s", "run", "s", priority=2),
        column("total_s", "total", "s", priority=3),
        column("verdict"),
    ]


def _total_row(rows: list[dict[str, Any]]) -> dict[str, Any]:
    summed = ("instances", "ok", "unsupported", "failed", "build_s", "run_s", "total_s")
    total = {column: sum(row[column] or 0 for row in rows) for column in summed}
    return {**dict.fromkeys(_COLUMNS), "list": "total", **total}


def _section(title: str, lines: list[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)]) if lines else ""


def _failures_of(item: ListResult) -> Iterator[str]:
    results = item.results
    if results is None:
        return
    instances = {instance.key: instance for instance in results.instances}
    for outcome in results.outcomes:
        if outcome.status.is_failure:
            instance = instances[outcome.key]
            where = f"problem {outcome.problem_index}, [{instance.index}] {instance.name}"
            split = f", split-K {outcome.split_k}" if outcome.split_k != 1 else ""
            yield f"{where}{split}: {outcome.status.value}: {reason_of(outcome, why=False)}"
    for index, problem in enumerate(results.problems):
        unserved = unserved_in(results, index)
        if unserved is None or any(o.status is not Status.UNSUPPORTED for o in results.of_problem(index)):
            continue
        if unserved.complete:
            yield f"no instance supports problem {index}: {problem.describe()} ({unserved.reason})"
        else:
            yield f"problem {index}: {problem.describe()}: {unserved.reason}"


def _requirement_counts(batch: BatchResults) -> list[RequirementCount]:
    """Return the conditions of all lists and problems together; an instance counts once per problem."""
    total: dict[str, RequirementCount] = {}
    for item in batch.lists:
        if item.results is None:
            continue
        for index in range(len(item.results.problems)):
            for count in requirement_counts(item.results, index):
                before = total.get(count.condition)
                total[count.condition] = (
                    replace(
                        before, instances=before.instances + count.instances, alone=before.alone + count.alone
                    )
                    if before
                    else replace(count, example=f"{item.name}: {count.example}")
                )
    return sorted(total.values(), key=lambda count: (-count.instances, count.condition))


def _closing_line(batch: BatchResults) -> str:
    verdicts = ", ".join(
        f"{batch.verdicts[verdict]} {verdict.value}" for verdict in ListVerdict if batch.verdicts.get(verdict)
    )
    lists = counted(len(batch.lists), "list")
    if not batch.finished:
        lists = f"interrupted: {len(batch.lists)} of {counted(batch.found, 'list')}"
    outcomes = status_counts(batch.counts)
    return f"{lists}: {verdicts}" + (
        f"; {counted(sum(batch.counts.values()), 'outcome')}: {outcomes}" if outcomes else ""
    )
