"""What the header of a GEMM kernel shows at API levels 2025-07 and 2025-11.

There, hot loop and tail of the main loop and the way results are stored are template arguments, so a
launcher instantiates several kernels and chooses one of them for each problem.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.architecture import API_LEVEL_2025_07, API_LEVEL_2025_11
from ckprof_plugins.directions._convolution.kernel import ConvKernel, ConvOperation, Zeroing
from ckprof_plugins.pipelines.family import includes, rejection
from ckprof_plugins.pipelines.level_rules import SURFACES
from ckprof_plugins.pipelines.template_values import LAUNCH_BOUNDS, ZEROING_COMMENTS, gemm_values
from ckprof_plugins.pipelines.vocabulary import GemmPipeline, mem_prefetch_stages

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ckprof_plugins.pipelines.family import LauncherRequirement
    from ckprof_plugins.pipelines.gemm_instance import GemmInstance
    from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance


_WAVE_LANES: Final = 64
#: API level -> GEMM pipeline -> combinations of hot loop and tail; others have one, mem what it prefetches
_ENDS: Final[Mapping[str, Mapping[GemmPipeline, int]]] = {
    API_LEVEL_2025_07: {GemmPipeline.COMPV3: 3, GemmPipeline.COMPV4: 4},
    API_LEVEL_2025_11: {GemmPipeline.COMPV3: 3, GemmPipeline.COMPV4: 5},
}
#: API levels whose kernels have hot loop and tail among their template arguments
FIXED_TAILS_LEVELS: Final = frozenset(_ENDS)


def loop_ends(instance: GemmInstance | UniversalGemmInstance, api_level: str) -> int:
    """Return how many combinations of hot loop and tail the GEMM pipeline is instantiated for."""
    if instance.gemm_pipeline is not GemmPipeline.MEM:
        return _ENDS[api_level].get(instance.gemm_pipeline, 1)
    # as many as it has prefetch stages, with and without hot loop
    tile = instance.tile
    stage_bytes = (tile.m + tile.n) * tile.k * instance.dtype.properties.size_bytes
    lanes = _WAVE_LANES * math.prod(instance.wave_grid.sizes)
    return 2 * mem_prefetch_stages(stage_bytes, lanes)


_MISSING_TYPES: Final = frozenset({"GemmPipeline"})


@lru_cache(maxsize=32)
def _operation(operation: ConvOperation, api_level: str) -> ConvOperation:
    """Return an operation with the names that the headers of a level have."""
    host_args = operation.host_args
    if api_level == API_LEVEL_2025_07 and host_args == "GroupedConvFwdHostArgs<>":
        host_args = "GroupedConvFwdHostArgs"
    return replace(
        operation,
        host_args=host_args,
        # kernels of backward data take no splits at all
        split_k=() if operation.kernel is ConvKernel.BACKWARD_DATA else operation.split_k,
        counts_reduction_steps=False,
        deduces_split_k=False,
    )


def _unmet(instance: GemmInstance, operation: ConvOperation, api_level: str) -> Iterator[LauncherRequirement]:
    """Yield what the launcher rejects besides: what the headers accept, but compute wrongly."""
    surface = SURFACES[api_level]
    pipeline = instance.gemm_pipeline
    at_level = f"at API level {api_level}"
    one_block = pipeline in surface.first_block_only and operation.kernel in surface.turned_operands
    if operation.zeroing is Zeroing.IF_SPLIT:
        yield rejection(
            "split-k",
            "k_batch < 1",
            f"split_k = {{k_batch}}: {at_level} the kernel does not choose it by itself",
        )
        if one_block:
            yield rejection(
                "k-blocks",
                "k_batch > 0 && split_loops(param, k_batch) > 1",
                f"{{split_loops(param, k_batch)}} blocks along K: {at_level}, {pipeline.value} of "
                f"{instance.direction} reads wrong elements after the first",
            )
        wrong = surface.wrong_split_loops.get(pipeline, ())
        if wrong:
            yield rejection(
                "split-tail",
                f"k_batch > 1 && ({' || '.join(f'split_loops(param, k_batch) == {n}' for n in wrong)})",
                f"split_k = {{k_batch}}: {at_level}, {pipeline.value} is wrong where a split has "
                f"{' or '.join(map(str, wrong))} blocks along K, as here",
            )
    if operation.kernel is ConvKernel.BACKWARD_DATA:
        yield rejection(
            "split-k",
            "k_batch != 1",
            f"split_k = {{k_batch}}: {at_level} a backward-data kernel does not split its reduction",
        )
        if one_block:
            yield rejection(
                "k-blocks",
                "most_loops(param) > 1",
                f"{{most_loops(param)}} blocks along K: {at_level}, {pipeline.value} of "
                f"{instance.direction} reads wrong elements after the first",
            )
        elif pipeline is not GemmPipeline.COMPV1:
            yield rejection(
                "gemm-tails",
                "tails_differ(param)",
                f"the GEMMs of this problem end their main loops differently: {at_level}, one end of "
                f"{pipeline.value} is compiled into a kernel",
            )


def fixed_tails_values(
    instance: GemmInstance,
    operation: ConvOperation,
    name: str,
    arch: str,
    api_level: str,
    further_includes: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return what :func:`gemm_values` returns, for these levels; a family replaces what differs.

    :param name: the kernel's.
    :param further_includes: files beside those of every GEMM kernel.
    """
    oldest = api_level == API_LEVEL_2025_07
    launch_bounds = f"blocks.x, {LAUNCH_BOUNDS}" if oldest else LAUNCH_BOUNDS
    block = "ConvPipeline<HasHotLoop, TailNum>::BlockSize, " if oldest else ""
    operation = _operation(operation, api_level)
    values = gemm_values(instance, operation, name, arch)
    further = _unmet(instance, operation, api_level)
    unmet_requirements = (*values["unmet_requirements"], *further)
    splits = operation.zeroing is Zeroing.IF_SPLIT
    return {
        **values,
        "template": "fixed_tails_2025_07.hpp.j2" if oldest else "fixed_tails_2025_11.hpp.j2",
        "includes": includes("ck_tile/ops/epilogue.hpp", "ckprof_conv_traits.hpp", *further_includes),
        "unmet_requirements": unmet_requirements,
        "device_type": "KernelOf",
        "constants": tuple(
            tuple(constant for constant in group if constant[0] not in _MISSING_TYPES)
            for group in values["constants"]
        ),
        "device_functions": loop_ends(instance, api_level) * (2 if splits else 1)
        + any(values.get(name, False) for name in ("combines", "changes_operands"))
        + (instance.channel_padding is not None),
        "wrapper_arguments": values["wrapper_arguments"].replace(
            LAUNCH_BOUNDS, launch_bounds.replace("blocks.x", "256")
        ),
        "has_tails": instance.gemm_pipeline is not GemmPipeline.COMPV1,
        "zeroes": operation.zeroing is not Zeroing.NEVER,
        "zeroing_comment": ZEROING_COMMENTS[operation.zeroing],
        "splits": splits,
        "counts_split_loops": any("split_loops" in rule.condition for rule in unmet_requirements),
        "has_many_gemms": operation.kernel is ConvKernel.BACKWARD_DATA,
        "splits_image": instance.split_image,
        "epilogue": f"ConvEpilogue<{block}Store>",
        "launch_bounds": launch_bounds,
        "conv_traits": "ConvTraits",
        "combine_bounds": launch_bounds.replace("blocks.x", "Combine::kBlockSize"),
    }
