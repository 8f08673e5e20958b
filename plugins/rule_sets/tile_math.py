"""Which wave grids, MMA tiles and vectors fit a block tile, as upstream's enumeration works them out.

The arithmetic follows upstream exactly, its oddities included: a wave has 64 lanes whatever the architecture,
and the K of an MMA tile does not look at what the architecture has. What is wrong with the result is said by
the validity rules, not here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ckprof.model.types import DataType

if TYPE_CHECKING:
    from ckprof.model.architecture import Architecture, Sizes

#: A wave grid and the m and n of an MMA tile.
Pair = tuple["Sizes", tuple[int, int]]

_LANES: Final = 64
_VECTORS: Final = (1, 2, 4, 8, 16)
_WIDEST_VECTOR_BYTES: Final = 32
_WAVES_ALONG_K: Final = (1, 2)

#: Largest vector of a tile's table, in elements.
_FULL_VECTOR: Final = {DataType.FP32: 4, DataType.FP16: 8, DataType.BF16: 8}


def fitting_pairs(tile: Sizes, arch: Architecture, dtype: DataType) -> tuple[Pair, ...]:
    """Return the pairs of wave grid and MMA tile that divide a block tile, each once."""
    pairs: dict[Pair, None] = {}
    for mma_m, mma_n, _ in arch.mma_tiles.get(dtype.value, ()):
        if tile[0] % mma_m or tile[1] % mma_n:
            continue
        rows, columns = tile[0] // mma_m, tile[1] // mma_n
        for i in _divisors(rows):
            for j in _divisors(columns):
                for k in _WAVES_ALONG_K:
                    grid = (rows // i, columns // j, k)
                    if grid in arch.wave_grids:
                        pairs[grid, (mma_m, mma_n)] = None
    return tuple(pairs)


def mma_k(mma: tuple[int, int], tile_k: int, dtype: DataType) -> int:
    """Return the K of an MMA tile, at most ``tile_k``."""
    wide = mma == (32, 32)
    if dtype is DataType.FP32:
        k = max(4 if tile_k <= 16 else 8, 2 if wide else 4)
    else:
        k = 16 if wide else 32
    return min(k, tile_k)


def legacy_mma_k(mma_m: int, tile_k: int, dtype: DataType) -> int:
    """Return the K that stream-K and some wavelet kernels are written with."""
    return min(8 if mma_m == 32 else 16, tile_k // 4 if dtype is DataType.FP32 else tile_k)


def vector_code(code: str, dtype: DataType) -> Sizes:
    """Return the three vector sizes of a code: M is the full vector, H half of it, Q a quarter, 1 is 1."""
    full = _FULL_VECTOR[dtype]
    sizes = {"M": full, "H": full // 2, "Q": max(1, full // 4), "1": 1}
    return sizes[code[0]], sizes[code[1]], sizes[code[2]]


@lru_cache(maxsize=4096)
def vectors_fit(vectors: Sizes, tile: Sizes, grid: Sizes, size_bytes: int) -> bool:
    """Say whether all lanes of a block can load a tile in these vectors and store the result in them."""
    lanes = _LANES * grid[0] * grid[1] * grid[2]
    elements_a, elements_b = tile[0] * tile[2], tile[1] * tile[2]
    if elements_a % lanes or elements_b % lanes:
        return False
    cap = max(1, _WIDEST_VECTOR_BYTES // size_bytes)
    if any(size not in _VECTORS or size > cap for size in vectors):
        return False
    if tile[1] % vectors[2]:
        return False
    each = (elements_a // lanes, elements_b // lanes)
    return all(part % size == 0 or size % part == 0 for part, size in zip(each, vectors, strict=False))


@lru_cache(maxsize=256)
def _divisors(number: int) -> tuple[int, ...]:
    return tuple(divisor for divisor in range(1, number + 1) if number % divisor == 0)
