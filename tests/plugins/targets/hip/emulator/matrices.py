"""What the matrix instructions of the emulated device compute, in numpy, from their names alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import ml_dtypes
import numpy as np

from ckprof_plugins.targets.hip.emulator.library import SOURCE_DIR
from tests.plugins.targets.hip.emulator.wave import LANES

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARCHITECTURES: Final = {"gfx90a": 1, "gfx942": 2, "gfx950": 4}
_BITS: Final = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8}
_ROW: Final = re.compile(r"INSTRUCTION\(vop3p, (\d+), (\w+), (\d), (\d+), (\d+), (\d+), (\d+)\)")
_NAME: Final = re.compile(r"v_(mfma|smfmac)_(f32|i32|f64)_(\d+)x\d+x(\d+)_?(?:\d+b_)?(\w+)")


@dataclass(frozen=True)
class Product:
    """A matrix instruction: the row of the table, and what its name says."""

    name: str
    opcode: int
    architectures: int
    #: registers of D, A, B and of C or the sparse index
    widths: tuple[int, int, int, int]
    sparse: bool
    result: str
    size: int
    depth: int
    a_type: str
    b_type: str

    @property
    def blocks(self) -> int:
        return self.widths[0] * LANES // (2 if self.result == "f64" else 1) // self.size**2

    def per_lane(self, operand: int) -> int:
        """Return how many elements of A (0) or B (1) a lane has."""
        kept = 2 if self.sparse and operand == 0 else 1
        return self.size * self.depth * self.blocks // LANES // kept

    def on(self, arch: str) -> bool:
        return bool(self.architectures & ARCHITECTURES[arch])


@cache
def products(arch: str) -> tuple[Product, ...]:
    """Return every matrix instruction of an architecture but those that choose formats when they run."""
    found = []
    for row in _ROW.finditer((SOURCE_DIR / "isa" / "instructions.def").read_text()):
        name = _NAME.fullmatch(row[2])
        if name is None or name[5] == "f8f6f4" or not int(row[3]) & ARCHITECTURES[arch]:
            continue
        types = name[5].removesuffix("_1k").split("_")
        widths = int(row[4]), int(row[5]), int(row[6]), int(row[7])
        found.append(
            Product(
                *(row[2], int(row[1]), int(row[3]), widths),
                *(name[1] == "smfmac", name[2], int(name[3]), int(name[4]), types[0], types[-1]),
            )
        )
    return tuple(found)


def product(name: str, arch: str = "gfx942") -> Product:
    return next(p for p in products(arch) if p.name == name)


def words(
    opcode: int,
    d: int,
    a: int,
    b: int,
    c: int,
    *,
    cbsz: int = 0,
    abid: int = 0,
    blgp: int = 0,
    sparse: bool = False,
) -> tuple[int, int]:
    """Return an instruction on registers of ``State.vector``; a negative C is an inline constant."""
    accumulates = d >= 256
    assert sparse or c < 0 or (c >= 256) == accumulates, "C and D are of one kind"
    third = -c if c < 0 else 256 + c % 256
    return (
        0xD3800000 | opcode << 16 | accumulates << 15 | abid << 11 | cbsz << 8 | d % 256,
        (256 + a % 256)
        | (256 + b % 256) << 9
        | third << 18
        | (a >= 256) << 27
        | (b >= 256) << 28
        | blgp << 29,
    )


def dtype(name: str, arch: str) -> np.dtype[Any]:
    """Return the numpy type of a type in the name of an instruction."""
    fnuz = arch == "gfx942"
    types: dict[str, Any] = {
        "f64": np.float64,
        "f32": np.float32,
        "xf32": np.float32,
        "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "i8": np.int8,
        "i32": np.int32,
        "fp8": ml_dtypes.float8_e4m3fnuz if fnuz else ml_dtypes.float8_e4m3fn,
        "bf8": ml_dtypes.float8_e5m2fnuz if fnuz else ml_dtypes.float8_e5m2,
    }
    return np.dtype(types[name])


def packed(elements: NDArray[Any]) -> NDArray[np.uint32]:
    """Return registers of ``elements[e, lane]``: the first elements are in the low bits."""
    lanes = np.ascontiguousarray(elements.T)
    return np.ascontiguousarray(lanes.view(np.uint32).reshape(LANES, -1).T)


def unpacked(registers: NDArray[np.uint32], kind: np.dtype[Any]) -> NDArray[Any]:
    """Return ``elements[e, lane]`` of registers."""
    return np.ascontiguousarray(np.ascontiguousarray(registers.T).view(kind).T)


def places(p: Product, operand: int) -> tuple[NDArray[np.int64], ...]:
    """Return block, row (of A; column of B) and k of ``[e, lane]``.

    Lanes count rows first, then blocks, then parts of K; a lane's elements are consecutive k.
    """
    per_lane = p.per_lane(operand)
    e, lane = np.indices((per_lane, LANES))
    rest = lane // p.size
    return rest % p.blocks, lane % p.size, rest // p.blocks * per_lane + e


def result_places(p: Product) -> tuple[NDArray[np.int64], ...]:
    """Return block, row and column of ``[result, lane]``."""
    results = p.size**2 * p.blocks // LANES
    r, lane = np.indices((results, LANES))
    if p.size == 4 and p.result == "f64":
        return lane // 4 % 4, lane // 16, lane % 4
    if p.size == 4:
        return lane // 4, r, lane % 4
    per_block = p.size**2 // LANES
    block, r = r // per_block, r % per_block
    if p.result == "f64":
        return block, 4 * r + lane // 16, lane % 16
    return block, r // 4 * 8 + lane // p.size * 4 + r % 4, lane % p.size


def matrix(p: Product, operand: int, elements: NDArray[Any]) -> NDArray[Any]:
    """Return ``[block, row or column, k]`` of a dense operand's ``elements[e, lane]``."""
    block, row, k = places(p, operand)
    full = np.zeros((p.blocks, p.size, int(k.max()) + 1), elements.dtype)
    full[block, row, k] = elements
    return full


def values(elements: NDArray[Any]) -> NDArray[Any]:
    """Return elements as numbers that products and sums are exact of, or nearly."""
    return elements.astype(np.int64 if elements.dtype.kind == "i" else np.float64)


def expected(
    p: Product, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return ``results[result, lane]`` and the sums of their terms' magnitudes.

    :param a: ``[block, row, k]``, and so are ``b`` and, by result and lane, ``c``.
    """
    exact = np.einsum("xik,xjk->xij", a, b)
    sizes = np.einsum("xik,xjk->xij", abs(a), abs(b))
    place = result_places(p)
    return exact[place] + c, sizes[place] + abs(c)
