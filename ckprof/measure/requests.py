"""What instances are run on, and how, before anything is built: frozen, typed, each default in one place."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import UsageError
from ckprof.measure.options import RunOptions
from ckprof.measure.verify.operands import InitKind
from ckprof.model.problem_case import ALL_SPLITS, AUTO
from ckprof.option import option, same_option, settable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ckprof.kernels.choose import Selection
    from ckprof.kernels.requests import BuildOptions
    from ckprof.measure.worker.messages import SupportQuery
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase


def parse_splits(text: str) -> tuple[int, ...]:
    """Return the splits of ``1,2,4``, ``all`` or ``auto``.

    :raises UsageError: it is none of these.
    """
    if text == "all":
        return ALL_SPLITS
    try:
        splits = tuple(AUTO if part in ("auto", str(AUTO)) else int(part) for part in text.split(","))
    except ValueError:
        splits = ()
    if not splits or any(split < 1 and split != AUTO for split in splits):
        raise UsageError(f"expected positive integers, all or auto, got {text!r}")
    return splits


def parse_kernel(text: str) -> int | str:
    """Return the number of a kernel, or its name or the start of its key."""
    return int(text) if text.isdecimal() else text


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlanOptions:
    """What instances are run on, and how."""

    problems: tuple[str | Problem | ProblemCase, ...] = settable(
        (),
        "a MIOpenDriver conv line or ckProfiler's arguments (repeatable; default: a modest 3x3, or what "
        "the kernel family needs)",
        flag="--problem",
        metavar="LINE",
    )
    files: tuple[Path, ...] = settable(
        (),
        "a file with one problem a line, or a JSON list of 'ckprof problems'; those that do not fit the "
        "instances are counted by reason",
        flag="--problems",
        metavar="FILE",
    )
    #: ``None`` for the defaults
    run: RunOptions | None = None
    #: empty for those that each problem line names, or else those of ``run``
    splits: tuple[int, ...] = settable(
        (),
        "splits of the reduction to run, one after the other; auto is deduced by the kernel, all is auto "
        "and the powers of two up to 128 (default: what the problem line says, else 1)",
        flag="--split-k",
        metavar="N,N,...|all|auto",
        parse=parse_splits,
        several="store",
    )
    strict_layout: bool = settable(
        False,
        "a line that names another layout than all instances have does not fit (default: its sizes are used)",
    )
    epilogue_cost: bool = settable(
        False,
        "pair each kernel with its unfused baseline, the same one without its epilogue, and show what "
        "the epilogue costs",
    )
    why: bool = settable(
        False,
        "for each unsupported instance every condition that is not met, and how many instances each "
        "condition rejects; and which instances differ only in fields without meaning on the target",
    )
    #: ids
    baselines: tuple[str, ...] = settable(
        (),
        "measure another library on the same problems as well: {baselines} (repeatable)",
        flag="--baseline",
        metavar="NAME",
    )

    def request(
        self,
        selection: Selection,
        cases: Sequence[ProblemCase],
        build: BuildOptions,
        stages: Stages,
        unfused: Unfused | None = None,
    ) -> RunRequest:
        """Return what is built and run, once instances and problems are chosen.

        :param stages: the clock of the run so far; choosing ends with this.
        """
        run = self.run or RunOptions()
        if self.splits:
            # given for every problem: what the lines name does not count
            run = replace(run, splits=self.splits)
            cases = [replace(case, splits=()) for case in cases]
        stages.done("convert")
        return RunRequest(
            selection=selection,
            problems=tuple(cases),
            build=run.built_for(build),
            options=run,
            why=self.why,
            unfused=unfused or UNPAIRED,
            baselines=self.baselines,
            stages=stages,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """How ``Profiler.call`` runs one kernel of a library that is built already."""

    kernel: int | str | None = settable(
        None,
        "number, name or start of the key (default: the first that supports the problem)",
        metavar="N|NAME",
        parse=parse_kernel,
    )
    arch: str | None = settable(
        None, "architecture, on the CPU the modelled one (default: that of the library)", metavar="NAME"
    )
    device: int | str = field(default=0, metadata=same_option(RunOptions, "device"))
    split_k: int | None = settable(None, "splits of the reduction (default: the line's, or 1)", metavar="N")
    warmup: int = settable(0, "untimed runs before the timed ones", metavar="N")
    repeat: int = settable(1, "timed runs", metavar="N")
    median: bool = settable(False, "report the median of the timed runs instead of their mean")
    flush_bytes: int = settable(0, "bytes to touch before each timed run to evict the caches", metavar="N")
    init: str = settable(
        InitKind.DECIMAL.value, "what the operands hold", choices=tuple(kind.value for kind in InitKind)
    )
    seed: int = settable(0, "seed of what is drawn at random", metavar="N")
    verify: bool = field(default=True, metadata=same_option(RunOptions, "verify"))
    checks: tuple[str, ...] = field(default=(), metadata=same_option(RunOptions, "checks"))
    launcher: tuple[str, ...] = field(default=(), metadata=same_option(RunOptions, "launcher"))
    timeout_s: float = field(default=60.0, metadata=same_option(RunOptions, "timeout_s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """Where the outcomes of a run go as well."""

    store: str | Path = field(
        metadata=option(
            "add the outcomes to this result store, made if it does not exist; a folder (or a name that ends "
            "in /) takes shards, for machines that share no local disk",
            metavar="PATH",
        )
    )
    tags: tuple[str, ...] = settable(
        (), "name the outcomes, to find them again", flag="--tag", metavar="NAME"
    )
    #: wait while another process writes the store, instead of failing
    wait: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.tags, str) or not all(isinstance(tag, str) for tag in self.tags):
            raise UsageError(f"tags is {self.tags!r}, expected a tuple of texts")


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportRequest:
    """What kernels are asked."""

    selection: Selection
    build: BuildOptions
    queries: tuple[SupportQuery, ...] = ()
    random: int = settable(0, "ask about so many random problems as well", metavar="N", show=lambda _: "")
    seed: int = settable(0, "seed of what is drawn at random", metavar="N")
    model: bool = settable(True, "do not ask the model on the CPU", flag="--no-model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unfused:
    """What is measured beside fused kernels; nothing where all is empty."""

    #: content key of an instance -> that of the same one without what is fused
    instances: Mapping[str, str] = field(default_factory=dict)
    #: position of a problem -> its sums alone, of the next position
    problems: Mapping[int, ProblemCase] = field(default_factory=dict)


UNPAIRED: Final = Unfused()


class Stages:
    """A clock that counts each second for one stage."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self.seconds: dict[str, float] = {}

    def done(self, name: str) -> None:
        """Count the time since the last stage as that of this one."""
        self.seconds[name] = time.monotonic() - self._started - sum(self.seconds.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A selection to be built and run."""

    selection: Selection
    problems: tuple[ProblemCase, ...]
    build: BuildOptions
    options: RunOptions
    #: reports shall say every condition that rejected an instance
    why: bool = False
    #: kernels and problems that are measured beside others
    unfused: Unfused = field(default_factory=Unfused)
    #: store that the outcomes are added to, by :func:`~ckprof.sweep.recording.run_into_store`
    store: StoreOptions | None = None
    #: ids of the baselines that are measured as well
    baselines: tuple[str, ...] = ()
    #: the clock of the run so far
    stages: Stages = field(default_factory=Stages)
    #: asked before each sample; the run ends where it says so
    should_stop: Callable[[], bool] = lambda: False
    #: called after the last sample: what follows only puts results together
    when_measured: Callable[[], None] = lambda: None
