"""Everything that one input says: a row per kernel and problem, and the conditions of its measurements."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Final

from ckprof.model.kernel import KernelRef
from ckprof.model.outcome import RoundTime, Status
from ckprof.model.problem import Problem
from ckprof.model.ranking import KernelTime, RankedSet, is_tied, kernel_time, middle_of
from ckprof.store.attempt import (
    CONTENDED,
    POWER_LIMIT,
    SOURCES,
    Attempt,
    Mark,
    Session,
    telling,
)
from ckprof.store.key import MeasurementKey

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ckprof.store.baselines import BaselineAttempt
    from ckprof.store.key import DeviceKey
    from ckprof.store.query import MeasurementSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineState:
    """Medians over the attempts of a side; ``None`` for what none of them says."""

    load: float | None = None
    clock_mhz: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    #: shares of the attempts with a mark that says what may have slowed them down; none with a share of 0
    contended: Mapping[Mark, float] = field(default_factory=dict)


def machine_state(attempts: Collection[Attempt]) -> MachineState:
    """Return the conditions of some attempts."""
    seen = [attempt.conditions for attempt in attempts]
    marks = Counter(mark for attempt in attempts for mark in attempt.marks if mark in CONTENDED)
    return MachineState(
        load=median_of(one.load for one in seen),
        clock_mhz=median_of(one.clock_mhz for one in seen),
        power_limit_w=median_of(_number(one.extra.get(POWER_LIMIT)) for one in seen),
        temperature_c=median_of(one.temperature_c for one in seen),
        contended={mark: marks[mark] / len(attempts) for mark in Mark if marks[mark]},
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def median_of(values: Iterable[float | None]) -> float | None:
    """Return the median of what is known; ``None`` where nothing is."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


#: digits of a digest that are shown
_DIGITS: Final = 12
_FIELDS: Final = ("host", "ckprof_version", "git_commit", "seed")


def provenance(sessions: Iterable[Session]) -> dict[str, str]:
    """Return what is known, by name: distinct values in the order of the sessions, separated by commas.

    Digests of the files of ckprof and of plugins are named ``sources.`` and what they are of; ``host.cpus``
    are the CPUs that a session was allowed to use.
    """
    found: dict[str, dict[str, None]] = {}
    for session in sessions:
        for name, value in _facts(session):
            if value not in (None, ""):
                found.setdefault(name, {})[shortened(str(value))] = None
    return {name: ", ".join(values) for name, values in found.items()}


def _facts(session: Session) -> Iterator[tuple[str, object]]:
    for name in _FIELDS:
        yield name, getattr(session, name)
    host, sources = (session.environment.get(name) for name in ("host", SOURCES))
    if isinstance(host, Mapping):
        yield "host.cpus", host.get("cores")
    if isinstance(sources, Mapping):
        for name, digest in sources.items():
            yield f"{SOURCES}.{name}", digest


def shortened(text: str) -> str:
    """Return the first digits of a digest; any other text as it is."""
    is_digest = len(text) > 2 * _DIGITS and all(letter in "0123456789abcdef" for letter in text)
    return text[:_DIGITS] if is_digest else text


#: what the places of settling rounds are named by, in front of the number of the round
SETTLED: Final = "settle"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemKey:
    """What kernels compete on: only the best of one problem key may be called the best."""

    direction: str
    problem: Problem
    #: spelling of the element type; empty where the input does not say
    dtype: str = ""
    layout: str = ""
    #: device, where a side is asked to tell several apart
    device: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowKey:
    """What rows of two sides are matched by. The rest of a measurement's key may differ."""

    problem: ProblemKey
    #: content key of the instance
    instance: str
    #: splits of the reduction as asked for
    split_k: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRow:
    """What one side knows of one kernel on one problem."""

    key: RowKey
    #: the full key of the latest measurement
    measurement: MeasurementKey
    kernel: KernelRef
    #: of the latest attempt
    status: Status
    reason: str = ""
    requirements: tuple[str, ...] = ()
    #: ``None`` without a verified time, or if the latest attempt failed
    time: KernelTime | None = None
    split_chosen: int | None = None
    #: times that the device failed beside the kernel, where there is no outcome of it
    devices_lost: int = 0
    #: launches, and those of them whose results were found right; 0 where that is not known
    launches: int = 0
    checked: int = 0
    #: largest error of all verifications, as :attr:`Verification.error_ulp`; ``None`` where that is not known
    error_ulp: float | None = None
    #: measurements with another device, toolchain or method that stood back for the latest one
    superseded: int = 0

    @property
    def ranked(self) -> bool:
        """True for a kernel with a verified time."""
        return self.time is not None

    @property
    def rounds(self) -> tuple[RoundTime, ...]:
        """Return the usable rounds, oldest first."""
        return self.time.rounds if self.time else ()

    @property
    def time_ms(self) -> float:
        """Return the time in milliseconds; infinite without any."""
        return self.time.time_ms if self.time else math.inf

    @property
    def trials(self) -> dict[str, float]:
        """Return the logarithms of the trials' times in milliseconds, by the process of the visit.

        Rounds in which others used the machine, or its clock was low, count where their visit has no other.
        """
        return {
            process: math.log(
                middle_of(one.time_ms for one in [one for one in rounds if not one.contended] or rounds)
            )
            for process, rounds in self._by_process.items()
        }

    @property
    def visited(self) -> dict[str, float]:
        """Return when each visit began, in seconds since the epoch, by its process."""
        return {process: min(one.started for one in rounds) for process, rounds in self._by_process.items()}

    @property
    def _by_process(self) -> dict[str, list[RoundTime]]:
        groups: dict[str, list[RoundTime]] = defaultdict(list)
        for round_time in self.rounds:
            groups[round_time.trial].append(round_time)
        return groups


# Not slotted: views are computed once and kept.
@dataclass(frozen=True, kw_only=True)
class Side:
    """One input of a comparison or a report."""

    #: as the user named it
    label: str
    rows: Mapping[RowKey, MeasuredRow]
    #: commands whose attempts are in the rows, oldest first
    sessions: tuple[Session, ...] = ()
    state: MachineState = field(default_factory=MachineState)
    #: id of a baseline -> its latest time on each problem, in milliseconds, where it was right
    baselines: Mapping[str, Mapping[ProblemKey, float]] = field(default_factory=dict)
    #: problem and process -> medians of the canaries' times over the rounds of that visit, in milliseconds
    canaries: Mapping[tuple[ProblemKey, str], Mapping[str, float]] = field(default_factory=dict)
    #: what identifies canaries and device of each session that has any: times of equal ones can be compared
    canary_digests: frozenset[str] = frozenset()

    @cached_property
    def by_problem(self) -> Mapping[ProblemKey, tuple[MeasuredRow, ...]]:
        """Return the rows per problem, fastest first, those that may not be ranked last."""
        groups: dict[ProblemKey, list[MeasuredRow]] = defaultdict(list)
        for row in self.rows.values():
            groups[row.key.problem].append(row)
        return {key: tuple(sorted(rows, key=_place)) for key, rows in groups.items()}

    def first_places(self, problem: ProblemKey) -> list[MeasuredRow]:
        """Return the rows of a problem that may be the fastest: the best, and those tied with it."""
        rows = [row for row in self.by_problem.get(problem, ()) if row.ranked]
        intervals = RankedSet([row.time for row in rows if row.time is not None]).intervals()
        return [row for row, lead in zip(rows, intervals, strict=True) if is_tied(lead)]

    def best(self, problem: ProblemKey) -> MeasuredRow | None:
        """Return the fastest verified row of a problem."""
        rows = self.by_problem.get(problem, ())
        return rows[0] if rows and rows[0].ranked else None


def side_of(
    label: str,
    attempts: Iterable[Attempt],
    baselines: Iterable[BaselineAttempt] = (),
    *,
    by_device: bool = False,
) -> Side:
    """Group attempts into rows.

    Where a kernel was measured on several devices, with several toolchains or methods, the latest one counts.

    :param baselines: what became of baselines.
    :param by_device: tell devices apart instead of taking the latest one.
    """
    attempts = list(attempts)
    sessions = {attempt.session.uid: attempt.session for attempt in reversed(attempts)}
    measured: dict[bytes, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        measured[attempt.key.digest].append(attempt)
    groups: dict[RowKey, list[list[Attempt]]] = defaultdict(list)
    for group in measured.values():
        groups[row_key(group[0], by_device=by_device)].append(group)
    rows = {key: _row(key, candidates) for key, candidates in groups.items()}
    ordered = sorted(sessions.values(), key=lambda session: (session.started, session.uid))
    return Side(
        label=label,
        rows=rows,
        sessions=tuple(ordered),
        state=machine_state(attempts),
        baselines=baseline_times(baselines, by_device=by_device),
        canaries=_canary_times(attempts, by_device=by_device),
        canary_digests=frozenset(session.canary_digest for session in ordered) - {""},
    )


def _canary_times(
    attempts: Iterable[Attempt], *, by_device: bool
) -> dict[tuple[ProblemKey, str], dict[str, float]]:
    """Return the medians over the rounds of each visit in which a kernel has a time."""
    visits: dict[tuple[ProblemKey, str], dict[object, Mapping[str, float]]] = defaultdict(dict)
    for attempt in attempts:
        seen, time = attempt.conditions.canaries, attempt.round_time
        if seen and time is not None:
            # all attempts of a round carry what was measured before it
            problem = row_key(attempt, by_device=by_device).problem
            visits[problem, time.trial][attempt.session.uid, attempt.conditions.round] = seen
    return {
        visit: {name: median(seen[name] for seen in rounds.values()) for name in common}
        for visit, rounds in visits.items()
        if (common := set.intersection(*map(set, rounds.values())))
    }


def row_key(attempt: Attempt | MeasurementSummary, *, by_device: bool = False) -> RowKey:
    """Return the row that an attempt, or all of a measurement, belongs to."""
    key, kernel = attempt.key, attempt.kernel
    return RowKey(
        problem=ProblemKey(
            direction=key.operation.direction,
            problem=key.problem,
            dtype=kernel.dtype.value if kernel.dtype else "",
            layout=kernel.layout,
            device=device_name(key.device) if by_device else "",
        ),
        instance=key.kernel.instance,
        split_k=key.split_k,
    )


def baseline_times(
    baselines: Iterable[BaselineAttempt], *, by_device: bool = False
) -> dict[str, dict[ProblemKey, float]]:
    """Return the latest time of each baseline on each problem; one that failed last has none.

    :param by_device: as for :func:`side_of`.
    """
    found: dict[str, dict[ProblemKey, float]] = defaultdict(dict)
    for one in sorted(baselines, key=lambda one: one.moment):
        key = ProblemKey(
            direction=one.operation.direction,
            problem=one.problem,
            dtype=one.dtype,
            layout=one.layout,
            device=device_name(one.device) if by_device else "",
        )
        times = found[one.baseline]
        times.pop(key, None)
        if one.verified_ms is not None:
            times[key] = one.verified_ms
    return dict(found)


def device_name(device: DeviceKey) -> str:
    """Return a few words for a device."""
    return " ".join(dict.fromkeys(part for part in (device.target, device.model, device.arch) if part))


def _place(row: MeasuredRow) -> tuple[bool, float, str, int]:
    """Return what rows are sorted by: those that were pruned stand behind."""
    return row.time is None or row.time.pruned, row.time_ms, row.key.instance, row.key.split_k


def _row(key: RowKey, measured: list[list[Attempt]]) -> MeasuredRow:
    told = sorted(
        telling([one for group in measured for one in group], lambda one: one.marks),
        key=lambda one: one.moment,
    )
    last = told[-1]
    attempts = [one for one in told if one.key.digest == last.key.digest]
    verified = () if last.status.is_failure else (attempt.round_time for attempt in attempts)
    checks = [one.verification for one in attempts if one.verification is not None]
    unknown = Mark.NOT_LAUNCHED in last.marks
    return MeasuredRow(
        key=key,
        measurement=last.key,
        kernel=last.kernel,
        status=last.status,
        reason=last.reason,
        requirements=last.requirements,
        time=kernel_time(round_time for round_time in verified if round_time is not None),
        split_chosen=last.split_chosen,
        devices_lost=sum(one.lost_device for one in attempts) if unknown else 0,
        launches=sum(check.launches for check in checks),
        checked=sum(check.checked for check in checks),
        error_ulp=max((ulp for one in checks if (ulp := one.error_ulp) is not None), default=None),
        superseded=len(measured) - 1,
    )


def with_rounds(row: MeasuredRow, rounds: Iterable[RoundTime]) -> MeasuredRow:
    """Return the row with other rounds."""
    return replace(row, time=kernel_time(rounds))
