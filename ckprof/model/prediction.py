"""Times that were predicted from machine code: never measured, and never stored among what was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.kernel_profile import KernelProfile
    from ckprof.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedDevice:
    """The product whose times are predicted."""

    name: str
    compute_units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeQuestion:
    """How long does a kernel take for a problem?"""

    #: content key of the kernel's instance
    key: str
    problem: Problem
    #: splits of the reduction; -1 leaves them to the kernel
    split_k: int
    #: bytes of each tensor, in the operation's order
    tensor_bytes: tuple[int, ...]
    #: operations and bytes that the problem needs at least
    flop: int
    traffic_bytes: int
    #: name of the type that is multiplied
    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionRequest:
    """Questions to the kernels of one library, which was built for the target's device for predictions."""

    library: Path
    arch: str
    #: name of the product; empty for the usual one of the architecture
    model: str
    questions: tuple[TimeQuestion, ...]
    #: what the waves of each kernel do is wanted, too
    profile: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictedTime:
    """What was predicted of a kernel on a problem."""

    time_us: float
    #: by how much loops that were not simulated to their end may change it; not the error of the model
    extrapolation_us: float
    #: what the time is spent on most, a word or a few
    limit: str
    #: least time that the device's peak rates allow, divided by the predicted one
    roof_share: float
    #: workgroups of all launches, those that share a compute unit, and of the unit that gets most
    workgroups: int
    resident: int
    queue: int
    #: parts of the time in microseconds, of which some go on at once
    parts: Mapping[str, float] = field(default_factory=dict)
    #: unit -> share of the time that it works, 1 for one that never rests
    busy: Mapping[str, float] = field(default_factory=dict)
    #: what waves wait for -> share of their time
    stalls: Mapping[str, float] = field(default_factory=dict)
    #: of the launch that takes most time, if it was asked for
    profile: KernelProfile | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeAnswer:
    """The answer to a question: a time, or why there is none."""

    time: PredictedTime | None = None
    #: the kernel does not support the problem
    unsupported: bool = False
    reason: str = ""
