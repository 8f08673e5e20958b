"""What a caller can ask of time models: frozen, typed, each default in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.kernels.requests import BuildOptions
from ckprof.model.types import DataType
from ckprof.option import option, positive, same_option

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.kernels.choose import Selection
    from ckprof.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """What a model is trained on, and what the measurements do not say themselves."""

    #: an alias is fine
    direction: str = field(metadata=option("what was computed: see 'ckprof list directions'", metavar="ID"))
    dtype: DataType = field(
        metadata=option("type of the operands: {dtypes}", metavar="NAME", parse=DataType.parse)
    )
    files: tuple[Path, ...] = field(
        default=(), metadata=option("a store, or a table of measured times", flag="files", metavar="FILE")
    )
    predicted: tuple[Path, ...] = field(
        default=(),
        metadata=option(
            "times of 'ckprof predict --format json', which stand where nothing was measured, corrected by "
            "what was (repeatable)",
            metavar="FILE",
        ),
    )
    layout: str = field(default="", metadata=option("layout of the tensors, to be recorded", metavar="NAME"))
    arch: str | None = field(
        default=None,
        metadata=option(
            "architecture, on the CPU the modelled one (default: the one that the files name)", metavar="NAME"
        ),
    )
    target: str = field(
        default="",
        metadata=option(
            "what ran the kernels of a table, if not the architecture itself (stores say it)", metavar="ID"
        ),
    )
    units: int | None = field(
        default=None,
        metadata=option(
            "compute units of the device (default: the architecture's, or the number that explains the "
            "times best)",
            flag="--compute-units",
            metavar="N",
            parse=positive,
        ),
    )
    inspection: Path | None = field(
        default=None,
        metadata=option(
            "report of 'ckprof inspect', or folder of a build: workgroups of each kernel on a compute unit",
            metavar="PATH",
        ),
    )
    boost: bool = field(
        default=False,
        metadata=option(
            "boosted trees on what the model leaves unexplained as well (pip install 'ckprof[boost]')"
        ),
    )
    toolchain: str = field(default="", metadata=option("compiler etc., to be recorded", metavar="TEXT"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions:
    """What a model is judged by."""

    model: Path = field(metadata=option("a file of 'ckprof train'", flag="model", metavar="MODEL"))
    files: tuple[Path, ...] = field(
        metadata=option("a store, or a table of measured times", flag="files", metavar="FILE")
    )
    training: tuple[Path, ...] = field(
        default=(),
        metadata=option(
            "what the model was trained on, for the nearest neighbour (repeatable)", metavar="FILE"
        ),
    )
    top: int = field(default=3, metadata=option("best of the predicted best K", metavar="K", parse=positive))
    boost: bool = field(default=False, metadata=same_option(TrainOptions, "boost"))
    force: bool = field(
        default=False,
        metadata=option("use what was learnt on another device or type all the same"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectOptions:
    """What a kernel is chosen for."""

    model: Path = field(metadata=option("a file of 'ckprof train'", metavar="FILE"))
    selection: Selection
    problem: Problem = field(
        metadata=option("a MIOpenDriver conv line or ckProfiler's arguments", metavar="LINE", parse=str)
    )
    top: int = field(default=3, metadata=option("kernels that are shown", metavar="K", parse=positive))
    #: 0: none
    measure: int = field(
        default=0,
        metadata=option(
            "build, run and time the K predicted best", metavar="K", parse=positive, show=lambda _: ""
        ),
    )
    boost: bool = field(default=False, metadata=same_option(TrainOptions, "boost"))
    #: without that, all kernels count as supported
    check_support: bool = field(
        default=True, metadata=option("do not ask the kernels' own tests", flag="--no-support-check")
    )
    force: bool = field(default=False, metadata=same_option(ValidateOptions, "force"))
    build: BuildOptions = field(default_factory=BuildOptions)
