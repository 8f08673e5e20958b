"""Reports of a batch over many lists: one line per list, failures in full, a grand total."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tabulate import tabulate

from ckprof.model.batch_results import Verdict
from ckprof.model.outcome import Status
from ckprof.plain_text import csv_cell, markdown_cell, one_line
from ckprof.report.json_report import as_json
from ckprof.report.rows import RequirementCount, rates, reason_of, requirement_counts
from ckprof.report.run_table import status_counts, why_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.batch_results import BatchResults, ListResult

#: the name that stored reports have
SCHEMA: Final = "ckprof.tour"

#: raised whenever a key changes its meaning or vanishes; new keys do not raise it
VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Best:
    """The fastest verified outcome of a list, over all its problems."""

    gflops: float
    median_ms: float
    name: str
    split_k: int


_COLUMNS: Final = (
    *("list", "direction", "verdict", "instances", "problems", "ok", "unsupported", "failed"),
    *("best_gflops", "best_ms", "best_split_k", "best_instance", "build_s", "run_s", "total_s", "reason"),
)


def render_batch_table(batch: BatchResults) -> str:
    """Render the batch for a terminal."""
    return _render(batch, "simple")


def render_batch_markdown(batch: BatchResults) -> str:
    """Render the batch as Markdown."""
    return _render(batch, "github")


def render_batch_csv(batch: BatchResults) -> str:
    """Render one row per list; empty cells where there is no such figure."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for item in batch.lists:
        writer.writerow({name: csv_cell(value) for name, value in _properties(item).items()})
    return buffer.getvalue()


def render_batch_json(batch: BatchResults) -> str:
    """Render everything: the summary, and the full report of each list."""
    return json.dumps(batch_as_json(batch), indent=2) + "\n"


def batch_as_json(batch: BatchResults) -> dict[str, Any]:
    """Return the report as plain values."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "root": batch.root,
        "set": batch.set_name,
        "finished": batch.finished,
        "partial": not batch.finished,
        "lists_found": batch.found,
        "lists": {verdict.value: batch.verdicts.get(verdict, 0) for verdict in Verdict},
        "outcomes": {status.value: batch.counts.get(status, 0) for status in Status},
        "stops": [
            {**_properties(item), "report": as_json(item.results) if item.results else None}
            for item in batch.lists
        ],
    }


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
        "best_gflops": best.gflops if best else None,
        "best_ms": best.median_ms if best else None,
        "best_split_k": best.split_k if best else None,
        "best_instance": best.name if best else None,
        "build_s": results.stages_s.get("build") if results else None,
        "run_s": results.stages_s.get("run") if results else None,
        "total_s": item.seconds if results else None,
        "reason": " ".join(item.reason.split()),
    }


def _best(item: ListResult) -> _Best | None:
    results = item.results
    if results is None:
        return None
    instances = {instance.key: instance for instance in results.instances}
    found = []
    for index, problem in enumerate(results.problems):
        outcome = results.best(index)
        if outcome is None or outcome.measurement is None:
            continue
        instance = instances[outcome.key]
        timed = rates(problem, instance, outcome)
        median_ms = outcome.measurement.median_ms
        found.append(
            _Best(
                gflops=timed.gflops if timed else 0.0,
                median_ms=median_ms,
                name=instance.name,
                split_k=outcome.split_k,
            )
        )
    return max(found, key=lambda best: best.gflops, default=None)


def _render(batch: BatchResults, style: str) -> str:
    columns = (
        *("list", "direction", "instances", "ok", "unsupported", "failed", "best_gflops"),
        *("build_s", "run_s", "total_s", "verdict"),
    )
    headers = [*columns[:6], "best [GFLOP/s]", "build [s]", "run [s]", "total [s]", "verdict"]
    rows = [_properties(item) for item in batch.lists]
    rows.append(_total_row(rows))
    table = tabulate(
        [[_text(_cell(row[column]), style) for column in columns] for row in rows],
        headers=headers,
        tablefmt=style,
        disable_numparse=True,
        colalign=["left", "left", *["right"] * 8, "left"],
    )
    parts = [table, "", *_section("Not run:", _not_run(batch)), *_section("Failed:", _failures(batch))]
    if batch.why:
        found = _requirement_counts(batch)
        parts += [*why_table(found, style), ""] if found else []
    return "\n".join([*parts, *_closing_lines(batch)]) + "\n"


def _text(text: str, style: str) -> str:
    return markdown_cell(text) if style == "github" else one_line(text)


def _total_row(rows: list[dict[str, Any]]) -> dict[str, Any]:
    def total(column: str) -> float | int:
        return sum(row[column] or 0 for row in rows)

    summed = ("instances", "ok", "unsupported", "failed", "build_s", "run_s", "total_s")
    return {
        **dict.fromkeys(_COLUMNS),
        "list": "total",
        **{column: total(column) for column in summed},
    }


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _section(title: str, lines: list[str]) -> list[str]:
    return [title, *(f"  {line}" for line in lines), ""] if lines else []


def _not_run(batch: BatchResults) -> list[str]:
    return [
        f"{item.name}: {item.verdict.value}: {' '.join(item.reason.split())}"
        for item in batch.lists
        if item.results is None
    ]


def _failures(batch: BatchResults) -> list[str]:
    lines: list[str] = []
    for item in batch.lists:
        if item.results is not None:
            lines += [f"{item.name}: {line}" for line in _failures_of(item)]
    return lines


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
        found = results.of_problem(index)
        if (found or not results.partial) and all(o.status is Status.UNSUPPORTED for o in found):
            yield f"no instance supports problem {index}: {problem.describe()}"


def _requirement_counts(batch: BatchResults) -> list[RequirementCount]:
    """Return the conditions of all lists and problems together; an instance counts once per problem."""
    total: dict[str, RequirementCount] = {}
    for item in batch.lists:
        if item.results is None:
            continue
        for index in range(len(item.results.problems)):
            for one in requirement_counts(item.results, index):
                known = total.get(one.condition)
                total[one.condition] = RequirementCount(
                    condition=one.condition,
                    instances=one.instances + (known.instances if known else 0),
                    alone=one.alone + (known.alone if known else 0),
                    example=known.example if known else f"{item.name}: {one.example}",
                    example_instance=known.example_instance if known else one.example_instance,
                )
    return sorted(total.values(), key=lambda one: (-one.instances, one.condition))


def _closing_lines(batch: BatchResults) -> list[str]:
    verdicts = ", ".join(
        f"{batch.verdicts[verdict]} {verdict.value}" for verdict in Verdict if batch.verdicts.get(verdict)
    )
    lists = f"{len(batch.lists)} list{'s' if len(batch.lists) != 1 else ''}"
    if not batch.finished:
        lists = f"interrupted: {len(batch.lists)} of {batch.found} lists"
    outcomes = status_counts(batch.counts)
    return [
        f"{lists}: {verdicts}" + (f"; {sum(batch.counts.values())} outcomes: {outcomes}" if outcomes else "")
    ]
