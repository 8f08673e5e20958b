"""Fields of instances that have no meaning on NVIDIA GPUs: the one table of them.

They decide, as everywhere, what is valid and which problems are supported; the machine code does not depend
on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.same_kernels import IgnoredFields
from ckprof_plugins.targets.cuda.execution import ENGINE_W, executed

if TYPE_CHECKING:
    from ckprof.plugin.timing import TimedKernel

#: of every instance that is a matrix product
IN_BOTH_ENGINES: Final = (
    IgnoredFields(
        names=("mma_tile_m", "mma_tile_n", "mma_tile_k"),
        reason="the MMA tile is that of the device's own instructions",
    ),
    IgnoredFields(names=("specialization",), reason="the general arithmetic serves every specialization"),
    IgnoredFields(names=("split_image",), reason="images are not split"),
    IgnoredFields(names=("num_wave_groups",), reason="the engine decides about groups of waves"),
)
#: of instances that engine W computes, on the problems that it takes
IN_ENGINE_W: Final = (
    IgnoredFields(names=("tile_k",), reason="engine W has stages of 128 bytes along k"),
    IgnoredFields(names=("vector_size_a", "vector_size_b"), reason="engine W copies boxes of the operands"),
)


def ignored_fields(kernel: TimedKernel) -> tuple[IgnoredFields, ...]:
    """Return the fields of an instance that have no meaning; none of kernels that are no matrix products."""
    if "gemm_pipeline" not in kernel.fields:
        return ()
    in_engine_w = ENGINE_W in executed(kernel).labels
    ignored = IN_BOTH_ENGINES + (IN_ENGINE_W if in_engine_w else ())
    return tuple(group for group in ignored if any(name in kernel.fields for name in group.names))
