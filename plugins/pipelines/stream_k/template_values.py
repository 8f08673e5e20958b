"""What the header of a stream-K kernel shows besides the things of every GEMM kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.codegen.cpp import boolean
from ckprof_plugins.pipelines._base.template_values import rejection
from ckprof_plugins.pipelines._gemm.template_values import GemmHeader, gemm_values

if TYPE_CHECKING:
    from ckprof_plugins.pipelines._base.template_values import HeaderRequest
    from ckprof_plugins.pipelines.stream_k.instance import StreamKInstance

_REQUIREMENTS = (
    rejection(
        "split-k",
        "k_batch != 1",
        "split_k = {k_batch}: stream-K divides the reduction by itself, there is nothing to choose",
    ),
    rejection(
        "stream-k-groups",
        "misses_tiles(param)",
        "stream-K would not reach all {param.G_} groups: the {param.K_ * Config::NumGroupsToMerge} rows of "
        "one do not fill tiles of {Config::M_Tile}",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamKHeader(GemmHeader):
    """The values of one header."""

    #: enumerator of ``StreamKReductionStrategy``
    strategy: str
    persistent: str


def stream_k_header(instance: StreamKInstance, request: HeaderRequest) -> StreamKHeader:
    """Return the values of an instance's header."""
    values = gemm_values(
        instance,
        request,
        (
            "ck_tile/ops/gemm/kernel/streamk_gemm/streamk_gemm_tile_partitioner.hpp",
            "ckprof_workspace.hpp",
        ),
    )
    return StreamKHeader(
        **{
            **values,
            "unmet_requirements": (*values["unmet_requirements"], *_REQUIREMENTS),
            "deduces_split_k": False,
        },
        strategy=instance.strategy.enumerator,
        persistent=boolean(instance.persistent),
    )
