"""What a hunt found: as a table, JSON, JUnit, and Markdown that is ready for a bug report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.plugin.additions import RegistryEntries
from ckprof.plugin.protocols import ComparisonFormat
from ckprof.report.ci import JUnit, add
from ckprof.report.document import Block, Document, Heading, Items
from ckprof.report.table import Column, Table
from ckprof.version import __version__
from ckprof.wording import counted
from ckprof_plugins.hunt.boundaries import formulas
from ckprof_plugins.hunt.findings import split_errors

if TYPE_CHECKING:
    from ckprof_plugins.hunt.findings import Finding
    from ckprof_plugins.hunt.hunting import Hunt
    from ckprof_plugins.hunt.judging import RangeFinding
    from ckprof_plugins.hunt.large import LargeFinding

SCHEMA: Final = "ckprof.hunt"
VERSION: Final = 1
#: times the error of the fewest splits, from which on readers are told
_GROWTH: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntReport:
    """Everything that a hunt found out."""

    hunt: Hunt
    findings: tuple[Finding, ...]
    #: answers that were judged, and what they are wrong about
    answers: int
    ranges: tuple[RangeFinding, ...]
    #: pairs of kernel and problem of which a few workgroups were run, and the kernels that are wrong there
    sampled: int
    large: tuple[LargeFinding, ...]
    #: ``None`` for a finding that no command line can say
    commands: tuple[str | None, ...]

    @property
    def all_findings(self) -> tuple[Finding | RangeFinding | LargeFinding, ...]:
        """Everything that was found."""
        return (*self.findings, *self.ranges, *self.large)

    @property
    def verdict(self) -> str:
        """One line that says what the exit code means."""
        hunt = self.hunt
        done = sum(pair in hunt.outcomes for pair in hunt.planned)
        parts = [
            f"{done} of {counted(len(hunt.planned), 'pair')} of kernel and boundary problem run",
            *([f"{counted(self.answers, 'support answer')} judged"] if self.answers else []),
            *([f"{counted(self.sampled, 'pair')} with large tensors sampled"] if self.sampled else []),
            counted(len(self.all_findings), "finding"),
        ]
        end = "" if hunt.complete else "; incomplete: rerun the same command with --store to resume"
        return ", ".join(parts) + end

    def names(self, keys: tuple[str, ...]) -> list[str]:
        """Return the names of kernels, with their numbers."""
        named = map(self.hunt.candidates.__getitem__, keys)
        return [f"[{kernel.index}] {kernel.name}" for kernel in named]


def hunt_document(report: HuntReport) -> Document:
    """Return pairs by boundary, then a section for each finding that is ready for a report of a bug."""
    hunt, document = report.hunt, Document([_by_kind(report)] if report.hunt.planned else [])
    for one, command in zip(report.findings, report.commands, strict=True):
        kernel = hunt.candidates[one.kernels[0]]
        shared = report.names(one.kernels[1:])
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
            Block((command or "no line can say this problem; --format json has its sizes",)),
        )
    for found in report.ranges:
        document.add(
            Heading(f"support test: {found.text}"),
            f"says yes to {found.problem.describe()}: {found.value}, where at most {found.most} can be",
            Items(tuple(report.names(found.kernels))),
        )
    for wrong in report.large:
        document.add(
            Heading(f"large tensors: {hunt.candidates[wrong.kernels[0]].name}"),
            f"{wrong.problem.describe()}: {wrong.text}",
            Items((f"where: {wrong.beyond}", *report.names(wrong.kernels))),
        )
    for key, problem, errors in split_errors(hunt):
        if max(errors.values()) > _GROWTH * errors[min(errors)] > 0:
            said = ", ".join(f"{splits}: {error:.3g}" for splits, error in sorted(errors.items()))
            document.add(
                f"note: errors grow with splits: {report.names((key,))[0]}, {problem.describe()}: {said}"
            )
    document.add(report.verdict)
    return document


def _by_kind(report: HuntReport) -> Table[tuple[str, int, int, int]]:
    hunt = report.hunt
    planned, done, failed = Counter[str](), Counter[str](), Counter[str]()
    for pair, reached in hunt.planned.items():
        outcome = hunt.outcomes.get(pair)
        for kind in {kind for kind, _ in reached}:
            planned[kind] += 1
            done[kind] += outcome is not None
            failed[kind] += outcome is not None and outcome.status.is_failure
    meanings = formulas()["kinds"]
    rows = [(kind, planned[kind], done[kind], failed[kind]) for kind in meanings if planned[kind]]
    return Table(
        [
            Column("boundary", lambda row: row[0]),
            Column("pairs", lambda row: row[1], align="right"),
            Column("run", lambda row: row[2], align="right"),
            Column("failed", lambda row: row[3], align="right"),
            Column("", lambda row: meanings[row[0]], priority=1),
        ],
        rows,
    )


def _values(report: HuntReport) -> dict[str, Any]:
    hunt = report.hunt
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "direction": hunt.operation.id,
        "target": hunt.target.id,
        "arch": hunt.arch.name,
        "seed": hunt.seed,
        "complete": hunt.complete,
        "kernels": len(hunt.candidates),
        "pairs": len(hunt.planned),
        "run": sum(pair in hunt.outcomes for pair in hunt.planned),
        "from_store": hunt.known,
        "findings": [
            {**_plain(hunt, one), "command": command}
            for one, command in zip(report.findings, report.commands, strict=True)
        ],
        "support_answers": report.answers,
        "support_findings": [_plain(hunt, one) for one in report.ranges],
        "split_errors": [
            {"kernel": _kernel(hunt, key), "problem": msgspec.to_builtins(problem), "max_errors": errors}
            for key, problem, errors in split_errors(hunt)
        ],
        "sampled": report.sampled,
        "large_findings": [_plain(hunt, one) for one in report.large],
    }


def _plain(hunt: Hunt, one: Finding | RangeFinding | LargeFinding) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(one)
    return {**values, "kernels": [_kernel(hunt, key) for key in one.kernels]}


def _kernel(hunt: Hunt, key: str) -> dict[str, Any]:
    candidate = hunt.candidates[key]
    return {"key": key, "name": candidate.name, "index": candidate.index, "source": candidate.source}


def render_json(report: HuntReport) -> str:
    """Render everything."""
    return json.dumps(_values(report), indent=1) + "\n"


def render_junit(report: HuntReport) -> str:
    """Render a test suite for each kernel, with a case for each boundary at which it was run."""
    junit, hunt = JUnit("ckprof hunt"), report.hunt
    for key, candidate in hunt.candidates.items():
        reached: dict[str, list[str]] = {}
        for pair, places in hunt.planned.items():
            outcome = hunt.outcomes.get(pair)
            if pair[0] == key and outcome is not None:
                for kind in {kind for kind, _ in places}:
                    texts = reached.setdefault(kind, [])
                    if outcome.status.is_failure:
                        texts.append(f"{pair[1].describe()} split_k {pair[2]}: {outcome.reason}")
        ranges = [one for one in report.ranges if key in one.kernels]
        large = [one for one in report.large if key in one.kernels]
        if not (reached or ranges or large):
            continue
        suite = junit.suite(candidate.name)
        for kind, texts in reached.items():
            case = junit.case(suite, kind)
            if texts:
                add(case, "failure", "\n".join(texts), type=kind, message=texts[0])
        for one in ranges:
            add(junit.case(suite, one.text), "failure", type="range", message=one.problem.describe())
        for wrong in large:
            text = f"{wrong.problem.describe()}: {wrong.text}"
            add(junit.case(suite, "large tensors"), "failure", text, type="large", message=text)
    if not hunt.complete:
        add(
            junit.case(junit.suite("hunt"), "came to its end"),
            "error",
            type="partial",
            message=report.verdict,
        )
    return junit.render()


_RENDERERS: Final[dict[str, Callable[[HuntReport], str]]] = {
    "table": lambda report: hunt_document(report).text(),
    "json": render_json,
    "junit": render_junit,
    "md": lambda report: hunt_document(report).markdown(),
}
HUNT_FORMATS: Final = RegistryEntries(
    "hunt format",
    [(id_, "hunt", ComparisonFormat(id=id_, label=id_, render=one)) for id_, one in _RENDERERS.items()],
)
