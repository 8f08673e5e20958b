"""What a failure means: alone in new processes, after launches with other operands, and with less."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from ckprof.formatting import counted
from ckprof.model.outcome import Status
from ckprof_plugins.judge.places import smaller
from ckprof_plugins.judge.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.measure.prepare import PreparedProblem
    from ckprof.model.outcome import Outcome
    from ckprof_plugins.judge.bench import Bench
    from ckprof_plugins.judge.judging import Judge
    from ckprof_plugins.judge.operands import Operands, Place
    from ckprof_plugins.judge.verdicts import Finding

#: what a wrong result is
EARLIER, NOTHING = "returns the result of that launch", "writes nothing"
#: processes in which a launch that was wrong is repeated alone
_REPEATS: Final = 3
#: of the largest magnitude, by how much elements of two results differ that tell them apart
_APART: Final = (1e-2, 1e-6)
#: how near to one of them an element is which belongs to it, and the share of such elements
_NEAR: Final = 0.25
_STALE_SHARE: Final = 0.9
#: problems on which what is smaller is looked for
_MOST_ROUNDS: Final = 12
#: share of the budget after which nothing is made smaller
_SMALLER_SHARE: Final = 0.9


def looks_like(result: NDArray[np.float64] | None, given: PreparedProblem, before: PreparedProblem) -> str:
    """Return what a wrong result is, if it is that of a launch before; signs do not count.

    Only elements count that are not the same in both.

    :param given: what it should be.
    :param before: what that launch was.
    """
    if result is None or given.reference is None or before.reference is None:
        return ""
    if np.isnan(result).all():
        return NOTHING
    right = np.abs(given.reference[: given.reference.size])
    earlier = np.abs(before.reference[: before.reference.size])
    apart = np.abs(right - earlier)
    largest = float(np.nanmax(earlier, initial=0.0))
    telling = next((chosen for part in _APART if (chosen := apart > part * largest).any()), None)
    if telling is None:
        # the same operands with other signs
        telling, apart = np.isfinite(earlier), np.maximum(earlier, largest) * _APART[0]
    near = np.abs(np.abs(result) - earlier)[telling] <= _NEAR * apart[telling]
    return EARLIER if float(near.mean()) > _STALE_SHARE else ""


def is_wrong_from_then_on(failed: Sequence[tuple[int, Operands, Outcome]], count: int) -> bool:
    """Say whether some of many launches were right, and none after the first that was wrong.

    :param failed: numbers of launches from 1.
    """
    return 1 < len(failed) == count - failed[0][0] + 1 < count


def diagnose(
    judge: Judge,
    bench: Bench,
    place: Place,
    operands: Operands,
    outcome: Outcome,
    kind: str,
    before: Operands | None = None,
) -> None:
    """Find out what a failure means, and have it noted.

    :param before: of a launch after which it failed; ``None``: other ones.
    """
    if evidence := bench.seen.evidence:
        judge.note(Verdict.DISHONEST, evidence, place, operands, outcome, kind)
        return
    judge.emit(f"it fails on {place.problem.describe()}: {outcome.reason}")
    hangs = outcome.status is Status.RUN_TIMEOUT
    alone, later, told = [], [], []
    for number in range(1 if hangs else 2 * _REPEATS):
        bench.new_process()
        # after a launch with other operands, and with the same ones, whose signs differ in each launch
        first = operands if number % 2 else before or judge.operands(exact=operands.exact)
        with judge.given(place, first) as earlier, judge.given(place, operands) as given:
            failed = bench.trial(given if number % 2 else earlier, place.split_k).status.is_failure
            if number % 2 or hangs:
                alone.append(failed)
            if not hangs:
                later.append(bench.trial(given, place.split_k).status.is_failure)
                told.append(looks_like(bench.result(given), given, earlier))
    if all(alone):
        judge.note(Verdict.WRONG, outcome.reason, place, operands, outcome, kind)
        if not hangs:
            _make_smaller(judge, bench)
        return
    new = counted(_REPEATS, "new process", "new processes")
    evidence, verdict = f"right in the first launch of {new}", Verdict.DISHONEST
    if told and not any(alone) and all(later[::2]) and all(told[::2]):
        evidence += f", after one with other operands it {told[0]}: {outcome.reason}"
    elif told and not any(alone) and all(later[1::2]) and all(told[1::2]):
        evidence += f", in the second one it {told[1]}: {outcome.reason}"
    else:
        tried = [True, *alone, *later]
        verdict = Verdict.WRONG
        evidence = f"wrong in {sum(tried)} of {len(tried)} launches with the same operands, "
        evidence += "now and then or after other launches in its process"
        evidence += f": {outcome.reason}"
    judge.note(verdict, evidence, place, operands, outcome, kind)


def _make_smaller(judge: Judge, bench: Bench) -> None:
    """Look for the smallest problem on which it fails alike, as far as there is time."""
    for _ in range(_MOST_ROUNDS):
        found = _smaller_one(judge, bench)
        if found is None:
            return
        judge.finding = found


def _smaller_one(judge: Judge, bench: Bench) -> Finding | None:
    known = judge.finding
    if known is None:
        return None
    for place in smaller(known.place, judge.task):
        if judge.seconds_left(_SMALLER_SHARE) <= 0:
            return None
        outcome = judge.trial(bench, place, known.operands)
        if outcome.status is known.outcome.status:
            return replace(known, place=place, outcome=outcome, evidence=outcome.reason)
    return None
