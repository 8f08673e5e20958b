"""Which of several states made kernels slower: commits of a tree of headers, compilers, or folders."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ckprof.errors import InputError, NothingLeftError, ToolchainError, UsageError
from ckprof.events import Message
from ckprof.sanitize import one_line
from ckprof_plugins.tuning.gate.comparison import compare_figures
from ckprof_plugins.tuning.gate.gate import figures_of
from ckprof_plugins.tuning.gate.sides import GateSide, git

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ckprof.option import Limits
    from ckprof.session import Session
    from ckprof_plugins.tuning.gate.baseline import PredictionBaseline
    from ckprof_plugins.tuning.gate.comparison import PredictionDiff, Regression
    from ckprof_plugins.tuning.options import PredictOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """A state that was looked at."""

    #: position among all states, from 0
    index: int
    name: str
    #: of the first state to this one; ``None`` for one that has no figures
    diff: PredictionDiff | None
    #: why it has none
    reason: str = ""

    @property
    def verdict(self) -> str:
        """What it is."""
        return "skipped" if self.diff is None else "bad" if self.diff.failures else "good"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bisection:
    """What was found."""

    states: tuple[str, ...]
    #: in the order of the states
    tried: tuple[Tried, ...]
    #: last good and first bad state, compared; ``None`` if the last state is as good as the first
    diff: PredictionDiff | None
    #: states any of which may be the first bad one: several where those between have no figures
    suspects: tuple[str, ...] = ()


def states_of(names: Sequence[str]) -> list[GateSide]:
    """Return the states to look among: those that are named, or commits between two revisions of a folder.

    Of commits, those of the first parents count that change the folder.

    :raises UsageError: they are fewer than two, or a baseline is among them.
    :raises InputError: one is nothing, or no commit is between two revisions.
    :raises ToolchainError: there is no Git.
    """
    if len(names) < 2:
        raise UsageError("--bisect needs two states: the good one first, then the bad one")
    sides = [GateSide.of(name) for name in names]
    for side in sides:
        if side.baseline is not None:
            raise UsageError(f"--bisect: {side.name} is a baseline: name the headers or the compiler of it")
    first, last = sides[0], sides[-1]
    folder = first.headers
    if len(sides) > 2 or folder is None or not first.revision or last.headers != folder or not last.revision:
        return sides
    between = f"{first.revision}..{last.revision}"
    listed = git(folder, "rev-list", "--first-parent", "--reverse", between, "--", ".").decode().split()
    if not listed:
        raise InputError(f"no commit of {between} changes it", folder)
    common = git(folder, "merge-base", first.revision, last.revision)
    if common != git(folder, "rev-parse", f"{first.revision}^{{commit}}"):
        raise InputError(f"{first.revision} is not an ancestor of {last.revision}", folder)
    return [first, *(replace(first, name=_title(folder, commit), revision=commit) for commit in listed)]


def _title(folder: Path, commit: str) -> str:
    """Return what a commit is called: its short name and its first line."""
    return one_line(git(folder, "log", "-1", "--format=%h %s", commit).decode(errors="replace").strip())


def bisect(
    states: Sequence[GateSide],
    figures: Callable[[GateSide], PredictionBaseline],
    fail_on: Limits[Regression],
    emit: Callable[[str], None],
) -> Bisection:
    """Look for the first state that is worse than the first one by a binary search.

    :param states: at least two, the first one is good.
    :param figures: predicts those of a state; raises :class:`NothingLeftError` or :class:`ToolchainError` for
        one that cannot be built, which is skipped.
    :param emit: called with every state that was looked at.
    :raises CkprofError: the first or the last state cannot be predicted.
    """
    found: dict[int, Tried] = {}
    known: dict[int, PredictionBaseline] = {}

    def look(index: int, *, must: bool = False) -> Tried:
        state = states[index]
        try:
            known[index] = figures(state)
        except (NothingLeftError, ToolchainError) as error:
            if must:
                raise
            tried = Tried(index=index, name=state.name, diff=None, reason=one_line(str(error)))
        else:
            names = (states[0].name, state.name)
            diff = compare_figures(names, known[0], known[index], fail_on)
            tried = Tried(index=index, name=state.name, diff=diff)
        found[index] = tried
        reason = f": {tried.reason}" if tried.reason else ""
        emit(f"state {index} of {len(states) - 1}: {state.name}: {tried.verdict}{reason}")
        return tried

    look(0, must=True)
    good, bad = 0, len(states) - 1
    if look(bad, must=True).verdict == "good":
        return _result(states, found, None)
    while left := [index for index in range(good + 1, bad) if index not in found]:
        # of those that are left the one in the middle of the range: skipped ones are stepped over
        middle = min(left, key=lambda index: abs(2 * index - good - bad))
        verdict = look(middle).verdict
        if verdict == "good":
            good = middle
        elif verdict == "bad":
            bad = middle
    diff = compare_figures((states[good].name, states[bad].name), known[good], known[bad], fail_on)
    return replace(
        _result(states, found, diff), suspects=tuple(state.name for state in states[good + 1 : bad + 1])
    )


def _result(states: Sequence[GateSide], found: dict[int, Tried], diff: PredictionDiff | None) -> Bisection:
    return Bisection(
        states=tuple(state.name for state in states),
        tried=tuple(found[index] for index in sorted(found)),
        diff=diff,
    )


def bisect_predictions(
    session: Session, states: Sequence[GateSide], options: PredictOptions, fail_on: Limits[Regression]
) -> Bisection:
    """Look for the state that made the kernels of the options slower.

    :raises CkprofError: the first or the last state cannot be predicted.
    """
    return bisect(
        states,
        lambda state: figures_of(session, state, options),
        fail_on,
        lambda text: session.emit(Message(text)),
    )
