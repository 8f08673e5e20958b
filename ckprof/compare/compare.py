"""The comparison of two sides: their rows, what differs besides the times, and what makes it fail."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, fields
from itertools import chain
from typing import TYPE_CHECKING, Final

from ckprof.compare.change import Change, Shift, Verdict, judge_pairs, judge_visits
from ckprof.compare.options import ChangePolicy, FailOn
from ckprof.compare.side import SETTLED, MachineState, MeasuredRow, ProblemKey, RowKey, provenance, shortened
from ckprof.compare.trials import arranged, shared_canaries
from ckprof.model.outcome import Status
from ckprof.option import least_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.compare.side import Side
    from ckprof.store.key import MeasurementKey

    Array = NDArray[np.float64]


#: why a comparison fails besides verdicts
_SHIFTED: Final = "SHIFTED"
_MISSING: Final = "missing"
_FAILING: Final = "failing"
_WRONG: Final = "computing wrong numbers"
_REASONS: Final = ("slower", "faster", "unclear", _SHIFTED, _MISSING, _FAILING, _WRONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """One kernel on one problem, on both sides."""

    key: RowKey
    old: MeasuredRow
    new: MeasuredRow
    #: how the time changed, and the verdict; ``None`` unless both sides have verified times
    change: Change | None = None

    @property
    def status_changed(self) -> bool:
        """True where the statuses differ."""
        return self.old.status is not self.new.status

    @property
    def worsened(self) -> bool:
        """True where a kernel that worked does not any more, or a failing one now computes wrong numbers."""
        return self.status_changed and (self.old.status is Status.OK or self.computes_wrong)

    @property
    def computes_wrong(self) -> bool:
        """True where the new side computes wrong numbers and the old one did not."""
        return self.status_changed and self.new.status is Status.WRONG_RESULT


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedProblem:
    """The best kernels of one problem."""

    key: ProblemKey
    old: MeasuredRow
    new: MeasuredRow
    #: new best time / old best time
    ratio: float
    #: the old side's best is none of those that share the first place on the new side
    changed: bool
    #: time of the old side's best on the new side / new best time; ``None`` where it has none
    old_best_now: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartChange:
    """A part of the measurements' keys, or of their evidence, that differs between the sides."""

    #: e.g. ``toolchain.compiler``
    name: str
    old: str
    new: str
    #: rows that it holds for; 0 for evidence, which is no part of a row's key
    rows: int
    #: times are taken in different ways, or on different devices: verdicts compare different things
    incomparable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything that a comparison found: the input of every format."""

    old_label: str
    new_label: str
    policy: ChangePolicy
    #: matched rows, in the order of the old side
    rows: tuple[ComparedRow, ...]
    problems: tuple[ComparedProblem, ...]
    #: best against best over all problems, new time / old time, and the interval that holds it; ``None``
    #: without a problem that both sides have verified times for
    geometric_mean: tuple[float, float, float] | None
    #: what all rows changed by; ``None`` without rows that both sides have times of
    shift: Shift | None
    #: reference kernels that say what the machine did; empty where none can be compared
    canaries: tuple[str, ...]
    #: of both sides
    states: tuple[MachineState, MachineState]
    what_changed: tuple[PartChange, ...]
    only_old: tuple[MeasuredRow, ...]
    only_new: tuple[MeasuredRow, ...]
    #: rows that were measured again, both sides beside each other, because they were unclear
    settled: int = 0
    #: rows of a side that stood back for later measurements of the same kernel and problem
    superseded: int = 0

    @property
    def verdicts(self) -> Mapping[Verdict, int]:
        """Return how many rows have each verdict."""
        counts = Counter(row.change.verdict for row in self.rows if row.change)
        return {verdict: counts[verdict] for verdict in Verdict}

    def with_verdict(self, verdict: Verdict) -> list[ComparedRow]:
        """Return the rows with a verdict, the largest change first."""
        rows = [row for row in self.rows if row.change and row.change.verdict is verdict]
        return sorted(rows, key=_size, reverse=True)

    @property
    def status_changes(self) -> list[ComparedRow]:
        """Return the rows whose statuses differ, the worsened ones first."""
        return sorted((row for row in self.rows if row.status_changed), key=lambda row: not row.worsened)

    @property
    def shifted(self) -> bool:
        """Whether all rows changed alike, and nothing says whether the machine or the code did."""
        return self.shift is not None and self.shift.unexplained

    def failure_of(self, row: ComparedRow) -> str:
        """Return why a row makes the comparison fail; empty if it does not."""
        if row.computes_wrong:
            return _WRONG
        if row.worsened:
            return _FAILING if FailOn.STATUS in self.policy.fail_on else ""
        fail_on, verdict = self.policy.fail_on, row.change.verdict.value if row.change else ""
        counts = (reason for reason in fail_on if _size(row) >= math.log1p(least_of(fail_on, reason)))
        return verdict if verdict in {reason.value for reason in counts} else ""

    @property
    def missing_fail(self) -> bool:
        """Whether rows that only the old side has make the comparison fail."""
        return FailOn.MISSING in self.policy.fail_on and bool(self.only_old)

    @property
    def shift_fails(self) -> bool:
        """Whether what all rows share makes the comparison fail."""
        return FailOn.SHIFT in self.policy.fail_on and self.shifted

    @property
    def failures(self) -> list[str]:
        """Return why the comparison fails, one phrase per reason; empty if it does not.

        This alone decides: exit codes and all formats go by it.
        """
        counts = Counter(map(self.failure_of, self.rows))
        counts[_SHIFTED] = sum(row.change is not None for row in self.rows) if self.shift_fails else 0
        counts[_MISSING] = len(self.only_old) if self.missing_fail else 0
        return [f"{counts[reason]} {reason}" for reason in _REASONS if counts[reason]]


def _size(row: ComparedRow) -> float:
    return abs(row.change.log_ratio) if row.change else 0.0


def compared_problems(old: Side, new: Side) -> Iterator[ComparedProblem]:
    """Yield the best kernels of the problems that both sides have verified times for."""
    for key in old.by_problem:
        before, after = old.best(key), new.best(key)
        if before is None or after is None:
            continue
        now = new.rows.get(before.key)
        yield ComparedProblem(
            key=key,
            old=before,
            new=after,
            ratio=after.time_ms / before.time_ms,
            changed=all(row.key != before.key for row in new.first_places(key)),
            old_best_now=now.time_ms / after.time_ms if now and now.ranked else None,
        )


def geometric_mean(
    problems: Sequence[ComparedProblem], policy: ChangePolicy
) -> tuple[float, float, float] | None:
    """Return the mean of best against best, with a bootstrap interval over problems and passes.

    Passes are drawn for all problems together: they share clocks and loads.
    """
    if not problems:
        return None
    import numpy as np

    generator = np.random.default_rng([policy.seed, len(problems)])
    old, new = (
        _moved([getattr(problem, name).trials for problem in problems], policy.resamples, generator)
        for name in ("old", "new")
    )
    logs = np.log([problem.ratio for problem in problems])
    draws = generator.integers(0, len(logs), (policy.resamples, len(logs)))
    means = np.take_along_axis(logs + new - old, draws, axis=1).mean(axis=1)
    tail = (1 - policy.confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high))


def _moved(rows: Sequence[Mapping[str, float]], resamples: int, generator: np.random.Generator) -> Array:
    """Return by how much drawing other passes moves the time of each row: (resamples, rows).

    :param rows: process -> logarithm of its trial.
    """
    import numpy as np

    places = {process: place for place, process in enumerate(dict.fromkeys(chain.from_iterable(rows)))}
    times = np.full((len(rows), len(places)), np.nan)
    for index, row in enumerate(rows):
        for process, log in row.items():
            times[index, places[process]] = log
    ran = np.isfinite(times)
    away = np.where(ran, times - np.nanmean(times, axis=1, keepdims=True), 0.0)
    # few passes vary by less than they should: as much as the variance is underestimated
    away *= np.sqrt(ran.sum(axis=1) / np.maximum(ran.sum(axis=1) - 1, 1))[:, None]
    drawn = generator.multinomial(len(places), np.full(len(places), 1 / len(places)), resamples).astype(float)
    counts = drawn @ ran.T
    return np.where(counts > 0, drawn @ away.T / np.maximum(counts, 1), 0.0)


DEFAULT_POLICY: Final = ChangePolicy()


def compare(old: Side, new: Side, policy: ChangePolicy = DEFAULT_POLICY, settled: int = 0) -> Comparison:
    """Match the rows of two sides by operation, problem, instance and splits, and judge each of them.

    :param settled: rows whose times were measured again for this comparison, which is only reported.
    """
    matched = [(row, new.rows[key]) for key, row in old.rows.items() if key in new.rows]
    timed = [index for index, (before, after) in enumerate(matched) if before.ranked and after.ranked]
    paired = [index for index in timed if all(map(_settled, matched[index]))]
    apart = [index for index in timed if index not in set(paired)]
    visits, order = arranged([matched[index] for index in apart], (old, new))
    judged, shift = judge_visits(visits, policy, same_clock=_same_clock(old.state, new.state))
    changes = dict(zip([apart[place] for place in order], judged, strict=True))
    settled_trials = [[row.trials for row in matched[index]] for index in paired]
    differences = [
        [after[one] - before[one] for one in before if one in after] for before, after in settled_trials
    ]
    pairs = judge_pairs(differences, policy)
    changes |= dict(zip(paired, pairs, strict=True))
    problems = tuple(compared_problems(old, new))
    return Comparison(
        old_label=old.label,
        new_label=new.label,
        policy=policy,
        rows=tuple(
            ComparedRow(key=before.key, old=before, new=after, change=changes.get(index))
            for index, (before, after) in enumerate(matched)
        ),
        problems=problems,
        geometric_mean=geometric_mean(problems, policy),
        shift=shift if apart else None,
        canaries=shared_canaries((old, new)),
        states=(old.state, new.state),
        what_changed=what_changed(matched, old, new),
        only_old=tuple(row for key, row in old.rows.items() if key not in new.rows),
        only_new=tuple(row for key, row in new.rows.items() if key not in old.rows),
        settled=settled,
        superseded=sum(row.superseded for side in (old, new) for row in side.rows.values()),
    )


#: relative difference of clocks or power limits from which on machines are not alike
_OTHER_CLOCK: Final = 0.01


def _same_clock(old: MachineState, new: MachineState) -> bool:
    """Say whether clock and power limit are alike, as far as both sides say them."""
    pairs = ((old.clock_mhz, new.clock_mhz), (old.power_limit_w, new.power_limit_w))
    return all(math.isclose(a, b, rel_tol=_OTHER_CLOCK) for a, b in pairs if a is not None and b is not None)


def _settled(row: MeasuredRow) -> bool:
    """Say whether the rounds are those of settling, whose sides ran side by side."""
    return all(one.place is not None and one.place[0] == SETTLED for one in row.rounds)


#: parts of a key that are looked at field by field
_PARTS: Final = ("device", "toolchain", "method")

#: parts without which times cannot be compared
_INCOMPARABLE: Final = frozenset({"device", "method"})
#: but for this field: other operands are verified, their times compare
_SEED: Final = "method.seed"

#: what says nothing where one side does not have it
_NOT_ALWAYS_SAID: Final = ("host.", "sources.ckprof")


def what_changed(
    matched: Sequence[tuple[MeasuredRow, MeasuredRow]], old: Side, new: Side
) -> tuple[PartChange, ...]:
    """Return every difference once, with how many rows it holds for."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for before, after in matched:
        counts.update(_differences(before.measurement, after.measurement))
    # an object differs with the toolchain and per kernel: the number of rows says it all
    objects = sum(rows for (name, _, _), rows in counts.items() if name == "kernel.object_digest")
    changes = [
        PartChange(
            name=name,
            old=before or "unknown",
            new=after or "unknown",
            rows=rows,
            incomparable=name.partition(".")[0] in _INCOMPARABLE and name != _SEED,
        )
        for (name, before, after), rows in counts.most_common()
        if name != "kernel.object_digest"
    ]
    if objects:
        changes.append(PartChange(name="kernel.object_digest", old="", new="", rows=objects))
    return (*changes, *_evidence(old, new))


def _differences(old: MeasurementKey, new: MeasurementKey) -> Iterator[tuple[str, str, str]]:
    if old.digest == new.digest:
        return
    pairs: list[tuple[str, object, object]] = [
        ("operation.api_level", old.operation.api_level, new.operation.api_level),
        ("kernel.object_digest", old.kernel.object_digest, new.kernel.object_digest),
    ]
    for part in _PARTS:
        before, after = getattr(old, part), getattr(new, part)
        if before != after:
            pairs += [
                (f"{part}.{field.name}", getattr(before, field.name), getattr(after, field.name))
                for field in fields(before)
            ]
    for name, a, b in pairs:
        if isinstance(a, tuple) and isinstance(b, tuple):
            if a != b:
                yield name, _only_in(a, b), _only_in(b, a)
        elif a != b:
            yield name, shortened(str(a)), shortened(str(b))


def _only_in(words: tuple[str, ...], others: tuple[str, ...]) -> str:
    """Return the words that the others do not have; all of them where just the order differs."""
    if words != others and Counter(words) == Counter(others):
        return " ".join(words)
    left = Counter(words) - Counter(others)
    return " ".join(word for word in words if left[word]) or "none but these"


def _evidence(old: Side, new: Side) -> Iterator[PartChange]:
    before, after = (provenance(side.sessions) for side in (old, new))
    for name in dict.fromkeys((*before, *after)):
        # imported sessions do not say what they were measured with
        both = name in before and name in after
        if before.get(name) != after.get(name) and (both or not name.startswith(_NOT_ALWAYS_SAID)):
            yield PartChange(
                name=name, old=before.get(name, "unknown"), new=after.get(name, "unknown"), rows=0
            )
