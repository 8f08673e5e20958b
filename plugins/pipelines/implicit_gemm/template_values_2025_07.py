"""What the header of an implicit-GEMM kernel shows at API level 2025-07.

There, hot loop and tail of the main loop and the way results are stored are template arguments, so a
launcher instantiates several kernels and chooses one of them for each problem.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Final

from ckprof.model.api_level import API_LEVEL_2025_07
from ckprof_plugins.directions._convolution.kernel import ConvOperation, Zeroing
from ckprof_plugins.pipelines._base.template_values import includes, rejection
from ckprof_plugins.pipelines._gemm.level_rules import SURFACES
from ckprof_plugins.pipelines._gemm.prefetch import mem_prefetch_stages
from ckprof_plugins.pipelines._gemm.template_values import GemmHeader, gemm_values
from ckprof_plugins.pipelines._gemm.vocabulary import GemmPipeline

if TYPE_CHECKING:
    from ckprof_plugins.pipelines._base.template_values import HeaderRequest
    from ckprof_plugins.pipelines.implicit_gemm.instance import ImplicitGemmInstance

#: names of types that the headers of this level lack or spell differently
_HOST_ARGS: Final = {"GroupedConvFwdHostArgs<>": "GroupedConvFwdHostArgs"}
_TAILS: Final = {GemmPipeline.COMPV3: 3, GemmPipeline.COMPV4: 4}
_WAVE_LANES: Final = 64
_MISSING_TYPES: Final = frozenset({"GemmPipeline"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ImplicitGemmHeader202507(GemmHeader):
    """The values of one header."""

    template: ClassVar[tuple[str, str]] = (__package__, "implicit_gemm_2025_07.hpp.j2")

    #: whether the GEMM pipeline is instantiated for each kind of hot loop and tail
    has_tails: bool
    #: whether the splits of a reduction are added up atomically
    splits: bool
    #: whether the support test asks how many blocks along K a split has
    counts_split_loops: bool


def _tails(instance: ImplicitGemmInstance) -> int:
    """Return how many combinations of hot loop and tail the GEMM pipeline is instantiated for."""
    if instance.gemm_pipeline is not GemmPipeline.MEM:
        return _TAILS.get(instance.gemm_pipeline, 1)
    # as many as it has prefetch stages, with and without hot loop
    tile = instance.tile
    stage_bytes = (tile.m + tile.n) * tile.k * instance.dtype.properties.size_bytes
    lanes = _WAVE_LANES * math.prod(instance.wave_grid.sizes)
    return 2 * mem_prefetch_stages(stage_bytes, lanes)


@lru_cache(maxsize=16)
def _operation_2025_07(operation: ConvOperation) -> ConvOperation:
    """Return an operation with the names that the headers of this level have."""
    return replace(
        operation,
        host_args=_HOST_ARGS.get(operation.host_args, operation.host_args),
        deduces_split_k=False,
    )


def implicit_gemm_header_2025_07(
    instance: ImplicitGemmInstance, request: HeaderRequest
) -> ImplicitGemmHeader202507:
    """Return the values of an instance's header."""
    operation = _operation_2025_07(request.operation)
    values = gemm_values(instance, request)
    properties = instance.gemm_pipeline.properties
    unmet_requirements = values["unmet_requirements"]
    if operation.zeroing is Zeroing.IF_SPLIT:
        unmet_requirements = (
            *unmet_requirements,
            rejection(
                "split-k",
                "k_batch < 1",
                "split_k = {k_batch}: at API level 2025-07 the kernel does not choose it by itself",
            ),
        )
        wrong = SURFACES[API_LEVEL_2025_07].wrong_split_loops.get(instance.gemm_pipeline, ())
        if wrong:
            loops = " or ".join(map(str, wrong))
            unmet_requirements = (
                *unmet_requirements,
                rejection(
                    "split-tail",
                    f"k_batch > 1 && ({' || '.join(f'split_loops(param, k_batch) == {n}' for n in wrong)})",
                    f"split_k = {{k_batch}}: at API level 2025-07, {instance.gemm_pipeline.value} is wrong "
                    f"where a split has {loops} blocks along K, as here",
                ),
            )
    return ImplicitGemmHeader202507(
        **{
            **values,
            "operation": operation,
            "deduces_split_k": False,
            "includes": includes("ck_tile/ops/epilogue.hpp", "ckprof_conv_traits.hpp"),
            "unmet_requirements": unmet_requirements,
            "device_type": "KernelOf",
            "constants": tuple(
                tuple(constant for constant in group if constant[0] not in _MISSING_TYPES)
                for group in values["constants"]
            ),
            "pipeline_class": properties.cpp_class,
            "device_functions": _tails(instance) * (2 if operation.zeroing is Zeroing.IF_SPLIT else 1),
        },
        has_tails=instance.gemm_pipeline is not GemmPipeline.COMPV1,
        splits=operation.zeroing is Zeroing.IF_SPLIT,
        counts_split_loops=any("split-tail" in rule.id for rule in unmet_requirements),
    )
