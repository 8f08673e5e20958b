"""Operations in the order of their predicted times."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from ckprof.errors import InputError
from ckprof.model.architecture import architectures
from ckprof_converters.conf_family import LineProperties
from ckprof_converters.derivation import DIRECT_PIPELINES, mma_k, waves
from ckprof_converters.derivation import PIPELINES as CONVOLUTION_PIPELINES
from ckprof_plugins.consumers.inductor.operations import CKGroupedConvFwdOp
from ckprof_plugins.pipelines.traits import gemm_traits
from ckprof_plugins.pipelines.universal_gemm.conf_families import PIPELINES as PRODUCT_PIPELINES
from ckprof_plugins.tuning.model_use import gemm_sizes_of, load_model
from ckprof_plugins.tuning.search.prior import physical_model
from ckprof_plugins.tuning.time_model.selector import ModelCandidate, Selector

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.model.types import DataType
    from ckprof.plugin.registry import Registry
    from ckprof_plugins.consumers.inductor.operations import InductorOperation
    from ckprof_plugins.tuning.time_model.model import TimeModel


class Models:
    """Time models by operation and type.

    Without one for an operation and a type, times follow from the sizes of tiles and the device alone.

    :param arch: architecture that kernels are chosen for.
    """

    def __init__(self, registry: Registry, models: Sequence[TimeModel] = (), arch: str = "") -> None:
        self._registry = registry
        self._models = {(model.direction, model.dtype): model for model in models}
        self.arch = arch

    @classmethod
    def read(cls, registry: Registry, paths: Sequence[Path], arch: str = "") -> Models:
        """Return the models of files of ``ckprof train``.

        :param arch: empty: that of the first model.
        :raises InputError: one cannot be read, or is of another device.
        """
        models = []
        for path in paths:
            model = load_model(path)
            arch = arch or model.device
            if model.device not in ("", arch):
                raise InputError(
                    f"the model is of {model.device}, kernels are chosen for {arch}; train one there",
                    path,
                )
            models.append(model)
        return cls(registry, models, arch)

    def trained(self, direction: str, dtype: DataType) -> bool:
        """Say whether there is a model of an operation and a type."""
        return (direction, dtype.value) in self._models

    def selector(
        self,
        direction: str,
        dtype: DataType,
        operations: Sequence[InductorOperation],
        splits: Sequence[Sequence[int]],
    ) -> Selector:
        """Return what ranks operations; their names are their positions.

        :param splits: per operation the numbers of splits that it may have.
        """
        model = self._models.get((direction, dtype.value))
        if model is None:
            known = architectures().get(self.arch)
            model = physical_model(known.compute_units if known else 0, dtype.properties.size_bytes)
        candidates = [
            ModelCandidate(name=f"{number:06d}", traits=traits_of(operation, dtype), splits=tuple(counts))
            for number, (operation, counts) in enumerate(zip(operations, splits, strict=True))
        ]
        return Selector(model, candidates, gemm_sizes_of(self._registry, direction, dtype.value))


def best_first(
    selector: Selector,
    problem: Problem,
    operations: Sequence[InductorOperation],
    *,
    most: int | None,
) -> list[int]:
    """Return positions of operations by their predicted times.

    Of operations with one tile and one pipeline the first comes in its place and the others after the rest:
    models hardly tell them apart, and measuring several of them tells little. An operation counts once for
    each of its numbers of splits.

    :param operations: what the selector ranks.
    :param most: how many are wanted; ``None`` for all.
    """
    ranking = selector.rank(problem)
    counts = Counter(int(prediction.kernel) for prediction in ranking.predictions)
    leaders: dict[tuple[object, ...], int] = {}
    for position in counts:
        leaders.setdefault(_kind(operations[position]), position)
    firsts = set(leaders.values())
    ordered = [*(one for one in counts if one in firsts), *(one for one in counts if one not in firsts)]
    chosen: list[int] = []
    total = 0
    for position in ordered:
        total += counts[position]
        if most is not None and chosen and total > most:
            break
        chosen.append(position)
    return chosen


def _kind(operation: InductorOperation) -> tuple[object, ...]:
    tile = operation.m_per_block, operation.n_per_block, operation.k_per_block
    return (*tile, operation.block_gemm_pipeline_version)


def traits_of(operation: InductorOperation, dtype: DataType) -> KernelTraits:
    """Return what the time of an operation depends on.

    :raises StepError: block size and tile contradict each other.
    """
    return _traits(_description(operation), dtype)


@cache
def _traits(description: tuple[tuple[str, Any], ...], dtype: DataType) -> KernelTraits:
    values = dict(description)
    properties = LineProperties(
        layout=None, dtype=dtype, mma_k_table=(8, 16), is_float=dtype.properties.size_bytes == 4
    )
    waves(values, properties)
    mma_k(values, properties)
    for axis in "mnk":
        values[f"wave_grid_{axis}"] = values[f"warp_{axis}"]
        values[f"mma_tile_{axis}"] = values[f"warp_tile_{axis}"]
    return gemm_traits(values)


def _description(operation: InductorOperation) -> tuple[tuple[str, Any], ...]:
    """Return the fields of an instance that traits depend on, and what they are derived from."""
    version = operation.block_gemm_pipeline_version.rpartition("::")[2]
    pipelines: Mapping[str, str] = PRODUCT_PIPELINES
    if isinstance(operation, CKGroupedConvFwdOp):
        pipelines = DIRECT_PIPELINES if operation.direct_load else CONVOLUTION_PIPELINES
        result_width: Any = operation.cde_block_transfer_scalar_per_vector_n_per_block
        k1, label = operation.ak1, operation.conv_forward_specialization
    else:
        result_width = operation.c_shuffle_block_transfer_scalar_per_vector_n_per_block
        k1, label = operation.a_k1, operation.gemm_specialization
    return (
        ("tile_m", operation.m_per_block),
        ("tile_n", operation.n_per_block),
        ("tile_k", operation.k_per_block),
        ("block_size", operation.block_size),
        ("mma_m", operation.m_per_xdl),
        ("mma_n", operation.n_per_xdl),
        ("repeat_m", operation.m_xdl_per_wave),
        ("repeat_n", operation.n_xdl_per_wave),
        ("k1", k1),
        ("gemm_pipeline", pipelines[version]),
        ("double_smem_buffer", version == "v4"),
        ("vector_size_a", operation.a_block_transfer_src_scalar_per_vector),
        ("vector_size_b", operation.b_block_transfer_src_scalar_per_vector),
        ("vector_size_c", result_width[0] if isinstance(result_width, tuple) else result_width),
        ("scheduler", operation.block_gemm_pipeline_scheduler.rpartition("::")[2].lower()),
        ("specialization", label.rpartition("::")[2].lower()),
    )
