"""The rule set ``full``: every kernel that upstream's tables, ``full_tables.json``, describe.

Tiles, wave grids and MMA tiles are written ``MxNxK`` there; data types have the class ``half`` or ``float``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from ckprof.plugin.protocols import RuleSetEntry
from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.pipelines.depthwise_family import DepthwiseInstance
from ckprof_plugins.pipelines.vocabulary import GemmPipeline, Scheduler, Specialization
from ckprof_plugins.rule_sets.gemm_config import (
    Features,
    GemmConfig,
    Pair,
    divides,
    entry_of,
    fitting_pairs,
    legacy_mma_k,
    make_instance,
    mma_k,
    upstream_accepts,
    vector_code,
    vectors_fit,
)
from ckprof_plugins.rule_sets.rdna import DEVICES, rdna_configs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.architecture import Architecture, Sizes
    from ckprof.plugin.protocols import RuleSetRequest


TABLES: Final = Path(__file__).with_name("full_tables.json")

#: A GEMM pipeline with its scheduler.
Schedule = tuple[GemmPipeline, Scheduler]

_CLASSES: Final = {DataType.FP16: "half", DataType.BF16: "half", DataType.FP32: "float"}

_COMPV1 = GemmPipeline.COMPV1
_MEM = GemmPipeline.MEM

#: Tiles that have a compv4 kernel in the rule set ``default``.
_SMALL_DOUBLE_BUFFERED: Final = frozenset(
    {*((m, 64, 128) for m in (16, 32, 64)), *((m, 64, 64) for m in (16, 32, 64))}
)


class MmaException(msgspec.Struct, forbid_unknown_fields=True):
    """MMA tiles of one block tile and wave grid that do not follow the rule."""

    direction: str
    tile: str
    wave_grid: str
    mma: list[str]


class Feature(msgspec.Struct, forbid_unknown_fields=True):
    """Further kernels over tiles of their own."""

    set: Features
    tiles: list[str]
    gemm_pipelines: list[str] | None = None
    classes: list[str] = msgspec.field(default_factory=lambda: ["half", "float"])


class Tables(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file. Keys: direction, then number of dimensions, tile, or class."""

    schema: str
    version: int
    vectors_without_entry: list[str]
    tiles: dict[str, dict[str, dict[str, list[str]]]]
    #: per tile; those of a direction take the place of the others
    wave_grids: dict[str, list[str]]
    wave_grid_overrides: dict[str, dict[str, list[str]]]
    mma_exceptions: list[MmaException]
    mma_never: list[str]
    vector_codes: dict[str, dict[str, dict[str, list[str]]]]
    vectors: dict[str, dict[str, dict[str, list[tuple[int, int, int]]]]]
    gemm_pipelines: dict[str, dict[str, list[str]]]
    gemm_pipelines_by_class: dict[str, dict[str, dict[str, list[str]]]]
    wavelet_legacy_mma_k_tiles: dict[str, list[str]]
    features: dict[str, list[Feature]]
    depthwise_columns: list[str]
    depthwise_rows: list[list[int]]

    def base_tiles(self, direction: str, ndim: int, dtype: DataType) -> list[str]:
        """Return the tiles of regular kernels; none for a number of dimensions without a table."""
        by_class = self.tiles.get(direction, {}).get(str(ndim), {})
        return by_class.get(_CLASSES[dtype], [])

    def grids_of(self, direction: str, tile: str) -> list[Sizes]:
        """Return the wave grids chosen for a tile."""
        override = self.wave_grid_overrides.get(direction, {}).get(tile)
        return [sizes(text) for text in override or self.wave_grids.get(tile, ["1x1x1"])]

    def exception_of(self, direction: str, tile: str, grid: Sizes) -> list[tuple[int, int]]:
        """Return the m and n of MMA tiles that do not follow the rule; empty if the rule holds."""
        text = "x".join(map(str, grid))
        for exception in self.mma_exceptions:
            if (exception.direction, exception.tile, exception.wave_grid) == (direction, tile, text):
                return [_pair(mma) for mma in exception.mma]
        return []

    def vectors_of(self, direction: str, tile: str, dtype: DataType) -> list[Sizes]:
        """Return the vector sizes tried for a tile, sorted."""
        codes = self.vector_codes.get(direction, {}).get(tile)
        listed = self.vectors_without_entry if codes is None else codes.get(_CLASSES[dtype], [])
        extra = self.vectors.get(direction, {}).get(tile, {}).get(_CLASSES[dtype], [])
        return sorted({*(vector_code(code, dtype) for code in listed), *extra})

    def schedules_of(self, direction: str, tile: str, dtype: DataType) -> list[Schedule]:
        """Return the GEMM pipelines of a tile: by class, else by tile, else by the tile's shape."""
        by_class = self.gemm_pipelines_by_class.get(direction, {}).get(tile, {})
        if _CLASSES[dtype] in by_class:
            return [schedule(text) for text in by_class[_CLASSES[dtype]]]
        by_tile = self.gemm_pipelines.get(direction, {}).get(tile)
        if by_tile is not None:
            return [schedule(text) for text in by_tile]
        return schedules_by_shape(direction, sizes(tile))


def schedules_by_shape(direction: str, tile: Sizes) -> list[Schedule]:
    """Return the GEMM pipelines of a tile that no table names."""
    m, n, k = tile
    intra, inter = Scheduler.INTRAWAVE, Scheduler.INTERWAVE
    schedules: list[Schedule] = [(_COMPV1, intra)]
    if direction == "bwd_data":
        return schedules
    large = m * n >= 4096 and k >= 32
    double = tile in _SMALL_DOUBLE_BUFFERED or (m * n >= 16384 and k >= 32)
    if direction == "fwd":
        offers: tuple[tuple[bool, Schedule], ...] = (
            (k >= 32, (_COMPV1, inter)),
            (min(m, n) <= 32 and k >= 64, (_MEM, intra)),
            (min(m, n) <= 32 and k >= 64, (_MEM, inter)),
            (large, (GemmPipeline.COMPV3, intra)),
            (double, (GemmPipeline.COMPV4, intra)),
            (large, (GemmPipeline.COMPV6, intra)),
        )
    else:
        offers = (
            (k >= 64, (_COMPV1, inter)),
            (k >= 32, (_MEM, intra)),
            (k >= 64, (_MEM, inter)),
            (large, (GemmPipeline.COMPV3, intra)),
            (double, (GemmPipeline.COMPV4, intra)),
            (k >= 32, (GemmPipeline.COMPV6, intra)),
            (k == 64, (GemmPipeline.BASIC_ASYNC_V1, intra)),
        )
    return schedules + [schedule for wanted, schedule in offers if wanted]


@lru_cache(maxsize=1)
def tables() -> Tables:
    """Return the tables."""
    return msgspec.json.decode(TABLES.read_bytes(), type=Tables)


@lru_cache(maxsize=1024)
def sizes(text: str) -> Sizes:
    """Parse ``MxNxK``."""
    m, n, k = map(int, text.split("x"))
    return m, n, k


@lru_cache(maxsize=64)
def schedule(text: str) -> Schedule:
    """Parse ``compv1/intrawave``."""
    gemm_pipeline, _, scheduler = text.partition("/")
    return GemmPipeline(gemm_pipeline), Scheduler(scheduler)


def _pair(text: str) -> tuple[int, int]:
    m, n = map(int, text.split("x"))
    return m, n


def depthwise_rows() -> list[dict[str, Any]]:
    """Return the fields of the depthwise kernels; the pads keep the size of the image."""
    table = tables()
    rows = []
    for row in table.depthwise_rows:
        fields = dict(zip(table.depthwise_columns, row, strict=True))
        pad = (fields["filt"] - 1) // 2
        rows.append({**fields, "pad_h": pad, "pad_w": pad})
    return rows


_DEPTHWISE_DIRECTION = "fwd"
_DEPTHWISE_LAYOUT = "ngchw"

#: A filter of 3x3 is only worth a kernel of its own for blocks of at most that many results.
_FILTER3X3_RESULTS = 4096
_SMALLEST_TILE_K = 8


class FullRuleSet:
    """All kernels of the tables: regular ones, features, depthwise, and those of RDNA devices."""

    id = "full"
    label = "every kernel that upstream's tables describe"

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels."""
        entries = full_entries(request)
        known = {entry.instance.key for entry in entries} if request.arch.name in DEVICES else set()
        more = (make_instance(config, 0) for config in rdna_configs(request))
        new = [instance for instance in more if instance.key not in known]
        numbered = (replace(instance, id=len(entries) + number) for number, instance in enumerate(new))
        return [*entries, *(entry_of(instance, request.arch) for instance in numbered)]


def full_entries(request: RuleSetRequest) -> list[RuleSetEntry]:
    """Return the kernels of the file: per direction, dimensions and type the regular ones, then features."""
    seen: dict[GemmConfig, UnmetRequirement | None] = {}
    for direction in request.directions:
        for ndim in request.ndims:
            for dtype in request.dtypes:
                for config, defect in _gemm_configs(direction, ndim, dtype, request.arch):
                    seen.setdefault(config, defect)
    entries = [
        entry_of(make_instance(config, number), request.arch, defect)
        for number, (config, defect) in enumerate(seen.items())
    ]
    return entries + _depthwise_entries(request, len(entries))


def _gemm_configs(
    direction: str, ndim: int, dtype: DataType, arch: Architecture
) -> Iterator[tuple[GemmConfig, UnmetRequirement | None]]:
    table = tables()
    kind = direction, ndim, dtype, arch
    for tile in table.base_tiles(direction, ndim, dtype):
        schedules = table.schedules_of(direction, tile, dtype)
        for config in _configs_of_tile(kind, tile, schedules, Features()):
            yield config, None
    # Features do not look at the table of tiles. That matters where there is none at all.
    defect = None if table.base_tiles(direction, ndim, dtype) else _no_table(direction, ndim)
    for feature in table.features.get(direction, ()):
        if _CLASSES[dtype] not in feature.classes:
            continue
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
    kind: tuple[str, int, DataType, Architecture],
    tile_text: str,
    schedules: Sequence[Schedule],
    features: Features,
) -> Iterator[GemmConfig]:
    table = tables()
    direction, ndim, dtype, arch = kind
    tile = sizes(tile_text)
    size_bytes = dtype.properties.size_bytes
    all_vectors = table.vectors_of(direction, tile_text, dtype)
    legacy_wavelet = tile_text in table.wavelet_legacy_mma_k_tiles.get(direction, ())
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
                    ndim=ndim,
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
    shapes = {(m, n) for m, n, _ in arch.mma_tiles.get(dtype.value, ())} - set(map(_pair, table.mma_never))
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
