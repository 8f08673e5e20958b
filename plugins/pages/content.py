"""Everything that a report shows, computed once for every format."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from ckprof.compare.compare import Comparison, compare
from ckprof.compare.inputs import SideInput, input_attempts, input_baselines, read_input
from ckprof.compare.side import MeasuredRow, ProblemKey, Side, device_name, provenance, side_of
from ckprof.errors import UsageError
from ckprof.formatting import counted
from ckprof.model.outcome import Status
from ckprof.model.ranking import RankedSet
from ckprof.model.roofline import Ceiling, CeilingKind
from ckprof.model.types import DataType
from ckprof.report.figures import checked_text, display_name
from ckprof.report.totals import Network, NetworkTimes, networks
from ckprof.report.unserved import Unserved, served_text, unserved_of
from ckprof.store.attempt import SOURCES
from ckprof.sweep.evidence import Layers, SweptLayer, kept_ceilings
from ckprof_plugins.pages.charts import Box, boxes
from ckprof_plugins.pages.devices import DeviceRow, device_rows
from ckprof_plugins.pages.heat import HeatMap, heat_map
from ckprof_plugins.pages.history import TimeHistory, ended_line, history, history_of_commands, labels_of
from ckprof_plugins.pages.options import ReportOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.model.ranking import Interval, Resolution
    from ckprof.session import Session
    from ckprof.store.key import DeviceKey


@dataclass(frozen=True, slots=True, kw_only=True)
class BestRow:
    """The best of one problem."""

    key: ProblemKey
    #: from 1, in the order of the report
    number: int
    best: MeasuredRow
    runner_up: MeasuredRow | None
    resolution: Resolution
    #: estimate of runner-up time / best time; ``None`` for a kernel without rivals
    change: Interval | None
    #: rows with a verified time
    ranked: int
    rows: int
    #: of the device and the element type
    ceilings: tuple[Ceiling, ...] = ()
    #: error of the best / the least one of the same kernel with other splits; ``None`` where neither is known
    error_growth: float | None = None

    @property
    def traffic_bytes(self) -> int | None:
        """Bytes of all tensors, where the input says the type."""
        return self.key.problem.traffic_bytes(DataType(self.key.dtype)) if self.key.dtype else None

    @property
    def gflops(self) -> float:
        """FLOP / time / 1e9."""
        return self.key.problem.flop / self.best.time_ms / 1e6

    @property
    def gbytes_per_s(self) -> float | None:
        """Bytes of all tensors / time / 1e9."""
        moved = self.traffic_bytes
        return moved / self.best.time_ms / 1e6 if moved else None

    @property
    def intensity(self) -> float | None:
        """Floating-point operations per byte moved."""
        moved = self.traffic_bytes
        return self.key.problem.flop / moved if moved else None

    @property
    def of_ceiling(self) -> float | None:
        """Return the share of the lowest ceiling that is known; ``None`` without one."""
        intensity = self.intensity
        if intensity is None or not self.ceilings:
            return None
        return self.gflops / min(ceiling.at(intensity) for ceiling in self.ceilings)


def best_rows(side: Side, options: ReportOptions) -> list[BestRow]:
    """Return the problems with a verified kernel, in the order of the input."""
    best = []
    ceilings: dict[tuple[DeviceKey, str], tuple[Ceiling, ...]] = {}
    for number, (key, rows) in enumerate(side.by_problem.items(), start=1):
        ranked = [(row, row.time) for row in rows if row.time is not None]
        if not ranked:
            continue
        first_place = RankedSet([time for _, time in ranked])
        where = ranked[0][0].measurement.device, key.dtype
        if where not in ceilings:
            ceilings[where] = _ceilings(side, options.ceilings, *where)
        best.append(
            BestRow(
                key=key,
                number=number,
                best=ranked[0][0],
                runner_up=ranked[1][0] if len(ranked) > 1 else None,
                resolution=first_place.resolution(options.tie),
                change=first_place.intervals()[1] if len(ranked) > 1 else None,
                ranked=len(ranked),
                rows=len(rows),
                ceilings=ceilings[where],
                error_growth=_error_growth(ranked[0][0], rows),
            )
        )
    return best


def _error_growth(best: MeasuredRow, rows: Iterable[MeasuredRow]) -> float | None:
    """Return how many times the error of a kernel is that which it has with other splits."""
    others = [
        row.error_ulp
        for row in rows
        if row.key.instance == best.key.instance and row.key.split_k != best.key.split_k and row.error_ulp
    ]
    return best.error_ulp / min(others) if best.error_ulp and others else None


def _ceilings(side: Side, given: Sequence[Ceiling], device: DeviceKey, dtype: str) -> tuple[Ceiling, ...]:
    """Return the ceilings of a device and an element type; one given by hand replaces those of its kind."""
    kept = [ceiling for session in side.sessions for ceiling in kept_ceilings(session, device)]
    fitting = [ceiling for ceiling in kept if ceiling.dtype is None or ceiling.dtype.value == dtype]
    chosen: list[Ceiling] = []
    for kind in CeilingKind:
        by_hand = [ceiling for ceiling in given if ceiling.kind is kind]
        of_kind = [ceiling for ceiling in fitting if ceiling.kind is kind]
        if by_hand or not of_kind:
            chosen += by_hand
            continue
        # the highest of what several sessions saw: a ceiling is what the device reaches undisturbed
        chosen.append(
            Ceiling(
                kind=kind,
                gflops=max(ceiling.gflops for ceiling in of_kind),
                gbytes_per_s=max(ceiling.gbytes_per_s for ceiling in of_kind),
                dtype=DataType(dtype) if dtype else None,
            )
        )
    return tuple(chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The library for one tolerance."""

    #: a kernel is good enough within this share of the best
    tolerance: float
    #: those that no kernel serves included
    problems: int
    #: problems with a verified kernel
    served: int
    #: content key of each instance, as they are added -> problems for which some of them is good enough then
    steps: Mapping[str, int]
    #: content key -> name of the kernel
    names: Mapping[str, str]

    @property
    def text(self) -> str:
        """How many kernels serve how many problems."""
        return served_text(len(self.steps), self.served, self.problems)


def coverage(side: Side, tolerance: float) -> Coverage:
    """Choose kernels until every problem that can be served has one that is good enough.

    Each step takes the kernel that serves most of the remaining problems; among equal ones, the one that is
    closer to the best on them. The greedy choice needs at most ln(problems) + 1 times the smallest number.
    """
    #: instance -> problem -> time / best time, where good enough with any split
    served: dict[str, dict[ProblemKey, float]] = defaultdict(dict)
    names: dict[str, str] = {}
    for problem, rows in side.by_problem.items():
        if (best := side.best(problem)) is None:
            continue
        for row in rows:
            ratio = row.time_ms / best.time_ms
            if row.ranked and ratio <= 1 + tolerance:
                group = served[row.key.instance]
                group[problem] = min(ratio, group.get(problem, ratio))
                names.setdefault(row.key.instance, row.kernel.name or row.key.instance[:12])
    problems = {problem for group in served.values() for problem in group}
    remaining = set(problems)
    steps: dict[str, int] = {}
    while remaining:
        instance = min(served, key=lambda key: _merit(served[key], remaining, key))
        remaining -= served.pop(instance).keys()
        steps[instance] = len(problems) - len(remaining)
    return Coverage(
        tolerance=tolerance,
        problems=len(side.by_problem),
        served=len(problems),
        steps=steps,
        names=names,
    )


def _merit(group: Mapping[ProblemKey, float], remaining: set[ProblemKey], key: str) -> tuple[int, float, str]:
    ratios = [ratio for problem, ratio in group.items() if problem in remaining]
    return -len(ratios), sum(ratios), key


#: characters of a reason that are shown
_REASON: int = 200
#: kernels that are named beside which the device failed
_LOST: int = 20


def _facts(side: Side) -> Iterable[tuple[str, str]]:
    rows = side.rows.values()
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
    methods = [key.method for key in measured]
    yield from _listed("operands", (f"{m.init}, seed {m.seed}" if m.seed else m.init for m in methods))
    yield from _listed("timing", (f"{m.clock} clock, {m.cache} cache" for m in methods))
    yield from _listed("verified", [checked_text(rows)])
    lost = [(display_name(row), row.devices_lost) for row in rows if row.devices_lost]
    if lost:
        more = f" and {len(lost) - _LOST} more" if len(lost) > _LOST else ""
        named = ", ".join(f"{name} ({counted(times, 'time')})" for name, times in lost[:_LOST])
        yield "device failed while running", f"{named}{more}"
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
        first, last = (
            datetime.fromtimestamp(session.started, tz=timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
            for session in (sessions[0], sessions[-1])
        )
        yield "sessions", f"{len(sessions)}, started {first}" + (f" to {last}" if last != first else "")


def _listed(name: str, values: Iterable[str]) -> Iterable[tuple[str, str]]:
    distinct = [value for value in dict.fromkeys(values) if value]
    if distinct:
        shown = ", ".join(distinct[:4])
        yield name, shown + (f" and {len(distinct) - 4} more" if len(distinct) > 4 else "")


def _failures(rows: Iterable[MeasuredRow]) -> Mapping[tuple[Status, str], Sequence[MeasuredRow]]:
    groups: dict[tuple[Status, str], list[MeasuredRow]] = {}
    for row in rows:
        if row.status is not Status.OK:
            groups.setdefault((row.status, reason_of(row)), []).append(row)

    def order(kind: tuple[Status, str]) -> tuple[bool, int, str]:
        return not kind[0].is_failure, -len(groups[kind]), kind[1]

    return {kind: groups[kind] for kind in sorted(groups, key=order)}


def reason_of(row: MeasuredRow) -> str:
    """Return what failures are grouped by: the requirement that decided, or the first line of the reason."""
    if row.requirements:
        return f"requirement {row.requirements[0]}"
    lines = row.reason.strip().splitlines()
    return lines[0][:_REASON] if lines else "no reason is recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportContent:
    """The input of every report format."""

    options: ReportOptions
    side: Side
    #: how many kernels on problems ended how; those beside which the device failed are left out
    statuses: Mapping[Status, int]
    #: (what, value), one line each
    facts: tuple[tuple[str, str], ...]
    #: status, and the reason's first line or the requirement that is not met -> rows that ended so
    failures: Mapping[tuple[Status, str], Sequence[MeasuredRow]]
    best: tuple[BestRow, ...]
    #: problems without a best kernel
    unserved: tuple[Unserved, ...]
    heat: HeatMap
    coverage: tuple[Coverage, ...]
    #: what the sources of problems say of them
    layers: Mapping[ProblemKey, SweptLayer]
    #: what networks take as a whole
    networks: tuple[Network, ...]
    #: against an older side, if there is one
    comparison: Comparison | None = None
    #: over several stores or commands, if there are some
    history: TimeHistory | None = None
    #: raw samples, if they were asked for and stored
    boxes: Mapping[ProblemKey, tuple[Box, ...]] = field(default_factory=dict)
    #: of a sweep on several, the slowest first
    devices: tuple[DeviceRow, ...] = ()
    #: what the latest sweep did not come to, a sentence; empty if nothing
    ended: str = ""

    @property
    def best_table(self) -> list[BestRow | Unserved]:
        """Return a row for each problem, in the order of the report."""
        rows: list[BestRow | Unserved] = [*self.best, *self.unserved]
        return sorted(rows, key=lambda row: row.number)

    @property
    def summary(self) -> str:
        """Problems, instances and statuses in one line."""
        statuses = [f"{count} {status.value}" for status, count in self.statuses.items()]
        none = f" ({len(self.unserved)} of them served by no kernel)" if self.unserved else ""
        if lost := sum(bool(row.devices_lost) for row in self.side.rows.values()):
            statuses.append(f"{lost} not measured: the device failed")
        return (
            f"{counted(len(self.side.by_problem), 'problem')}{none}, "
            f"{counted(len(self.heat.instances), 'instance')}, "
            f"{counted(len(self.side.rows), 'outcome')}: {', '.join(statuses)}"
        )

    @property
    def title(self) -> str:
        """Return the title, or what the report is of."""
        return self.options.title or f"Measurements of {self.side.label}"


def report_content(
    side: Side, options: ReportOptions, older: Side | None = None, past: TimeHistory | None = None
) -> ReportContent:
    """Compute a report.

    :param older: what the side is compared with.
    :param past: the history, if there is one.
    """
    layers = Layers(side.sessions).of_keys(side.by_problem)
    known = [row for row in side.rows.values() if not row.devices_lost]
    counts = Counter(row.status for row in known)
    return ReportContent(
        options=options,
        side=side,
        statuses={status: counts[status] for status in Status if counts[status]},
        facts=tuple(_facts(side)),
        failures=_failures(known),
        best=tuple(best_rows(side, options)),
        unserved=unserved_of(side.by_problem),
        heat=heat_map(side),
        coverage=tuple(coverage(side, tolerance) for tolerance in options.tolerances),
        layers=layers,
        networks=networks(
            NetworkTimes.of_side(side), layers, NetworkTimes.of_side(older) if older is not None else None
        ),
        comparison=compare(older, side) if older is not None else None,
        history=past,
    )


def report(session: Session, *inputs: SideInput, options: ReportOptions | None = None) -> ReportContent:
    """Compute the report of one input, or of the last one against the one before it, with all as its history.

    :param session: a :class:`ckprof.Profiler`.
    :param inputs: stores, ``STORE@TAG``, or files that can be imported into a store, oldest first.
    :raises UsageError: there is none.
    :raises CkprofError: an input cannot be read.
    """
    if not inputs:
        raise UsageError("no store is named: a report shows one store, or several, the latest one last")
    options = options or ReportOptions()
    *earlier, last = inputs
    # devices are told apart in a report of one store; rows of several stores match whatever the device
    by_device = not earlier
    older = [read_input(session, source) for source in earlier]
    if isinstance(last, Side):
        side, attempts = last, []
    else:
        attempts = list(input_attempts(session, last, samples=options.samples))
        side = side_of(str(last), attempts, input_baselines(last), by_device=by_device)
    order = tuple(side.by_problem)
    if len(older) > 1:
        sides = [*older, side]
        past = history(labels_of(sides), sides, order)
    else:
        past = None if older else history_of_commands(attempts, order)
    content = report_content(side, options, older[-1] if older else None, past)
    content = replace(content, devices=device_rows(attempts), ended=ended_line(attempts))
    if not options.samples:
        return content
    found = boxes(side, attempts, options.traced)
    if not found:
        raise UsageError(f"--box-plots: {side.label} has no raw samples; sweeps store them")
    return replace(content, boxes=found)
