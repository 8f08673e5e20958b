"""Instances, and why others were left out, as ``list`` and ``generate`` print and export them."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.files import write_output
from ckprof.formatting import counted
from ckprof.version import __version__

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from ckprof.cli.console import Console
    from ckprof.kernels.candidates import Candidate, Rejection
    from ckprof.kernels.choose import Selection
    from ckprof.measure.requests import RunRequest
    from ckprof.report.table import Column, Table


#: Values of ``--format``.
FORMATS: Final = ("table", "json", "csv", "names")
SCHEMA: Final = "ckprof-instances"
VERSION: Final = 1

_REASON_HEADERS: Final = ("name", "rule", "found", "allowed", "message")


def render_instances(chosen: Selection, format_: str) -> str | Table[Candidate]:
    """Return the instances in one of :data:`FORMATS`."""
    if format_ == "names":
        return "\n".join(candidate.name for candidate in chosen.candidates)
    if format_ == "json":
        return _json([_record(candidate) for candidate in chosen.candidates])
    if format_ == "csv":
        return _csv([_flat_record(candidate) for candidate in chosen.candidates])
    from ckprof.report.table import Column, Table

    columns: list[Column[Candidate]] = [
        Column("instance", lambda candidate: candidate.index),
        Column("pipeline", lambda candidate: candidate.pipeline.id, priority=3),
        Column("name", lambda candidate: candidate.name, names=lambda candidate: candidate.shown),
        Column("instance string", lambda candidate: candidate.instance_string, priority=2),
        Column("source", lambda candidate: candidate.source, priority=1),
    ]
    return Table(columns, chosen.candidates, elsewhere="--format csv has every column")


def render_reasons(chosen: Selection, format_: str) -> str | Table[dict[str, Any]]:
    """Return what was left out in one of :data:`FORMATS`: one row per broken rule."""
    if format_ == "names":
        return "\n".join(rejected.candidate.name for rejected in chosen.invalid)
    rows = _reasons(chosen)
    if format_ == "json":
        return _json(rows)
    from ckprof.report.table import Column, Table

    columns: list[Column[dict[str, Any]]] = [Column(name, itemgetter(name)) for name in _REASON_HEADERS]
    table = Table(columns, rows)
    return table.csv().rstrip("\n") if format_ == "csv" else table


def add_export(group: argparse._ActionsContainer) -> None:
    """Add ``--export-json``."""
    group.add_argument(
        "--export-json",
        type=Path,
        metavar="PATH",
        help="write all fields of the instances to this file as well",
    )


def export_json(chosen: Selection, path: Path) -> None:
    """Write everything about the chosen instances, and why others were left out, as one JSON document.

    :raises InputError: the file cannot be written.
    """
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "generator": __version__,
        "source": chosen.source,
        "arch": chosen.arch.name if chosen.arch else None,
        "count": len(chosen.candidates),
        "instances": [_record(candidate) for candidate in chosen.candidates],
        "left_out": _reasons(chosen),
    }
    write_output(path, _json(document) + "\n")


def _record(candidate: Candidate) -> dict[str, Any]:
    return {
        "instance": candidate.index,
        "pipeline": candidate.pipeline.id,
        "name": candidate.name,
        "instance string": candidate.instance_string,
        "source": candidate.source,
        "key": candidate.instance.key,
        "fields": candidate.instance.fields(),
    }


def _flat_record(candidate: Candidate) -> dict[str, Any]:
    record = _record(candidate)
    fields = {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in record.pop("fields").items()
    }
    return {**fields, **record}


def _reasons(chosen: Selection) -> list[dict[str, Any]]:
    return [
        {"name": rejected.candidate.name, **msgspec.to_builtins(rejection)}
        for rejected in chosen.invalid
        for rejection in rejected.unmet_requirements
    ]


def _json(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return rows of possibly different fields; a field that a row lacks is empty."""
    # what people look for first comes first
    names = dict.fromkeys(("instance", "name", *(name for row in rows for name in row)))
    from ckprof.report.table import csv_text

    return csv_text(rows, [*names]).rstrip("\n")


def print_instances(selection: Selection, console: Console) -> None:
    """Print the instances with their numbers."""
    for candidate in selection.candidates:
        console.result(f"[{candidate.index}] {candidate.instance_string}")
    console.result(f"Total: {counted(len(selection.candidates), 'instance')}")


def print_plan(plan: RunRequest, target: str, console: Console) -> None:
    """Print what would be built and run.

    :param target: id of the target.
    """
    candidates, problems = plan.selection.candidates, plan.problems
    console.result(
        f"would build {counted(len(candidates), f'{plan.selection.direction} kernel')} for target {target}:"
    )
    for candidate in candidates:
        console.result(f"  [{candidate.index}] {candidate.name}")
    console.result(f"and run on {counted(len(problems), 'problem')}:")
    for problem in problems:
        console.result(f"  {problem.problem.describe()}")
    if plan.baselines:
        console.result(f"and compare them with {', '.join(plan.baselines)}")


def report_rejections(rejected: Iterable[Rejection], console: Console) -> None:
    """Name the instances that have no kernel, and say why: a kernel that does not compile is no warning."""
    for rejection in rejected:
        say = console.error if rejection.status.is_failure else console.warning
        say(f"{rejection.status.value}: {rejection.candidate.name}: {rejection.reason}")
