"""What a caller can ask of a search: frozen, typed, each default in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ckprof.errors import UsageError
from ckprof.kernels.requests import BuildOptions
from ckprof.measure.requests import RunPlanOptions
from ckprof.measure.rounds import RoundOptions
from ckprof.model.types import DataType
from ckprof.option import duration, option, options_of, percent, positive, same_option, settable, share

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ckprof.kernels.choose import Selection
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """What a model is trained on, and what the measurements do not say themselves."""

    #: an alias is fine
    direction: str = settable(
        "",
        "what was computed: see 'ckprof list directions' (default: what the stores have, if it is one)",
        metavar="ID",
    )
    dtype: DataType | None = settable(
        None,
        "type of the operands: {dtypes} (default: that of the stores, if they have one)",
        metavar="NAME",
        parse=DataType.parse,
    )
    files: tuple[Path, ...] = settable(
        (), "a store, or a table of measured times", flag="files", metavar="FILE"
    )
    predicted: tuple[Path, ...] = settable(
        (),
        "times of 'ckprof predict --format json', which stand where nothing was measured, corrected by "
        "what was (repeatable)",
        metavar="FILE",
    )
    layout: str = settable("", "layout of the tensors, to be recorded", metavar="NAME")
    arch: str | None = settable(
        None,
        "architecture, on the CPU the modelled one (default: the one that the files name)",
        metavar="NAME",
    )
    target: str = settable(
        "", "what ran the kernels of a table, if not the architecture itself (stores say it)", metavar="ID"
    )
    compute_units: int | None = settable(
        None,
        "compute units of the device (default: the architecture's, or the number that explains the "
        "times best)",
        flag="--compute-units",
        metavar="N",
        parse=positive,
    )
    inspection: Path | None = settable(
        None,
        "report of 'ckprof inspect', or folder of a build: workgroups of each kernel on a compute unit",
        metavar="PATH",
    )
    toolchain: str = settable("", "compiler etc., to be recorded", metavar="TEXT")


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions:
    """What a model is judged by."""

    model: Path = field(metadata=option("a file of 'ckprof train'", flag="model", metavar="MODEL"))
    files: tuple[Path, ...] = field(
        metadata=option("a store, or a table of measured times", flag="files", metavar="FILE")
    )
    training: tuple[Path, ...] = settable(
        (), "what the model was trained on, for the nearest neighbour (repeatable)", metavar="FILE"
    )
    top: int = settable(3, "best of the predicted best K", metavar="K", parse=positive)
    force: bool = settable(False, "use a model of another device or type anyway")


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectOptions:
    """What a kernel is chosen for."""

    model: Path = field(metadata=option("a file of 'ckprof train'", metavar="FILE"))
    selection: Selection
    problem: Problem = field(
        metadata=option("a MIOpenDriver conv line or ckProfiler's arguments", metavar="LINE", parse=str)
    )
    top: int = settable(3, "kernels that are shown", metavar="K", parse=positive)
    #: 0: none
    measure: int = settable(
        0, "build, run and time the K predicted best", metavar="K", parse=positive, show=lambda _: ""
    )
    #: without that, all kernels count as supported
    check_support: bool = settable(True, "do not ask the kernels' own tests", flag="--no-support-check")
    force: bool = field(default=False, metadata=same_option(ValidateOptions, "force"))
    build: BuildOptions = field(default_factory=BuildOptions)


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictOptions:
    """What is predicted of which kernels."""

    selection: Selection
    problems: tuple[ProblemCase, ...]
    build: BuildOptions = field(default_factory=BuildOptions)
    gpu: str = settable(
        "",
        "product whose compute units, clock and memory count, e.g. MI300X (default: the architecture's "
        "usual one)",
        metavar="NAME",
    )
    measured: tuple[Path, ...] = settable(
        (),
        "a store or a table of measured times, by which predicted ones are corrected: by one factor for "
        "the device and one for each kernel (repeatable)",
        metavar="FILE",
    )
    hot: int = settable(
        0,
        "list the N instructions of each kernel that take most of its waves' time",
        metavar="N",
        parse=positive,
    )
    splits: tuple[int, ...] = field(default=(), metadata=same_option(RunPlanOptions, "splits"))
    #: what the waves of each kernel do is wanted, too
    profile: bool = False

    def __post_init__(self) -> None:
        if self.splits:
            # given for every problem: what the lines name does not count
            cases = tuple(replace(case, splits=self.splits) for case in self.problems)
            object.__setattr__(self, "problems", cases)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How kernels are looked for.

    :raises UsageError: a value is out of range.
    """

    budget_s: float | None = settable(
        None,
        "end after this time, e.g. 90s, 30m or 2h (default: when little can be gained; builds count)",
        flag="--budget",
        metavar="TIME",
        parse=duration,
    )
    kernels: int | None = settable(
        None,
        "keep the best library of at most N kernels (default: as many as it takes to stay within --tie)",
        metavar="N",
    )
    strategy: str = settable("model", "how kernels are looked for: {strategy} (default: model)", metavar="ID")
    tie: float = settable(
        0.02, "improvements below this share are not searched for", metavar="SHARE", parse=share, show=percent
    )
    #: ``None`` for one that is fitted to ``transfer_data``, or physical defaults
    model: Path | None = settable(None, "begin with a model of 'ckprof train'", metavar="FILE")
    transfer_data: tuple[Path, ...] = settable(
        (),
        "a store or table of earlier measurements on the same device, from which a model and its errors "
        "are learned (repeatable)",
        flag="--learn-from",
        metavar="FILE",
    )
    force: bool = field(default=False, metadata=same_option(ValidateOptions, "force"))
    most_measurements: int | None = settable(
        None, "kernels that are measured at most, over all problems", flag="--max-measurements", metavar="N"
    )
    #: of everything that is drawn
    seed: int = 0
    #: asked before every measurement
    should_stop: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        if self.budget_s is not None and not (math.isfinite(self.budget_s) and self.budget_s >= 0):
            raise UsageError(f"--budget is {self.budget_s}, expected at least 0 seconds")
        if not (math.isfinite(self.tie) and 0 <= self.tie < 1):
            raise UsageError(f"--tie is {self.tie}, expected 0 to less than 1")
        for name, value in (("--kernels", self.kernels), ("--max-measurements", self.most_measurements)):
            if value is not None and value < 1:
                raise UsageError(f"{name} is {value}, expected at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneOptions:
    """How a search on a device is run, and where its outcomes go."""

    store: str | Path = field(
        metadata=option(
            "add the outcomes to this result store, made if it does not exist; what it has is not measured "
            "again",
            metavar="FILE",
        )
    )
    search: SearchOptions = field(default_factory=SearchOptions)
    #: when kernels leave the rounds on a problem, and when these are enough; each library that is built is
    #: measured in a process of its own
    rounds: RoundOptions = field(default_factory=lambda: RoundOptions(passes=1))
    retry_failed: bool = settable(False, "try again what failed")
    wait: bool = settable(False, "wait while another process writes the store")
    tags: tuple[str, ...] = settable(
        (), "name the outcomes, to find them again", flag="--tag", metavar="NAME"
    )
    baselines: tuple[str, ...] = field(default=(), metadata=same_option(RunPlanOptions, "baselines"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """A search in recorded measurements: nothing is built or run, seconds are counted.

    By default, as if one kernel were compiled after the other.

    :raises UsageError: a value is out of range.
    """

    files: tuple[Path, ...] = field(
        metadata=option(
            "search this store or table instead of a device (repeatable); requires --dtype, and needs "
            "instances only for --emit",
            flag="--replay",
            metavar="FILE",
        )
    )
    #: id or alias of the direction
    direction: str
    dtype: DataType
    #: target that ran the kernels of tables, if not the architecture itself; stores say it themselves
    target: str = ""
    search: SearchOptions = field(default_factory=SearchOptions)
    #: only kernels of these names take part, and these can be emitted; ``None`` for all of the table
    selection: Selection | None = None
    #: occurrences of problems; 1 for those that are missing
    counts: tuple[tuple[Problem, int], ...] = ()
    build_s: float = settable(
        3.0, "seconds counted for each kernel of a translation unit", flag="--replay-build-time", metavar="S"
    )
    visit_s: float = settable(
        0.02,
        "seconds counted for measuring one kernel on one problem",
        flag="--replay-visit-time",
        metavar="S",
    )
    unit_s: float = settable(
        0.0,
        "seconds counted for each translation unit, without its kernels",
        flag="--replay-unit-time",
        metavar="S",
    )
    start_s: float = settable(
        0.0, "seconds counted for each build, without its compilers", flag="--replay-start-time", metavar="S"
    )
    per_unit: int = settable(
        1,
        "kernels of a translation unit at most (default: 1); --jobs sets the parallel compilers (here "
        "1 by default)",
        flag="--replay-kernels-per-unit",
        metavar="N",
    )
    overlap: bool = settable(
        False, "kernels are measured while others are built, as on a device", flag="--replay-overlap"
    )
    jobs: int = field(default=1, metadata=same_option(BuildOptions, "jobs"))

    def __post_init__(self) -> None:
        for cost, declared in options_of(ReplayOptions):
            name, value = declared.spelling(cost), getattr(self, cost.name)
            if cost.name.endswith("_s") and not (math.isfinite(value) and value >= 0):
                raise UsageError(f"{name} is {value}, expected at least 0 seconds")
            if cost.name in ("per_unit", "jobs") and value < 1:
                raise UsageError(f"{name} is {value}, expected at least 1")
        if self.build_s + self.visit_s == 0:
            raise UsageError("--replay-build-time and --replay-visit-time are both 0: nothing takes time")
