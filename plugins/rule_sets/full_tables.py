"""The tables of the rule set ``full``: ``full_tables.json`` beside this module.

Tiles, wave grids and MMA tiles are written ``MxNxK``; the class of a data type is ``half`` or ``float``.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.model.types import DataType
from ckprof_plugins.pipelines._gemm.vocabulary import GemmPipeline, Scheduler
from ckprof_plugins.rule_sets.gemm_config import Features
from ckprof_plugins.rule_sets.tile_math import vector_code

if TYPE_CHECKING:
    from ckprof.model.architecture import Sizes

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


class WaveGrids(msgspec.Struct, forbid_unknown_fields=True):
    """Wave grids per tile."""

    base: dict[str, list[str]]
    override: dict[str, dict[str, list[str]]]


class Depthwise(msgspec.Struct, forbid_unknown_fields=True):
    """The depthwise kernels."""

    columns: list[str]
    rows: list[list[int]]


class Tables(msgspec.Struct, forbid_unknown_fields=True):
    """The whole file. Keys: direction, then number of dimensions, tile, or class."""

    schema: str
    version: int
    vectors_without_entry: list[str]
    tiles: dict[str, dict[str, dict[str, list[str]]]]
    wave_grids: WaveGrids
    mma_exceptions: list[MmaException]
    mma_never: list[str]
    vector_codes: dict[str, dict[str, dict[str, list[str]]]]
    vectors: dict[str, dict[str, dict[str, list[tuple[int, int, int]]]]]
    gemm_pipelines: dict[str, dict[str, list[str]]]
    gemm_pipelines_by_class: dict[str, dict[str, dict[str, list[str]]]]
    wavelet_legacy_mma_k_tiles: dict[str, list[str]]
    features: dict[str, list[Feature]]
    depthwise: Depthwise

    def base_tiles(self, direction: str, ndim: int, dtype: DataType) -> list[str]:
        """Return the tiles of regular kernels; none for a number of dimensions without a table."""
        by_class = self.tiles.get(direction, {}).get(str(ndim), {})
        return by_class.get(_CLASSES[dtype], [])

    def features_of(self, direction: str, dtype: DataType) -> list[Feature]:
        """Return the features of a direction that exist for a data type."""
        return [f for f in self.features.get(direction, ()) if _CLASSES[dtype] in f.classes]

    def grids_of(self, direction: str, tile: str) -> list[Sizes]:
        """Return the wave grids chosen for a tile."""
        override = self.wave_grids.override.get(direction, {}).get(tile)
        return [sizes(text) for text in override or self.wave_grids.base.get(tile, ["1x1x1"])]

    def exception_of(self, direction: str, tile: str, grid: Sizes) -> list[tuple[int, int]]:
        """Return the m and n of MMA tiles that do not follow the rule; empty if the rule holds."""
        text = "x".join(map(str, grid))
        for exception in self.mma_exceptions:
            if (exception.direction, exception.tile, exception.wave_grid) == (direction, tile, text):
                return [_pair(mma) for mma in exception.mma]
        return []

    def never(self) -> frozenset[tuple[int, int]]:
        """Return the m and n of MMA tiles that are not chosen by themselves."""
        return frozenset(_pair(text) for text in self.mma_never)

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

    def uses_legacy_wavelet_k(self, direction: str, tile: str) -> bool:
        """Say whether wavelet kernels of a tile have the K of stream-K kernels."""
        return tile in self.wavelet_legacy_mma_k_tiles.get(direction, ())


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
    table = tables().depthwise
    rows = []
    for row in table.rows:
        fields = dict(zip(table.columns, row, strict=True))
        pad = (fields["filt"] - 1) // 2
        rows.append({**fields, "pad_h": pad, "pad_w": pad})
    return rows
