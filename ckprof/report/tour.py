"""Reports of a tour over many lists: one line per list, failures in full, a grand total."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tabulate import tabulate

from ckprof.model.outcome import Status
from ckprof.model.tour import Verdict
from ckprof.report.json_report import as_json
from ckprof.report.rows import RefusedBy, rates, reason_of, refused_by
from ckprof.report.table import status_counts, why_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.tour import Stop, TourResults

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


def render_tour_table(tour: TourResults) -> str:
    """Render the tour for a terminal."""
    return _render(tour, "simple")


def render_tour_markdown(tour: TourResults) -> str:
    """Render the tour as Markdown."""
    return _render(tour, "github")


def render_tour_csv(tour: TourResults) -> str:
    """Render one row per list; empty cells where there is no such figure."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_facts(stop) for stop in tour.stops)
    return buffer.getvalue()


def render_tour_json(tour: TourResults) -> str:
    """Render everything: the summary, and the full report of each list."""
    return json.dumps(tour_as_json(tour), indent=2) + "\n"


def tour_as_json(tour: TourResults) -> dict[str, Any]:
    """Return the report as plain values."""
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "root": tour.root,
        "set": tour.set_name,
        "finished": tour.finished,
        "lists_found": tour.found,
        "lists": {verdict.value: tour.verdicts.get(verdict, 0) for verdict in Verdict},
        "outcomes": {status.value: tour.counts.get(status, 0) for status in Status},
        "stops": [
            {**_facts(stop), "report": as_json(stop.results) if stop.results else None} for stop in tour.stops
        ],
    }


def _facts(stop: Stop) -> dict[str, Any]:
    counts, results = stop.counts, stop.results
    best = _best(stop)
    return {
        "list": stop.name,
        "direction": stop.direction,
        "verdict": stop.verdict.value,
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
        "total_s": stop.seconds if results else None,
        "reason": " ".join(stop.reason.split()),
    }


def _best(stop: Stop) -> _Best | None:
    results = stop.results
    if results is None:
        return None
    instances = {instance.key: instance for instance in results.instances}
    found = []
    for index, problem in enumerate(results.problems):
        outcome = results.best(index)
        if outcome is None or outcome.measurement is None:
            continue
        instance = instances[outcome.key]
        gflops, _ = rates(problem, instance, outcome)
        median_ms = outcome.measurement.median_ms
        found.append(
            _Best(gflops=gflops or 0.0, median_ms=median_ms, name=instance.name, split_k=outcome.split_k)
        )
    return max(found, key=lambda best: best.gflops, default=None)


def _render(tour: TourResults, style: str) -> str:
    columns = (
        *("list", "direction", "instances", "ok", "unsupported", "failed", "best_gflops"),
        *("build_s", "run_s", "total_s", "verdict"),
    )
    headers = [*columns[:6], "best [GFLOP/s]", "build [s]", "run [s]", "total [s]", "verdict"]
    rows = [_facts(stop) for stop in tour.stops]
    rows.append(_total_row(rows))
    table = tabulate(
        [[_cell(row[column]) for column in columns] for row in rows],
        headers=headers,
        tablefmt=style,
        disable_numparse=True,
        colalign=["left", "left", *["right"] * 8, "left"],
    )
    parts = [table, "", *_section("Not run:", _not_run(tour)), *_section("Failed:", _failures(tour))]
    if tour.why:
        found = _refused_by(tour)
        parts += [*why_table(found, style), ""] if found else []
    return "\n".join([*parts, *_closing_lines(tour)]) + "\n"


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


def _not_run(tour: TourResults) -> list[str]:
    return [
        f"{stop.name}: {stop.verdict.value}: {' '.join(stop.reason.split())}"
        for stop in tour.stops
        if stop.results is None
    ]


def _failures(tour: TourResults) -> list[str]:
    lines: list[str] = []
    for stop in tour.stops:
        if stop.results is not None:
            lines += [f"{stop.name}: {line}" for line in _failures_of(stop)]
    return lines


def _failures_of(stop: Stop) -> Iterator[str]:
    results = stop.results
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
        if not any(o.status is not Status.UNSUPPORTED for o in results.of_problem(index)):
            yield f"no instance supports problem {index}: {problem.describe()}"


def _refused_by(tour: TourResults) -> list[RefusedBy]:
    """Return the conditions of all lists and problems together; an instance counts once per problem."""
    total: dict[str, RefusedBy] = {}
    for stop in tour.stops:
        if stop.results is None:
            continue
        for index in range(len(stop.results.problems)):
            for one in refused_by(stop.results, index):
                known = total.get(one.condition)
                total[one.condition] = RefusedBy(
                    condition=one.condition,
                    instances=one.instances + (known.instances if known else 0),
                    alone=one.alone + (known.alone if known else 0),
                    example=known.example if known else f"{stop.name}: {one.example}",
                    example_instance=known.example_instance if known else one.example_instance,
                )
    return sorted(total.values(), key=lambda one: (-one.instances, one.condition))


def _closing_lines(tour: TourResults) -> list[str]:
    verdicts = ", ".join(
        f"{tour.verdicts[verdict]} {verdict.value}" for verdict in Verdict if tour.verdicts.get(verdict)
    )
    lists = f"{len(tour.stops)} list{'s' if len(tour.stops) != 1 else ''}"
    if not tour.finished:
        lists = f"interrupted: {len(tour.stops)} of {tour.found} lists"
    outcomes = status_counts(tour.counts)
    return [
        f"{lists}: {verdicts}" + (f"; {sum(tour.counts.values())} outcomes: {outcomes}" if outcomes else "")
    ]
