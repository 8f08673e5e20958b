"""What is told while lists are read and kernels are built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.events import Event

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.kernels.candidates import Rejection
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.model.conversion import Conversion


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRead(Event):
    """A list was read and converted."""

    conversion: Conversion


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidLeftOut(Event):
    """Instances were sorted out that are not valid for the architecture."""

    #: what the instances come from
    source: str
    arch: str
    #: instances that are kept
    kept: int
    invalid: tuple[Rejection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildStarted(Event):
    """Kernels are about to be built."""

    #: one line about the compiler
    compiler: str
    kernels: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStarted(Event):
    """What a target needs on this machine is about to be compiled; :class:`BuildProgress` follows."""

    #: a few words
    name: str
    #: where it is kept
    folder: Path
    #: seconds of CPU time that it takes, roughly; ``None`` where only some of it is out of date
    cpu_s: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFinished(Event):
    """It is over, also where it was ended by an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildProgress(Event):
    """A compile step is over."""

    done: int
    total: int
    #: the step
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFinished(Event):
    """The build is over."""

    #: ``None`` when it was ended by an error
    library: BuiltLibrary | None
