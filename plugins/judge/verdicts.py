"""What a judgement may say, how it is asked for, and why a candidate is not right."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from ckprof.measure.options import RunOptions
from ckprof.option import Limits, device_choice, duration, limits, same_option, settable
from ckprof.settings import Settings

if TYPE_CHECKING:
    from ckprof.model.outcome import Outcome
    from ckprof_plugins.judge.operands import Operands, Place


class Verdict(Enum):
    """What a candidate is."""

    RIGHT = "right"
    WRONG = "wrong"
    DISHONEST = "dishonest"
    #: it does not support a problem that it was asked for
    REFUSED = "refused"


class Shortcoming(Enum):
    """What else ``--fail-on`` may name."""

    #: significantly slower than a baseline, or than the best kernel that a store knows
    SLOWER = "slower"
    #: the budget ended before all problems were tried
    INCOMPLETE = "incomplete"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """How long, and how strictly."""

    budget_s: float | None = settable(
        300.0,
        "most time for building, loading and searching, e.g. 90s, 5m or 2h",
        flag="--budget",
        metavar="TIME",
        parse=duration,
        show=lambda seconds: f"{seconds / 60:g}m",
    )
    seed: int | None = settable(
        None, "seed of what is drawn at random (default: another one each time)", metavar="N"
    )
    timeout_s: float = settable(
        Settings().timeout, "seconds, or e.g. 5m, for one launch", flag="--timeout", parse=duration
    )
    fail_on: Limits[Shortcoming] = settable(
        (),
        "what else is exit code 1 beside wrong and dishonest candidates: slower[=N%], incomplete",
        metavar="NAME,...",
        parse=lambda text: limits(Shortcoming, text, (Shortcoming.SLOWER,)),
    )
    device: int | str | None = settable(
        None,
        "where it runs: index of a GPU, for Python on NVIDIA GPUs, HIP sources, code objects and libraries, "
        "or the name of a device that a target brings along",
        metavar="N|NAME",
        parse=device_choice,
    )
    checks: tuple[str, ...] = field(default=(), metadata=same_option(RunOptions, "checks"))
    cpu_threads: int = settable(
        0, "CPU threads that the candidate is asked to use", flag="--threads", metavar="N"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Why a candidate is not right."""

    verdict: Verdict
    #: one sentence
    evidence: str
    #: the smallest problem that shows it
    place: Place
    operands: Operands
    outcome: Outcome
    #: where it was found, and what that problem is at; the same place where nothing smaller shows it
    found_on: Place
    kind: str
