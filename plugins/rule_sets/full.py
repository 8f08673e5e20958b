"""The rule set ``full``: every kernel that upstream's tables describe."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ckprof.model.requirement import UnmetRequirement
from ckprof.plugin.protocols import RuleSetEntry
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.pipelines._gemm.vocabulary import GemmPipeline, Specialization
from ckprof_plugins.pipelines.depthwise.instance import DepthwiseInstance
from ckprof_plugins.rule_sets.full_tables import depthwise_rows, schedule, sizes, tables
from ckprof_plugins.rule_sets.gemm_config import (
    Features,
    GemmConfig,
    divides,
    make_instance,
    upstream_accepts,
)
from ckprof_plugins.rule_sets.no_problem import entry_of
from ckprof_plugins.rule_sets.tile_math import Pair, fitting_pairs, legacy_mma_k, mma_k, vectors_fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.architecture import Architecture, Sizes
    from ckprof.model.types import DataType
    from ckprof.plugin.protocols import RuleSetRequest
    from ckprof_plugins.rule_sets.full_tables import Schedule

_DEPTHWISE_DIRECTION = "fwd"
_DEPTHWISE_LAYOUT = "ngchw"

#: A filter of 3x3 is only worth a kernel of its own for blocks of at most that many results.
_FILTER3X3_RESULTS = 4096
_SMALLEST_TILE_K = 8


class _Kind(NamedTuple):
    """What kernels of one part of the rule set have in common."""

    direction: str
    ndim: int
    dtype: DataType
    arch: Architecture


class FullRuleSet:
    """All kernels of the tables: regular ones, features, depthwise."""

    id = "full"
    label = "every kernel that upstream's tables describe"

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels: per direction, dimensions and type the regular ones, then the features."""
        seen: dict[GemmConfig, UnmetRequirement | None] = {}
        for direction in request.directions:
            for ndim in request.ndims:
                for dtype in request.dtypes:
                    for config, defect in _gemm_configs(_Kind(direction, ndim, dtype, request.arch)):
                        seen.setdefault(config, defect)
        entries = [
            entry_of(make_instance(config, number), request.arch, defect)
            for number, (config, defect) in enumerate(seen.items())
        ]
        return entries + _depthwise_entries(request, len(entries))


def _gemm_configs(kind: _Kind) -> Iterator[tuple[GemmConfig, UnmetRequirement | None]]:
    table = tables()
    direction, ndim, dtype, _ = kind
    for tile in table.base_tiles(direction, ndim, dtype):
        schedules = table.schedules_of(direction, tile, dtype)
        for config in _configs_of_tile(kind, tile, schedules, Features()):
            yield config, None
    # Features do not look at the table of tiles. That matters where there is none at all.
    defect = None if table.base_tiles(direction, ndim, dtype) else _no_table(direction, ndim)
    for feature in table.features_of(direction, dtype):
        named = feature.gemm_pipelines
        for tile in feature.tiles:
            schedules = (
                table.schedules_of(direction, tile, dtype)
                if named is None
                else [schedule(text) for text in named]
            )
            for config in _configs_of_tile(kind, tile, schedules, feature.set):
                yield config, defect


def _no_table(direction: str, ndim: int) -> UnmetRequirement:
    return UnmetRequirement(
        rule="tile-table",
        message=f"the rule set has no tiles for {direction} in {ndim} dimensions: only its features are left",
        found=ndim,
        allowed=", ".join(tables().tiles.get(direction, ())),
    )


def _configs_of_tile(
    kind: _Kind, tile_text: str, schedules: Sequence[Schedule], features: Features
) -> Iterator[GemmConfig]:
    table = tables()
    direction, _, dtype, arch = kind
    tile = sizes(tile_text)
    size_bytes = dtype.properties.size_bytes
    all_vectors = table.vectors_of(direction, tile_text, dtype)
    legacy_wavelet = table.uses_legacy_wavelet_k(direction, tile_text)
    specializations = _specializations(direction, tile)
    for grid, mma in _pairs(direction, tile_text, arch, dtype):
        usual_k = mma_k(mma, tile[2], dtype)
        legacy_k = legacy_mma_k(mma[0], tile[2], dtype)
        for vectors in all_vectors:
            if not vectors_fit(vectors, tile, grid, size_bytes):
                continue
            for gemm_pipeline, scheduler in schedules:
                wavelet = gemm_pipeline is GemmPipeline.WAVELET
                if wavelet and features.explicit_gemm:
                    continue
                legacy = features.stream_k is not None or (wavelet and legacy_wavelet)
                first = GemmConfig(
                    direction=direction,
                    ndim=kind.ndim,
                    dtype=dtype,
                    tile=tile,
                    wave_grid=grid,
                    mma_tile=(*mma, legacy_k if legacy else usual_k),
                    vectors=vectors,
                    gemm_pipeline=gemm_pipeline,
                    scheduler=scheduler,
                    features=features,
                    double_smem_buffer=gemm_pipeline is GemmPipeline.COMPV4,
                )
                # No test looks at the specialization.
                if divides(first) and upstream_accepts(first, arch, tagged=True):
                    for specialization in specializations:
                        yield first._replace(specialization=specialization)


def _specializations(direction: str, tile: Sizes) -> tuple[Specialization, ...]:
    if direction != "fwd":
        return Specialization.DEFAULT, Specialization.FILTER1X1_STRIDE1_PAD0
    if tile[2] == _SMALLEST_TILE_K:
        return (Specialization.DEFAULT,)
    usual = (
        Specialization.DEFAULT,
        Specialization.FILTER1X1_PAD0,
        Specialization.FILTER1X1_STRIDE1_PAD0,
    )
    return (*usual, Specialization.FILTER3X3) if tile[0] * tile[1] <= _FILTER3X3_RESULTS else usual


@lru_cache(maxsize=4096)
def _pairs(direction: str, tile_text: str, arch: Architecture, dtype: DataType) -> tuple[Pair, ...]:
    """Return the wave grids and MMA tiles of a tile: those of the tables, or all that fit if none does."""
    table = tables()
    tile = sizes(tile_text)
    fitting = fitting_pairs(tile, arch, dtype)
    shapes = {(m, n) for m, n, _ in arch.mma_tiles.get(dtype.value, ())} - table.never()
    chosen = [
        (grid, mma)
        for grid in table.grids_of(direction, tile_text)
        for mma in table.exception_of(direction, tile_text, grid) or [_usual_mma(tile, grid)]
        if mma in shapes and (grid, mma) in fitting
    ]
    return tuple(chosen) or fitting


def _usual_mma(tile: Sizes, grid: Sizes) -> tuple[int, int]:
    of_wave = (tile[0] // grid[0], tile[1] // grid[1])
    return (32, 32) if all(size >= 32 and size % 32 == 0 for size in of_wave) else (16, 16)


def _depthwise_entries(request: RuleSetRequest, first: int) -> list[RuleSetEntry]:
    layout = find_layout(_DEPTHWISE_LAYOUT)
    if layout is None or _DEPTHWISE_DIRECTION not in request.directions or layout.ndim not in request.ndims:
        return []
    kernels = [(row, dtype) for row in depthwise_rows() for dtype in request.dtypes]
    return [
        RuleSetEntry(
            DepthwiseInstance(
                id=first + number,
                direction=_DEPTHWISE_DIRECTION,
                ndim=layout.ndim,
                layout=layout,
                dtype=dtype,
                **row,
            )
        )
        for number, (row, dtype) in enumerate(kernels)
    ]
