"""A problem as matrix products, and what bounds the time of a kernel that computes them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmWork:
    """What a kernel makes of a problem: ``batch`` products of an m x k and a k x n matrix, in tiles."""

    m: int
    n: int
    k: int
    batch: int
    #: block tile
    tile_m: int
    tile_n: int
    tile_k: int
    #: waves of a workgroup that compute
    waves: int
    #: parts of the reduction that workgroups of their own compute
    splits: int
    #: bytes that are read or written at least: all tensors once
    tensor_bytes: int
    #: bytes of one element of the operands
    element_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Bounds from counts and peak rates. An estimate: nothing was run."""

    #: useful operations, without those on padding
    flops: int
    #: bytes that all tiles together read and write, if no cache helps
    tile_bytes: int
    #: useful operations per byte of the tensors
    arithmetic_intensity: float
    #: cycles that the matrix unit of one SIMD needs for one workgroup's share
    matrix_cycles: int
    workgroups: int
    #: share of the computed elements that is no padding of the tiles
    tile_efficiency: float
    #: share of the device that is busy, over all rounds of workgroups
    wave_efficiency: float
    #: microseconds that matrix instructions need at least
    matrix_us: float
    #: microseconds that reading and writing all tensors once needs at least
    memory_us: float
    #: the larger of both
    bound_us: float
    #: share of the peak rate of the device's matrix units that the bound allows
    efficiency_bound: float
