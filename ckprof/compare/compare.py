"""The comparison of two sides: their rows, and what differs besides the times, e.g. compiler or driver."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from ckprof.compare.best_against_best import compared_problems, geometric_mean
from ckprof.compare.change import estimate_changes
from ckprof.compare.model import ComparedRow, Comparison, PartChange
from ckprof.compare.options import ChangePolicy
from ckprof.compare.process_times import RowTimes
from ckprof.compare.provenance import provenance, shortened
from ckprof.compare.side import SETTLED
from ckprof.compare.verdict import judge

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.compare.side import Row, Side
    from ckprof.store.key import MeasurementKey


DEFAULT_POLICY: Final = ChangePolicy()


def compare(old: Side, new: Side, policy: ChangePolicy = DEFAULT_POLICY, settled: int = 0) -> Comparison:
    """Match the rows of two sides by operation, problem, instance and splits, and judge each of them.

    :param settled: rows whose times were measured again for this comparison, which is only reported.
    """
    matched = [(row, new.rows[key]) for key, row in old.rows.items() if key in new.rows]
    timed = [index for index, (before, after) in enumerate(matched) if before.ranked and after.ranked]
    changes = estimate_changes([row_times(*matched[index]) for index in timed], policy)
    judgements = dict(zip(timed, judge(changes.rows, policy), strict=True))
    problems = tuple(compared_problems(old, new))
    return Comparison(
        old_label=old.label,
        new_label=new.label,
        policy=policy,
        rows=tuple(
            ComparedRow(key=before.key, old=before, new=after, judgement=judgements.get(index))
            for index, (before, after) in enumerate(matched)
        ),
        problems=problems,
        geometric_mean=geometric_mean(problems, changes, policy),
        shift=changes.shift,
        process_noise=changes.process_noise,
        states=(old.state, new.state),
        what_changed=what_changed(matched, old, new),
        only_old=tuple(row for key, row in old.rows.items() if key not in new.rows),
        only_new=tuple(row for key, row in new.rows.items() if key not in old.rows),
        settled=settled,
        superseded=sum(row.superseded for side in (old, new) for row in side.rows.values()),
    )


def row_times(old: Row, new: Row) -> RowTimes:
    """Return the rounds of both sides by process; those of settling ran beside each other."""
    paired = all(
        round_time.place is not None and round_time.place[0] == SETTLED
        for row in (old, new)
        for round_time in row.rounds
    )
    return RowTimes(old=old.processes, new=new.processes, problem=old.key.problem, paired=paired)


#: parts of a key that are looked at field by field
_PARTS: Final = ("device", "toolchain", "method")

#: parts without which times cannot be compared
_INCOMPARABLE: Final = frozenset({"device", "method"})
#: but for this field: other operands are verified, their times compare
_SEED: Final = "method.seed"

#: what says nothing where one side does not have it
_NOT_ALWAYS_SAID: Final = ("host.", "sources.ckprof")


def what_changed(matched: Sequence[tuple[Row, Row]], old: Side, new: Side) -> tuple[PartChange, ...]:
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
        # sessions of before, and imported ones, do not say what they were measured with
        both = name in before and name in after
        if before.get(name) != after.get(name) and (both or not name.startswith(_NOT_ALWAYS_SAID)):
            yield PartChange(
                name=name, old=before.get(name, "unknown"), new=after.get(name, "unknown"), rows=0
            )
