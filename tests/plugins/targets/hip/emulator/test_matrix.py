"""Products of matrices in registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.plugins.targets.hip.emulator.matrices import (
    ARCHITECTURES,
    Product,
    dtype,
    expected,
    matrix,
    packed,
    places,
    product,
    products,
    result_places,
    unpacked,
    values,
    words,
)
from tests.plugins.targets.hip.emulator.wave import ACC, LANES, State, assembled, execute

if TYPE_CHECKING:
    from numpy.typing import NDArray

pytestmark = [pytest.mark.amd]

D, A, B, C = 0, 64, 80, 96


def _run(
    p: Product,
    arch: str,
    a: NDArray[Any],
    b: NDArray[Any],
    c: NDArray[Any],
    *,
    registers: tuple[int, int, int, int] = (D, A, B, C),
    state: State | None = None,
    **modifiers: int,
) -> NDArray[Any]:
    """Return the ``[result, lane]`` of elements in their types."""
    state = state or State()
    for first, elements in zip(registers[1:], (a, b, c), strict=True):
        raw = packed(elements)
        state.vector[first : first + len(raw)] = raw
    after = execute(words(p.opcode, *registers, **modifiers), state, arch=arch)
    return unpacked(after.vector[registers[0] : registers[0] + p.widths[0]], dtype(p.result, arch))


def _operands(
    p: Product, arch: str, rng: np.random.Generator, *, whole: bool = False
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
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


def _rounded_to_10_bits(numbers: NDArray[Any]) -> NDArray[Any]:
    mantissa, exponent = np.frexp(numbers.astype(np.float64))
    return np.ldexp(np.rint(mantissa * 2**11) / 2**11, exponent)


def _reference(
    p: Product, a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    a, b = matrix(p, 0, values(a)), matrix(p, 1, values(b))
    if p.a_type == "xf32":
        a, b = _rounded_to_10_bits(a), _rounded_to_10_bits(b)
    return expected(p, a, b, values(c))


_DENSE = [
    pytest.param(arch, p.name, id=f"{arch}-{p.name}")
    for arch in ARCHITECTURES
    for p in products(arch)
    if not p.sparse
]


@pytest.mark.parametrize(("arch", "name"), _DENSE)
def test_dense_product(arch, name):
    p = product(name, arch)
    rng = np.random.default_rng(p.opcode)
    a, b, c = _operands(p, arch, rng, whole=True)
    exact, _ = _reference(p, a, b, c)
    assert np.array_equal(_run(p, arch, a, b, c), exact)
    if p.result == "i32":
        return
    a, b, c = _operands(p, arch, rng)
    exact, sizes = _reference(p, a, b, c)
    bound = (p.depth + 1) * 2.0 ** (-53 if p.result == "f64" else -24) * sizes
    assert np.all(abs(_run(p, arch, a, b, c).astype(np.float64) - exact) <= bound)
