"""A fitted time model: parameters of each kernel, similarity of kernels, and predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import takewhile
from math import exp, hypot, log, log2, prod
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.formatting import counted
from ckprof.model.gemm_work import KernelTraits, Reduction, Schedule
from ckprof.model.noise import quantile
from ckprof_plugins.tuning.time_model.formula import KernelParameters, SharedParameters, terms, trend, work
from ckprof_plugins.tuning.time_model.intervals import (
    DEVIATIONS,
    LARGEST_HALF,
    RANGE_AXES,
    Trials,
    beyond,
    extents,
    place,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_plugins.tuning.time_model.formula import Sizes, Terms


class Similarity(Enum):
    """What a kernel has in common with the nearest ones that were measured."""

    #: one of its family with a tile as deep was measured
    ALIKE = "alike"
    #: of its family, but none with a tile as deep
    DEPTH = "depth"
    #: none of its family: pipeline, schedule and reduction
    FAMILY = "family"


class ModelKernel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One kernel of a model, in its file as well."""

    name: str
    #: what its configuration says
    traits: KernelTraits
    #: what the model computes with where kernels ignore a part of their configuration; otherwise ``None``
    others: KernelTraits | None = msgspec.field(name="computes")
    parameters: KernelParameters
    #: scale of its errors: 70 % of the logarithms of measured / predicted are smaller, on problems that were
    #: left out of the fit. For a derived kernel: what follows from errors on kernels that were left out
    spread: float
    #: measured times behind it; 0: derived from similar kernels
    rows: int
    #: see :func:`ckprof_plugins.tuning.time_model.formula.trend`
    trend: tuple[float, ...] = ()
    #: distance to the kernels that it was derived from; 0 for measured ones
    gap: float = 0.0

    @property
    def computes(self) -> KernelTraits:
        """What the model computes with."""
        return self.others or self.traits


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The time of one kernel with one number of splits."""

    kernel: str
    splits: int
    time_us: float
    #: what would be the relative standard deviation if errors were normal: half of the interval's logarithmic
    #: width divided by 1.96
    uncertainty: float
    #: 95 % of measured times lie between these, on problems like the trained ones; elsewhere more may lie
    #: outside, and :meth:`Selector.warnings` say so. The upper end of the first of a ranking allows for
    #: its having been chosen
    low_us: float
    high_us: float
    #: whether the kernel was among those that the model was fitted to
    measured: bool
    #: what takes most of the time, see :attr:`ckprof_plugins.tuning.time_model.formula.Terms.limit`
    limit: str

    def holds(self, time_us: float) -> bool:
        """Say whether a measured time lies in the interval."""
        return self.low_us <= time_us <= self.high_us


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """Best time divided by the time of the choice, over several problems: each between 0 and 1."""

    mean: float
    median: float
    #: a tenth of the problems is below
    p10: float
    worst: float


def summarise(values: Sequence[float]) -> Efficiency | None:
    """Return the figures of efficiencies; ``None`` if there are none."""
    if not values:
        return None
    return Efficiency(
        mean=fmean(values), median=median(values), p10=quantile(sorted(values), 0.1), worst=min(values)
    )


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which times a model was fitted to; in its file as well."""

    sources: tuple[str, ...] = ()
    #: hash over problems, kernels and times
    digest: str = ""
    problems: int = 0
    rows: int = 0
    #: times that were left out, with the reason
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TimeModel:
    """Shared parameters, kernels, and the range that they were fitted to; in this order in its file."""

    #: architecture that the times came from, or the device where a target runs kernels of its own; empty if
    #: unknown
    device: str
    #: target that ran the measured kernels where it is not the architecture itself; empty otherwise
    target: str = ""
    compute_units: int
    #: compiler and the like of the measured kernels; empty if unknown
    toolchain: str = ""
    direction: str
    dtype: str
    #: of the tensors; empty if unknown
    layout: str = ""
    element_bytes: int
    #: numbers of splits that were measured
    splits: tuple[int, ...]
    shortest_us: float
    #: axis -> least and greatest value of the training problems
    ranges: Mapping[str, tuple[float, float]]
    origin: Provenance = field(default_factory=Provenance)
    #: how well the model chose among the kernels of its own training problems, by cross-validation; ``None``
    #: where there were too few problems. Problems of one table are often variations of a few: figures on
    #: problems of another kind will be lower
    quality: Efficiency | None = None
    shared: SharedParameters
    #: m, n, k and batch of a usual problem, for the kernels' trends
    middle: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    kernels: Mapping[str, ModelKernel]
    #: spread of kernels that were not measured
    derived_spreads: Mapping[Similarity, float] = field(default_factory=dict)
    #: errors on problems that were left out; empty for a model that was not trained
    trials: Trials = field(default_factory=Trials)
    #: how many of the times that it was fitted to were predicted from machine code
    predicted: int = 0
    #: 95 % of measured times lie between ``exp(-predicted_half)`` and ``exp(predicted_half)`` times predicted
    #: ones, as far as it is known; 0 without any
    predicted_half: float = 0.0

    def kernel(self, name: str, traits: KernelTraits) -> ModelKernel:
        """Return a kernel, derived from similar kernels if it was not measured."""
        measured = self.kernels.get(name)
        return measured if measured is not None else derived(self, name, traits)

    def splits_of(self, traits: KernelTraits) -> tuple[int, ...]:
        """Return the numbers of splits with which a kernel may be launched."""
        return self.splits if traits.schedule is Schedule.TILES else (1,)

    def time_us(self, kernel: ModelKernel, sizes: Sizes, splits: int = 1) -> float:
        """Return the predicted time of a kernel on a problem in microseconds."""
        return float(self.terms(kernel, sizes, splits).total)

    def terms(self, kernel: ModelKernel, sizes: Sizes, splits: int) -> Terms:
        """Return the parts of the time of a kernel on a problem: numbers, arrays or symbols."""
        done = work(kernel.computes, sizes, splits, self.compute_units)
        factor = trend(self.middle, kernel.trend, sizes)
        return replace(terms(done, self.shared, kernel.parameters), factor=factor)

    def half(self, kernel: ModelKernel, reach: float) -> float:
        """Return half the logarithmic width of the interval of a kernel's time.

        :param reach: of the problem, see :meth:`reach`.
        """
        return min(hypot(kernel.spread * reach, self.predicted_half), LARGEST_HALF)

    @property
    def basis(self) -> str:
        """What the times are of which it was fitted, where not all of them were measured; otherwise empty."""
        if not self.predicted:
            return ""
        times = counted(self.predicted, "time")
        return f"the model was fitted to {times} that were predicted from machine code, not measured"

    def reach(self, sizes: Sizes) -> float:
        """Return to how many of a kernel's spreads an interval of 95 % reaches on a problem, either way.

        The interval of a kernel's time is that time multiplied by ``exp(-spread * reach)`` to
        ``exp(spread * reach)``.
        """
        if not self.trials.trials:
            return DEVIATIONS
        return self.trials.reach(place(sizes), beyond(self.ranges, sizes))

    def outside(self, sizes: Sizes) -> tuple[tuple[str, float], ...]:
        """Return axes along which a problem is outside the trained range, and the logarithm of each gap."""
        gaps = zip(RANGE_AXES, beyond(self.ranges, sizes), strict=True)
        return tuple((axis, abs(gap) * log(2)) for axis, gap in gaps if gap)

    def warnings(self, sizes: Sizes) -> tuple[str, ...]:
        """Return why a prediction for a problem may be farther off than its interval says.

        One line for each axis along which the problem lies outside the trained range; inside of it, one where
        no trained problem is as near as they are to one another.
        """
        values = extents(sizes)
        outside = [axis for axis, _ in self.outside(sizes)]
        said = [
            axis for axis in outside if not any(other in outside for other in _SAYS_THE_SAME.get(axis, ()))
        ]
        lines = [
            f"{RANGE_AXES[axis]} = {values[axis]:.10g} is outside the trained range "
            f"{self.ranges[axis][0]:.10g} to {self.ranges[axis][1]:.10g}"
            for axis in said
        ]
        if not lines and self.trials.places:
            nearest = self.trials.nearest(place(sizes))
            if nearest > self.trials.usual_distance:
                lines.append(
                    f"no trained problem is like it: sizes of the nearest differ {2**nearest:.1f} times, "
                    f"those of trained ones {2**self.trials.usual_distance:.1f} times"
                )
        return tuple(lines)

    def kernel_warning(self, traits: KernelTraits) -> str:
        """Return how a kernel differs from those that were measured; empty if a similar one was."""
        measured = [kernel.traits for kernel in self.kernels.values()]
        kind = similarity(traits, measured)
        if not measured or kind is Similarity.ALIKE:
            return ""
        if kind is Similarity.DEPTH:
            depths = sorted({depth(one) for one in measured if family(one) == family(traits)})
            known = ", ".join(map(str, depths))
            return f"tile depth {depth(traits)} was not measured, only {known}"
        known = ", ".join(sorted({" ".join(family(one)) for one in measured}))
        return f"no kernel of {' '.join(family(traits))} was measured, only of {known}"


#: axis -> axes that imply it where they are outside their range, too
_SAYS_THE_SAME: Final = {"n_run": ("n",), "k_run": ("k",), "work": ("m", "n", "k", "batch")}


def family(traits: KernelTraits) -> tuple[str, ...]:
    """Return a kernel's first label, and how it divides work where that is not the usual way."""
    unusual = [
        part.value
        for part, usual in ((traits.schedule, Schedule.TILES), (traits.reduction, Reduction.ATOMIC))
        if part is not usual
    ]
    return (*traits.labels[:1], *unusual)


def similarity(traits: KernelTraits, measured: Sequence[KernelTraits]) -> Similarity:
    """Return what a kernel has in common with those that were measured."""
    similar = [other for other in measured if family(other) == family(traits)]
    if not similar:
        return Similarity.FAMILY
    return Similarity.ALIKE if any(depth(other) == depth(traits) for other in similar) else Similarity.DEPTH


def depth(traits: KernelTraits) -> int:
    """Return how deep a kernel's tile is configured, whatever chunks it takes in its place where it can."""
    return traits.tile[2] if traits.chunks is None else traits.chunks.short_k


def derived(model: TimeModel, name: str, traits: KernelTraits) -> ModelKernel:
    """Return what the measured kernels say about one that was not measured.

    Parameters are compared per element that they work on, so that a kernel with a larger tile is expected to
    be slower per tile.
    """
    measured = [kernel for kernel in model.kernels.values() if kernel.rows]
    shares = weights(traits, [kernel.traits for kernel in measured])
    kind = similarity(traits, [kernel.traits for kernel in measured])
    spread = model.derived_spreads.get(kind, 1.0)
    gap = sum(share * distance(traits, measured[index].traits) for index, share in shares.items())
    if len(shares) == 1:
        (index,) = shares
        similar = measured[index]
        return msgspec.structs.replace(
            similar, name=name, traits=traits, others=similar.computes, spread=spread, rows=0, gap=gap
        )

    def shared(one: str) -> float:
        kernels = [(measured[index], share) for index, share in shares.items()]
        values = ((getattr(of.parameters, one) / _scale(one, of.computes)) ** share for of, share in kernels)
        return float(prod(values) * _scale(one, traits))

    parameters = KernelParameters(**{one: shared(one) for one in KernelParameters.__dataclass_fields__})
    return ModelKernel(
        name=name, traits=traits, others=None, parameters=parameters, spread=spread, rows=0, gap=gap
    )


def _scale(field: str, traits: KernelTraits) -> float:
    """Return how a parameter grows with the tile, about: work grows faster than the time that it takes."""
    m, n, k = traits.tile
    scales = {"tile": m * n, "loop": (m * n * k) ** 0.5, "latency": (m * n * k) ** 0.25}
    return float(scales.get(field, 1.0))


#: Kernels closer than this differ in labels alone.
NEAR: Final = 0.75
_SCHEDULE_STEP: Final = 4.0
_STAGE_STEP: Final = 2.0
_LABEL_STEP: Final = 0.5
_NEIGHBOURS: Final = 4


def distance(kernel: KernelTraits, other: KernelTraits) -> float:
    """Return a distance: 0 for equal traits, 1 for a tile twice as long along one axis.

    Kernels that keep another number of tiles in local memory are farther apart than those that merely
    schedule their instructions otherwise, which only their labels show.
    """
    total = sum(log2(a / b) ** 2 for a, b in zip(kernel.tile, other.tile, strict=True))
    total += _SCHEDULE_STEP**2 * (
        (kernel.schedule is not other.schedule) + (kernel.reduction is not other.reduction)
    )
    total += (_STAGE_STEP * log2(kernel.lds_stages / other.lds_stages)) ** 2
    if kernel.labels != other.labels:
        pairs = zip(kernel.labels, other.labels, strict=False)
        equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        total += (_LABEL_STEP / (1 + equal)) ** 2
    return float(total**0.5)


def weights(target: KernelTraits, measured: Sequence[KernelTraits]) -> Mapping[int, float]:
    """Return how much each known kernel says about another one: index -> share, of sum 1.

    Where a kernel differs in labels alone, it speaks alone; otherwise the nearest ones share.
    """
    ranked = sorted((distance(target, kernel), index) for index, kernel in enumerate(measured))[:_NEIGHBOURS]
    nearest = ranked[0][0]
    if nearest < NEAR:
        return {ranked[0][1]: 1.0}
    shares = {index: exp(-((gap / nearest) ** 2)) for gap, index in ranked}
    total = sum(shares.values())
    return {index: share / total for index, share in shares.items()}
