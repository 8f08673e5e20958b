"""A time model for a device of which nothing was measured: rough rates of a GPU, the same for every kernel.

Only ratios between kernels matter to a search, and all of it is corrected by the first measurements.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final

from ckprof.selection.model import RANGE_AXES, ModelKernel, TimeModel
from ckprof.selection.time_model import KernelParameters, SharedParameters

if TYPE_CHECKING:
    from ckprof.model.kernel_traits import KernelTraits

#: microseconds of a launch
_LAUNCH: Final = 4.0
#: bytes per microsecond and compute unit that memory delivers, and that local memory delivers
_MEMORY: Final = 15_000.0
_LOCAL: Final = 120_000.0
#: multiply-adds per microsecond and compute unit
_MULTIPLY_ADDS: Final = 1_500_000.0
#: microseconds that an iteration waits for memory
_WAIT: Final = 0.6


class _PhysicalModel(TimeModel):
    """Derives the parameters of each kernel from its tile."""

    def kernel(self, name: str, traits: KernelTraits) -> ModelKernel:
        """Return what a kernel of that tile would need on a usual device."""
        m, n, k = traits.tile
        arithmetic = m * n * k / _MULTIPLY_ADDS
        operands = (m + n) * k * self.element_bytes / _LOCAL
        loop = arithmetic + operands
        return ModelKernel(
            name=name,
            traits=traits,
            computes=traits,
            parameters=KernelParameters(
                prologue=1.0,
                floor=0.5,
                latency=_WAIT / traits.lds_stages + loop,
                tile=m * n * self.element_bytes / _LOCAL,
                loop=loop,
                meeting=0.0,
            ),
            spread=1.0,
            rows=0,
        )


#: what only measurements tell
_UNCOUNTED: Final = dict.fromkeys(("merging", "gathering", "ragged", "short"), 0.0)


def physical_model(units: int, element_bytes: int) -> TimeModel:
    """Return the model.

    :param units: compute units of the device; 0 if unknown.
    """
    count = units if units > 0 else 100
    return _PhysicalModel(
        device="",
        units=count,
        toolchain="",
        direction="",
        dtype="",
        layout="",
        element_bytes=element_bytes,
        shared=SharedParameters(
            launch=_LAUNCH, bandwidth=_MEMORY * count, tail=0.8, contention=0.3, **_UNCOUNTED
        ),
        kernels={},
        splits=(1,),
        ranges=dict.fromkeys(RANGE_AXES, (0.0, inf)),
        shortest_us=_LAUNCH,
    )
