"""What ran, where, with which toolchain, and what failed why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ckprof.compare.provenance import provenance
from ckprof.compare.side import device_name
from ckprof.model.outcome import Status
from ckprof.report.figures import checked_text, display_name, lost_text
from ckprof.store.attempt import SOURCES
from ckprof.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ckprof.compare.side import Row, Side
    from ckprof.store.key import MeasurementKey

#: characters of a reason that are shown
_REASON: int = 200
#: kernels that are named beside which the device failed
_LOST: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Rows that ended the same way."""

    status: Status
    #: the reason's first line, or the requirement that is not met
    reason: str
    rows: int
    example: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """The figures at the head of a report."""

    problems: int
    #: problems on which no kernel gave a verified time
    unserved: int
    instances: int
    rows: int
    #: rounds with a verified time
    rounds: int
    statuses: Mapping[Status, int]
    #: (what, value), one line each
    facts: tuple[tuple[str, str], ...]
    failures: tuple[Failure, ...]
    #: rows without an outcome, because the device failed beside their kernels
    not_measured: int = 0

    @property
    def summary(self) -> str:
        """Problems, instances and statuses in one line."""
        statuses = ", ".join(f"{count} {status.value}" for status, count in self.statuses.items())
        none = f" ({self.unserved} of them served by no kernel)" if self.unserved else ""
        counts = (
            f"{counted(self.problems, 'problem')}{none}, {counted(self.instances, 'instance')}, "
            f"{counted(self.rows, 'kernel')} on problems"
        )
        lost = [f"{self.not_measured} not measured: the device failed"] if self.not_measured else []
        return f"{counts}: {', '.join([*([statuses] if statuses else []), *lost])}"


def overview(side: Side) -> Overview:
    """Sum up a side."""
    rows = list(side.rows.values())
    known = [row for row in rows if not row.devices_lost]
    counts = Counter(row.status for row in known)
    return Overview(
        problems=len(side.by_problem),
        unserved=sum(side.best(problem) is None for problem in side.by_problem),
        instances=len({row.key.instance for row in rows}),
        rows=len(rows),
        rounds=sum(len(row.rounds) for row in rows),
        statuses={status: counts[status] for status in Status if counts[status]},
        facts=tuple(_facts(side, rows)),
        failures=tuple(_failures(known)),
        not_measured=len(rows) - len(known),
    )


def _facts(side: Side, rows: list[Row]) -> Iterable[tuple[str, str]]:
    measured = [row.measurement for row in rows]
    yield from _listed("direction", (key.operation.direction for key in measured))
    yield from _listed("API level", (key.operation.api_level for key in measured))
    yield from _listed("element type", (row.key.problem.dtype for row in rows))
    yield from _listed("layout", (row.key.problem.layout for row in rows))
    yield from _listed("device", (device_name(key.device) for key in measured))
    units = (f"{key.device.compute_units}" if key.device.compute_units else "" for key in measured)
    yield from _listed("compute units", units)
    threads = (f"{key.device.threads}" if key.device.threads else "" for key in measured)
    yield from _listed("threads on these", threads)
    yield from _listed("emulated: times of", (key.device.host for key in measured))
    yield from _listed("compiler", (key.toolchain.compiler for key in measured))
    yield from _listed("flags", (" ".join(key.toolchain.flags) for key in measured))
    yield from _listed("driver", (key.toolchain.driver for key in measured))
    yield from _listed("operands", (_operands(key) for key in measured))
    yield from _listed("timing", (f"{key.method.clock} clock, {key.method.cache} cache" for key in measured))
    yield from _listed("launches checked", [checked_text(rows)])
    lost = [(display_name(row), row.devices_lost) for row in rows if row.devices_lost]
    if lost:
        more = f" and {len(lost) - _LOST} more" if len(lost) > _LOST else ""
        yield "device failed beside", f"{lost_text(lost[:_LOST])}{more}"
    sessions = side.sessions
    yield from _listed("host", (session.host for session in sessions))
    yield from _listed("ckprof", (session.ckprof_version for session in sessions))
    commits = (
        f"{session.git_commit[:12]}{' with local changes' if session.git_dirty else ''}"
        for session in sessions
        if session.git_commit
    )
    yield from _listed("revision", commits)
    for name, value in provenance(sessions).items():
        if name.startswith(SOURCES):
            yield f"files of {name.removeprefix(f'{SOURCES}.')}", value
    yield from _listed("tags", (tag for session in sessions for tag in session.tags))
    yield from _listed("imported from", (session.origin for session in sessions))
    if sessions:
        first, last = (_time(session.started) for session in (sessions[0], sessions[-1]))
        yield "sessions", f"{len(sessions)}, started {first}" + (f" to {last}" if last != first else "")


def _operands(key: MeasurementKey) -> str:
    init, seed = key.method.init, key.method.seed
    return f"{init}, seed {seed}" if seed else init


def _listed(name: str, values: Iterable[str]) -> Iterable[tuple[str, str]]:
    distinct = [value for value in dict.fromkeys(values) if value]
    if distinct:
        shown = ", ".join(distinct[:4])
        yield name, shown + (f" and {len(distinct) - 4} more" if len(distinct) > 4 else "")


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def _failures(rows: list[Row]) -> list[Failure]:
    groups: dict[tuple[Status, str], list[Row]] = {}
    for row in rows:
        if row.status is not Status.OK:
            groups.setdefault((row.status, reason_of(row)), []).append(row)
    failures = [
        Failure(status=status, reason=reason, rows=len(group), example=display_name(group[0]))
        for (status, reason), group in groups.items()
    ]
    return sorted(failures, key=lambda kind: (not kind.status.is_failure, -kind.rows, kind.reason))


def reason_of(row: Row) -> str:
    """Return what failures are grouped by: the requirement that decided, or the first line of the reason."""
    if row.requirements:
        return f"requirement {row.requirements[0]}"
    lines = row.reason.strip().splitlines()
    return lines[0][:_REASON] if lines else "no reason is recorded"
