"""A fitted time model: what is known about each kernel, and predictions from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, prod
from typing import TYPE_CHECKING, Final

from ckprof.selection.kinship import distance, weights
from ckprof.selection.time_model import KernelParameters, SharedParameters, terms
from ckprof.selection.work import work

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.kernel_traits import KernelTraits
    from ckprof.selection.tree import Tree
    from ckprof.selection.work import Sizes

#: relative error of a prediction for a kernel that was derived from its kin, and more per unit of distance
_DERIVED: Final = 0.02
_PER_DISTANCE: Final = 0.08
#: relative error per factor e outside the trained range
_PER_RANGE: Final = 0.1
#: what is compared with the trained range
RANGE_AXES: Final = ("m", "n", "k", "batch")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKernel:
    """One kernel of a model."""

    name: str
    #: what its configuration says
    traits: KernelTraits
    #: what the model computes with; kernels that ignore a part of their configuration differ here
    computes: KernelTraits
    parameters: KernelParameters
    #: typical relative error of its predictions, as a multiple of the noise
    spread: float
    #: measured times behind it; 0: derived from its kin
    rows: int
    #: distance to the kernels that it was derived from; 0 for measured ones
    gap: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The time of one kernel with one number of splits."""

    kernel: str
    splits: int
    time_us: float
    #: standard deviation, relative
    uncertainty: float
    #: whether the kernel was among those that the model was fitted to
    measured: bool
    #: what takes most of the time, see :attr:`ckprof.selection.time_model.Terms.limit`
    limit: str


@dataclass(frozen=True, kw_only=True)
class TimeModel:
    """Shared parameters, kernels, and the range that they were fitted to."""

    #: architecture that the times came from, or the device where a target runs kernels of its own; empty if
    #: unknown
    device: str
    #: target that ran the measured kernels where it is not the architecture itself; empty otherwise
    target: str
    units: int
    #: compiler and the like of the measured kernels; empty if unknown
    toolchain: str
    direction: str
    dtype: str
    #: of the tensors; empty if unknown
    layout: str
    element_bytes: int
    shared: SharedParameters
    kernels: Mapping[str, ModelKernel]
    #: numbers of splits that were measured
    splits: tuple[int, ...]
    #: axis -> least and greatest value of the training problems
    ranges: Mapping[str, tuple[float, float]]
    shortest_us: float
    #: boosted trees on what the formulas leave unexplained; empty if none were trained
    trees: tuple[Tree, ...] = ()

    def kernel(self, name: str, traits: KernelTraits) -> ModelKernel:
        """Return a kernel, derived from its kin if it was not measured."""
        known = self.kernels.get(name)
        return known if known is not None else derived(self, name, traits)

    def time_us(self, kernel: ModelKernel, sizes: Sizes, splits: int = 1) -> float:
        """Return the predicted time of a kernel on a problem in microseconds."""
        done = work(kernel.computes, sizes, splits, self.units)
        return float(terms(done, self.shared, kernel.parameters).total)

    def uncertainty(self, kernel: ModelKernel, time_us: float, sizes: Sizes) -> float:
        """Return the relative standard deviation of a prediction."""
        noise = 0.01 + 0.035 * self.shortest_us / time_us
        derived_part = 0.0 if kernel.rows else _DERIVED + _PER_DISTANCE * kernel.gap
        outside = sum(gap for _, gap in self.outside(sizes))
        parts = (kernel.spread * noise, derived_part, _PER_RANGE * outside)
        return float(sum(part**2 for part in parts) ** 0.5)

    def outside(self, sizes: Sizes) -> tuple[tuple[str, float], ...]:
        """Return axes along which a problem is outside the trained range, and the logarithm of each gap."""
        found = []
        for axis in RANGE_AXES:
            value = getattr(sizes, axis)
            least, most = self.ranges[axis]
            gap = max(log(least / value), log(value / most))
            if gap > 1e-9:
                found.append((axis, gap))
        return tuple(found)

    def warnings(self, sizes: Sizes) -> tuple[str, ...]:
        """Return one line for each axis along which a problem lies outside the trained range."""
        return tuple(
            f"{axis} = {getattr(sizes, axis)} is outside the trained range "
            f"{self.ranges[axis][0]:g} to {self.ranges[axis][1]:g}"
            for axis, _ in self.outside(sizes)
        )


def derived(model: TimeModel, name: str, traits: KernelTraits) -> ModelKernel:
    """Return what the measured kernels say about one that was not measured.

    Parameters are compared per element that they work on, so that a kernel with a larger tile is expected to
    be slower per tile.
    """
    known = [one for one in model.kernels.values() if one.rows]
    shares = weights(traits, [one.traits for one in known])
    gap = sum(share * distance(traits, known[index].traits) for index, share in shares.items())
    if len(shares) == 1:
        (index,) = shares
        kin = known[index]
        return replace(kin, name=name, traits=traits, rows=0, gap=gap)
    totals = dict.fromkeys(KernelParameters.__dataclass_fields__, 1.0)
    spread = 0.0
    for index, share in shares.items():
        kin = known[index]
        spread += share * kin.spread
        for field in totals:
            value = getattr(kin.parameters, field) / _scale(field, kin.computes)
            totals[field] *= value**share
    parameters = KernelParameters(**{field: value * _scale(field, traits) for field, value in totals.items()})
    return ModelKernel(
        name=name, traits=traits, computes=traits, parameters=parameters, spread=spread, rows=0, gap=gap
    )


def _scale(field: str, traits: KernelTraits) -> float:
    """Return how a parameter grows with the tile, about: work grows faster than the time that it takes."""
    m, n, k = traits.tile
    if field == "tile":
        return float(m * n)
    if field == "loop":
        return float(prod((m, n, k)) ** 0.5)
    if field == "latency":
        return float(prod((m, n, k)) ** 0.25)
    return 1.0
