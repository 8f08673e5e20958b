"""What a hunt found: as a table, JSON, JUnit, and Markdown that is ready for a bug report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.formatting import counted
from ckprof.plugin.additions import RegistryEntries
from ckprof.plugin.protocols import ComparisonFormat
from ckprof.report.ci import JUnit, add
from ckprof.report.document import Block, Document, Heading, Items
from ckprof.report.table import Column, Table
from ckprof.version import __version__
from ckprof_plugins.hunt.boundaries import formulas
from ckprof_plugins.hunt.findings import split_errors

if TYPE_CHECKING:
    from ckprof_plugins.hunt.findings import Finding
    from ckprof_plugins.hunt.hunting import Hunt
    from ckprof_plugins.hunt.judging import RangeFinding
    from ckprof_plugins.hunt.large import LargeFinding
    from ckprof_plugins.hunt.orders import OrderFinding

SCHEMA: Final = "ckprof.hunt"
VERSION: Final = 1
#: times the error of the fewest splits, from which on a note is printed
_GROWTH: Final = 4


def verdict(hunt: Hunt) -> str:
    """Return one line that says what the exit code means."""
    parts = [
        f"{len(hunt.outcomes)} of {counted(len(hunt.planned), 'pair')} of kernel and boundary problem run",
        *([f"{counted(hunt.answered, 'support answer')} judged"] if hunt.answered else []),
        *([f"{counted(hunt.sampled, 'pair')} with large tensors sampled"] if hunt.samples else []),
        *([f"{counted(hunt.ordered, 'pair')} in other orders"] if hunt.reorders else []),
        counted(len(hunt.all_findings), "finding"),
    ]
    end = "" if hunt.complete else "; incomplete: rerun the same command with --store to resume"
    return ", ".join(parts) + end


def _names(hunt: Hunt, keys: Sequence[str]) -> tuple[str, ...]:
    """Return the names of kernels, with their numbers."""
    return tuple(f"[{kernel.index}] {kernel.name}" for kernel in map(hunt.candidates.__getitem__, keys))


def hunt_document(hunt: Hunt) -> Document:
    """Return pairs by boundary, then a section for each finding that is ready for a report of a bug."""
    document = Document([_by_kind(hunt)] if hunt.planned else [])
    for one in hunt.findings:
        kernel = hunt.candidates[one.kernels[0]]
        shared = _names(hunt, one.kernels[1:])
        document.add(
            Heading(f"{one.status.value}: {kernel.name}"),
            f"{one.problem.describe()}, split_k {one.split_k}: {one.reason}",
            Items(
                (
                    f"where: {one.condition or 'no formula distinguishes the failing problems'}",
                    f"boundary: {', '.join(one.boundaries)}",
                    f"instance: [{kernel.index}] {kernel.source}, {kernel.instance_string}",
                    f"shared with: {', '.join(shared) or 'no other kernel that was hunted'}",
                    f"{counted(one.failed, 'failing pair')}, {one.passed} passing ones of the same kernels",
                    f"found on: {one.found_on.describe()}",
                    f"target: {hunt.target.id}, {hunt.arch.name}, ckprof {__version__}",
                )
            ),
            Block((one.command or "no line can say this problem; --format json has its sizes",)),
        )
    for found in hunt.ranges:
        document.add(
            Heading(f"support test: {found.text}"),
            f"says yes to {found.problem.describe()}: {found.value}, where at most {found.most} can be",
            Items(_names(hunt, found.kernels)),
        )
    for wrong in hunt.large:
        document.add(
            Heading(f"large tensors: {hunt.candidates[wrong.kernels[0]].name}"),
            f"{wrong.problem.describe()}: {wrong.text}",
            Items((f"where: {wrong.beyond}", *_names(hunt, wrong.kernels))),
        )
    for other in hunt.orders:
        document.add(
            Heading(f"order: {hunt.candidates[other.kernels[0]].name}"),
            f"{other.problem.describe()}, split_k {other.split_k}: {other.text}",
            Items((f"boundary: {', '.join(other.boundaries)}", *_names(hunt, other.kernels))),
        )
    for key, problem, errors in split_errors(hunt):
        if max(errors.values()) > _GROWTH * errors[min(errors)] > 0:
            said = ", ".join(f"{splits}: {error:.3g}" for splits, error in sorted(errors.items()))
            document.add(
                f"note: errors grow with splits: {_names(hunt, (key,))[0]}, {problem.describe()}: {said}"
            )
    document.add(verdict(hunt))
    return document


def _by_kind(hunt: Hunt) -> Table[str]:
    """Return a row for each boundary."""
    counts = Counter[tuple[str, str]]()
    for pair, places in hunt.planned.items():
        outcome = hunt.outcomes.get(pair)
        for kind in {kind for kind, _ in places}:
            counts[kind, "pairs"] += 1
            counts[kind, "run"] += outcome is not None
            counts[kind, "failed"] += outcome is not None and outcome.status.is_failure
    meanings = formulas()["kinds"]
    columns: list[Column[str]] = [
        Column(name, lambda kind, name=name: counts[kind, name], align="right")  # type: ignore[misc]
        for name in ("pairs", "run", "failed")
    ]
    columns = [Column("boundary", lambda kind: kind), *columns, Column("", meanings.get, priority=1)]
    return Table(columns, [kind for kind in meanings if counts[kind, "pairs"]])


def _values(hunt: Hunt) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "direction": hunt.operation.id,
        "target": hunt.target.id,
        "arch": hunt.arch.name,
        "seed": hunt.seed,
        "complete": hunt.complete,
        "kernels": len(hunt.candidates),
        "not_built": [{"name": one.candidate.name, "reason": one.reason} for one in hunt.rejected],
        "pairs": len(hunt.planned),
        "run": len(hunt.outcomes),
        "from_store": hunt.known,
        "findings": [_plain(hunt, one) for one in hunt.findings],
        "support_answers": hunt.answered,
        "support_findings": [_plain(hunt, one) for one in hunt.ranges],
        "split_errors": [
            {"kernel": _kernel(hunt, key), "problem": msgspec.to_builtins(problem), "max_errors": errors}
            for key, problem, errors in split_errors(hunt)
        ],
        "sampled": hunt.sampled,
        "large_findings": [_plain(hunt, one) for one in hunt.large],
        "ordered": hunt.ordered,
        "order_findings": [_plain(hunt, one) for one in hunt.orders],
    }


def _plain(hunt: Hunt, one: Finding | RangeFinding | LargeFinding | OrderFinding) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(one)
    return {**values, "kernels": [_kernel(hunt, key) for key in one.kernels]}


def _kernel(hunt: Hunt, key: str) -> dict[str, Any]:
    candidate = hunt.candidates[key]
    return {"key": key, "name": candidate.name, "index": candidate.index, "source": candidate.source}


def render_json(hunt: Hunt) -> str:
    """Render everything."""
    return json.dumps(_values(hunt), indent=1) + "\n"


def render_junit(hunt: Hunt) -> str:
    """Render a test suite for each kernel, with a case for each boundary at which it was run."""
    junit = JUnit("ckprof hunt")
    for key, candidate in hunt.candidates.items():
        failures = {one.text: [one.problem.describe()] for one in hunt.ranges if key in one.kernels}
        for wrong in hunt.large:
            if key in wrong.kernels:
                failures.setdefault("large", []).append(f"{wrong.problem.describe()}: {wrong.text}")
        for other in hunt.orders:
            if key in other.kernels:
                text = f"{other.problem.describe()} split_k {other.split_k}: {other.text}"
                failures.setdefault("orders", []).append(text)
        for pair, outcome in hunt.outcomes.items():
            for kind in {kind for kind, _ in hunt.planned[pair]} if pair[0] == key else ():
                text = f"{pair[1].describe()} split_k {pair[2]}: {outcome.reason}"
                failures.setdefault(kind, []).extend([text] if outcome.status.is_failure else [])
        suite = junit.suite(candidate.name)
        for kind, texts in failures.items():
            case = junit.case(suite, kind)
            if texts:
                add(case, "failure", "\n".join(texts), type=kind, message=texts[0])
    if not hunt.complete:
        add(
            junit.case(junit.suite("hunt"), "came to its end"),
            "error",
            type="partial",
            message=verdict(hunt),
        )
    return junit.render()


_RENDERERS: Final[dict[str, Callable[[Hunt], str]]] = {
    "table": lambda hunt: hunt_document(hunt).text(),
    "json": render_json,
    "junit": render_junit,
    "md": lambda hunt: hunt_document(hunt).markdown(),
}
HUNT_FORMATS: Final = RegistryEntries(
    "hunt format",
    [(id_, "hunt", ComparisonFormat(id=id_, label=id_, render=one)) for id_, one in _RENDERERS.items()],
)
