"""Right kernels, drawn at random: none of them may be refused on any operands."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from ckprof.measure.verify.comparison import compare, reason_of, verification_of
from ckprof.measure.verify.exact import ExactKind, roundings_of
from ckprof.measure.verify.operands import InitKind, OperandValues, make_operand
from ckprof.measure.verify.storage import decode
from ckprof.measure.verify.tolerance import Sums, derive_tolerance, exact_tolerance
from ckprof.model.computation import Rounding
from ckprof.model.outcome import HOST_REFERENCE
from ckprof.model.types import DataType, SplitSum
from ckprof_plugins.operations.gemm.problem import GemmProblem

from .summing_kernels import (
    CUT,
    FUSED,
    LAYOUT,
    NEAREST,
    SEPARATE,
    SummingKernel,
    cut_off,
    nearest,
)  # fmt: skip
from .verify.test_exact import FLOAT8, TYPES

pytestmark = pytest.mark.compiler

#: products of one run at most, whatever their number in an element
PRODUCTS = 100_000
LONGEST = 1_000_000
#: kernels that are drawn together
RUNS = 500


def drawn_kernel(sums, draw, name, longest):
    """Return a right kernel, and a problem for it."""
    types = TYPES[name]
    length = max(1, round(longest ** draw.random()))
    elements = max(4, min(256, PRODUCTS // length))
    m = max(2, round(math.sqrt(elements)))
    n = max(2, elements // m)
    plain = name == "fp32"
    splits = min(draw.choice((1, 1, 2, 5, 16, 64, 128)), length)
    way = draw.choice((FUSED, SEPARATE, NEAREST) if plain else (FUSED, NEAREST, CUT))
    step = draw.choice((1, 2, 4, 8, 16)) if way == NEAREST else draw.choice((8, 16, 32, 64))
    bits = draw.choice((24, 25, 26))
    if name in FLOAT8 and way == CUT and draw.random() < 0.5:
        step, bits = draw.choice((32, 64)), 14
    return SummingKernel(
        sums=sums,
        types=types,
        problem=GemmProblem(m=m, n=n, k=length),
        split_k=splits,
        split_sum=draw.choice(tuple(SplitSum)),
        way=way,
        step=step,
        bits=bits,
        stride=draw.choice((1, 1, 3, 7, 1009)),
        store=cut_off if types.result is DataType.BF16 and draw.random() < 0.5 else nearest,
    )


def verified(kernel, values, exact):
    """Return what is wrong with a kernel's result, an empty text for nothing."""
    types, problem = kernel.types, kernel.problem
    specs = [problem.tensor(name, LAYOUT) for name in ("a", "b", "e")]
    stored = [
        make_operand(spec, dtype, values, ocp=types.ocp)
        for spec, dtype in zip(specs[:2], types.operands, strict=True)
    ]
    a, b = (decode(one, dtype, ocp=types.ocp) for one, dtype in zip(stored, types.operands, strict=True))
    reference = (a @ b.T).reshape(-1)
    sums = Sums(
        reduction_length=problem.k,
        magnitude=float(np.abs(reference).max()),
        deviation=math.sqrt(problem.k * float(np.mean(a * a)) * float(np.mean(b * b))),
    )
    result = kernel.result(stored[0].reshape(-1), stored[1].reshape(-1))
    roundings = (Rounding.NONE,)
    if not exact:
        tolerance = derive_tolerance(types, sums, split_k=kernel.split_k, split_sum=kernel.split_sum)
    else:
        tolerance = exact_tolerance(types, sums)
        if types.compute_type is None:
            roundings = roundings_of(types.result)
    found = [compare([result], reference, types.result, tolerance, rounding) for rounding in roundings]
    if any(one.first is None for one in found):
        return ""
    seen = verification_of(found[0], result.size, tolerance, HOST_REFERENCE)
    return reason_of(found[0], seen, specs[2])


def refused(sums, seed, names, longest, runs):
    """Draw kernels, and return what was found wrong with any of them."""
    draw = random.Random(seed)
    wrong = []
    for run in range(runs):
        kernel = drawn_kernel(sums, draw, draw.choice(names), longest)
        length, operands = kernel.problem.k, draw.randrange(2**32)
        specs = [kernel.problem.tensor(name, LAYOUT) for name in ("a", "b", "e")]
        kind = ExactKind.of(kernel.split_k, kernel.split_sum, 1)
        exact = kind.values(specs, kernel.types, length, operands)
        init = draw.choice((InitKind.DECIMAL, InitKind.DECIMAL, InitKind.INTEGER))
        usual = OperandValues(kind=init, seed=operands, reduction_length=length)
        for values, is_exact in ((usual, False), (exact, True)):
            reason = verified(kernel, values, is_exact)
            if reason:
                wrong.append((run, is_exact, init, replace(kernel, sums=None), reason))
    return wrong


@pytest.mark.parametrize("name", TYPES)
def test_no_right_kernel_is_refused(sums, name):
    assert refused(sums, 1, [name], 3000, 8) == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(20_000 // RUNS))
def test_none_of_many_right_kernels_is_refused(sums, seed):
    assert refused(sums, 1000 + seed, tuple(TYPES), LONGEST, RUNS) == []
