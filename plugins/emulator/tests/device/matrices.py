"""What the matrix instructions of the emulated device compute, in numpy, from their names alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np

from ckprof_plugins.emulator.library import SOURCE_DIR
from plugins.emulator.tests.device.wave import LANES, State, execute

ARCHITECTURES = {"gfx90a": 1, "gfx942": 2, "gfx950": 4}
_BITS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8}
_ROW = re.compile(r"INSTRUCTION\(vop3p, (\d+), (\w+), (\d), (\d+), (\d+), (\d+), (\d+)\)")
_NAME = re.compile(r"v_(mfma|smfmac)_(f32|i32|f64)_(\d+)x\d+x(\d+)_?(?:\d+b_)?(\w+)")


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
    def blocks(self):
        return self.widths[0] * LANES // (2 if self.result == "f64" else 1) // self.size**2

    def per_lane(self, operand):
        """Return how many elements of A (0) or B (1) a lane has."""
        kept = 2 if self.sparse and operand == 0 else 1
        return self.size * self.depth * self.blocks // LANES // kept

    def on(self, arch):
        return bool(self.architectures & ARCHITECTURES[arch])


@cache
def products(arch):
    """Return every matrix instruction of an architecture but those that choose formats when they run."""
    found = []
    for row in _ROW.finditer((SOURCE_DIR / "isa" / "instructions.def").read_text()):
        name = _NAME.fullmatch(row[2])
        if name is None or name[5] == "f8f6f4" or not int(row[3]) & ARCHITECTURES[arch]:
            continue
        types = name[5].removesuffix("_1k").split("_")
        found.append(
            Product(
                name=row[2],
                opcode=int(row[1]),
                architectures=int(row[3]),
                widths=(int(row[4]), int(row[5]), int(row[6]), int(row[7])),
                sparse=name[1] == "smfmac",
                result=name[2],
                size=int(name[3]),
                depth=int(name[4]),
                a_type=types[0],
                b_type=types[-1],
            )
        )
    return tuple(found)


def product(name, arch="gfx942"):
    return next(p for p in products(arch) if p.name == name)


def words(opcode, d, a, b, c, *, cbsz=0, abid=0, blgp=0, sparse=False):
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


def dtype(name, arch):
    """Return the numpy type of a type in the name of an instruction."""
    fnuz = arch == "gfx942"
    types = {
        "f64": np.float64,
        "f32": np.float32,
        "xf32": np.float32,
        "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "i8": np.int8,
        "i32": np.int32,
        "fp8": ml_dtypes.float8_e4m3fnuz if fnuz else ml_dtypes.float8_e4m3fn,
        "bf8": ml_dtypes.float8_e5m2fnuz if fnuz else ml_dtypes.float8_e5m2,
        "fp6": ml_dtypes.float6_e2m3fn,
        "bf6": ml_dtypes.float6_e3m2fn,
        "fp4": ml_dtypes.float4_e2m1fn,
    }
    kind = np.dtype(types[name])
    return kind


def packed(elements):
    """Return registers of ``elements[e, lane]``: the first elements are in the low bits."""
    lanes = np.ascontiguousarray(elements.T)
    return np.ascontiguousarray(lanes.view(np.uint32).reshape(LANES, -1).T)


def unpacked(registers, kind):
    """Return ``elements[e, lane]`` of registers."""
    return np.ascontiguousarray(np.ascontiguousarray(registers.T).view(kind).T)


def places(p, operand):
    """Return block, row (of A; column of B) and k of ``[e, lane]``.

    Lanes count rows first, then blocks, then parts of K; a lane's elements are consecutive k. AMD's matrix
    instruction calculator prints the same places for all of CDNA 2 and 3.
    """
    per_lane = p.per_lane(operand)
    e, lane = np.indices((per_lane, LANES))
    rest = lane // p.size
    return rest % p.blocks, lane % p.size, rest // p.blocks * per_lane + e


def result_places(p):
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


def matrix(p, operand, elements):
    """Return ``[block, row or column, k]`` of a dense operand's ``elements[e, lane]``."""
    block, row, k = places(p, operand)
    full = np.zeros((p.blocks, p.size, int(k.max()) + 1), elements.dtype)
    full[block, row, k] = elements
    return full


def values(elements):
    """Return elements as numbers that products and sums are exact of, or nearly."""
    return elements.astype(np.int64 if elements.dtype.kind == "i" else np.float64)


def sparse_matrices(p, a, b, index):
    """Return ``[block, row, k]`` of A and of B transposed, of a sparse product's elements.

    The places are those that AMD's tests of its numerics sanitizer found on gfx950.

    :param index: the place, of four, of each ``a[e, lane]``.
    """
    kept, groups = p.per_lane(0), LANES // p.size
    e, lane = np.indices(a.shape)
    group = lane // p.size
    if p.a_type in ("f16", "bf16"):
        number = group * kept + e
    elif kept == 8:
        number = e // 4 * 4 * groups + 4 * group + e % 4
    elif p.size == 16:
        four = e // 4
        number = e % 4 + 16 * (four % 2) + 4 * (four // 2) + 32 * (group // 2) + 8 * (group % 2)
    else:
        four = e // 4
        number = e % 4 + 8 * (four % 2) + 4 * (four // 2) + 16 * group
    dense_a = np.zeros((1, p.size, p.depth), a.dtype)
    np.add.at(dense_a, (0, lane % p.size, number // 2 * 4 + index), a)
    e, lane = np.indices(b.shape)
    dense_b = np.zeros((1, p.size, p.depth), b.dtype)
    dense_b[0, lane % p.size, e // 8 * 8 * groups + lane // p.size * 8 + e % 8] = b
    return dense_a, dense_b


def expected(p, a, b, c):
    """Return ``results[result, lane]`` and the sums of their terms' magnitudes.

    :param a: ``[block, row, k]``, and so are ``b`` and, by result and lane, ``c``.
    """
    exact = np.einsum("xik,xjk->xij", a, b)
    sizes = np.einsum("xik,xjk->xij", abs(a), abs(b))
    place = result_places(p)
    return exact[place] + c, sizes[place] + abs(c)


#: registers of D, A, B and C
PLACES = (0, 64, 80, 96)


def run(p, arch, a, b, c, *, index=None, constant=0, registers=PLACES, state=None, **modifiers):
    """Execute an instruction and return its ``[result, lane]``.

    :param a: elements of A, and so are ``b`` and ``c``, in their types; without C a constant is added.
    :param index: of sparse products, whose C is then in the place of D.
    :param constant: the code of an inline constant.
    """
    state = state or State()
    for first, elements in zip(registers[1:], (a, b, c if index is None else index[None]), strict=True):
        if elements is not None:
            raw = packed(elements)
            state.vector[first : first + len(raw)] = raw
    d = slice(registers[0], registers[0] + p.widths[0])
    if index is not None and c is not None:
        state.vector[d] = packed(c)
    third = -constant if c is None else registers[3]
    code = words(p.opcode, *registers[:3], third, sparse=p.sparse, **modifiers)
    return unpacked(execute(code, state, arch=arch).vector[d], dtype(p.result, arch))


def operands(p, arch, rng, *, whole=False):
    """Return random elements of A, B and C; whole numbers have products and sums without rounding."""
    made = []
    for name, count in (
        (p.a_type, p.per_lane(0)),
        (p.b_type, p.per_lane(1)),
        (p.result, p.size**2 * p.blocks // LANES),
    ):
        kind = dtype(name, arch)
        if kind == np.int8:
            made.append(rng.integers(-128, 128, (count, LANES)).astype(kind))
        elif whole or kind == np.int32:
            made.append(rng.integers(-4, 5, (count, LANES)).astype(kind))
        else:
            made.append(rng.normal(size=(count, LANES)).astype(kind))
    return made[0], made[1], made[2]
