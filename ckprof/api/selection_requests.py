"""What a caller can ask of time models: frozen, typed, each default in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.api.requests import BuildOptions

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.api.instances import Selection
    from ckprof.model.dtype import DataType
    from ckprof.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """What a model is trained on, and what the measurements do not say themselves."""

    #: tables of measured times
    files: tuple[Path, ...]
    #: id or alias of the direction
    direction: str
    dtype: DataType
    #: name of the layout; only recorded
    layout: str = ""
    #: architecture that was measured; ``None``: what the files name
    arch: str | None = None
    #: target that ran the kernels of tables, if not the architecture itself; stores say it themselves
    target: str = ""
    #: compute units of the device; ``None``: those of the architecture, or what explains the times best
    units: int | None = None
    #: compiler and the like of the kernels; only recorded
    toolchain: str = ""
    #: report of ``ckprof inspect``, or folder of a build: workgroups of each kernel on a compute unit
    inspection: Path | None = None
    #: train boosted trees as well, with LightGBM
    boost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions:
    """What a model is judged by."""

    model: Path
    files: tuple[Path, ...]
    #: what the model was trained on, for the nearest neighbour
    training: tuple[Path, ...] = ()
    #: how many of the predicted best are taken as measured
    top: int = 3
    #: correct predictions by the model's trees
    boost: bool = False
    #: use a model of another device
    force: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectOptions:
    """What a kernel is chosen for."""

    model: Path
    selection: Selection
    problem: Problem
    #: how many kernels are returned
    top: int = 3
    #: how many of the best are built, run and timed; 0: none
    measure: int = 0
    #: ask the kernels' own tests which of them support the problem; without that, all count as supported
    check_support: bool = True
    #: correct predictions by the model's trees
    boost: bool = False
    build: BuildOptions = field(default_factory=BuildOptions)
    #: use a model of another device
    force: bool = False
