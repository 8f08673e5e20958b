"""Random problems for kernels of the shipped lists, some of which every kernel supports."""

import math
from dataclasses import replace
from operator import mul

from ckprof.errors import InputError
from ckprof.model.problem_case import as_case
from ckprof_plugins.directions._convolution.convolution import Convolution
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem, elementwise_of
from ckprof_plugins.directions._convolution.sample import random_convolution
from ckprof_plugins.directions.bwd_data import BackwardData
from ckprof_plugins.directions.bwd_weight import BackwardWeight
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.operations.gemm.problem import GemmProblem
from tests.plugins.elementwise.settings import with_settings

#: problems of each number of dimensions that are drawn at a time
PROBLEMS = 12
#: multiply-adds of the largest convolution
LARGEST = 3_000_000
#: the same of a product: two blocks along K of the largest tile
LARGEST_PRODUCT = 3 * LARGEST
#: what a direction computes
RESULTS = {one.id: one.tensors[-1] for one in (Forward(), BackwardData(), BackwardWeight())}


def convolutions(draw, ndim, merged=1):
    """Draw convolutions: half of them as they come, half with channels that every kernel can load.

    :param merged: groups that kernels compute together: what every second convolution has.
    """
    drawn = []
    while len(drawn) < PROBLEMS:
        try:
            one = random_convolution(draw, ndim)
        except InputError:
            continue
        if len(drawn) % 2:
            channels = {name: -(-getattr(one, name) // 16) * 16 for name in ("in_channels", "out_channels")}
            one = replace(one, **channels)
            if merged > 1:
                one = replace(one, groups=merged, in_channels=8, out_channels=8, batch=1)
        if len(drawn) % 4 == 1:
            # what kernels for filters of one element ask for
            none, unit = (0,) * ndim, (1,) * ndim
            one = replace(one, filter=unit, strides=unit, dilations=unit, left_pads=none, right_pads=none)
            if len(drawn) % 8 == 1:
                # backward weight reduces over it, and some of its kernels have one block along K
                one = replace(one, batch=1, input=tuple(draw.randint(1, 3) for _ in unit))
        products = one.groups * one.batch * one.out_channels * one.in_channels
        if products * math.prod((*one.filter, *one.output)) <= LARGEST:
            drawn.append(as_case(one))
    return drawn


def products(draw, tiles):
    """Draw products of matrices: half of them as they come, half of whole tiles, for kernels that do not pad.

    :param tiles: lengths along M, N and K of those that kernels have.
    """
    drawn = []
    while len(drawn) < PROBLEMS:
        tile = draw.choice(tiles)
        if len(drawn) % 2:
            counts = (*draw.choice(((1, 1), (1, 2), (2, 1))), draw.randint(1, 5))
            lengths = tuple(map(mul, tile, counts))
        else:
            lengths = tuple(draw.choice((1, 2, 8, 16)) * draw.randint(1, 24) for _ in tile)
        if math.prod(lengths) <= LARGEST_PRODUCT:
            drawn.append(as_case(GemmProblem(m=lengths[0], n=lengths[1], k=lengths[2])))
    return drawn


def with_operation(case, direction, operation):
    """Return a convolution with an element-wise operation on its result, or as it is for ``None``."""
    if operation is None:
        return case
    assert isinstance(case.problem, Convolution)
    combination = Combination.parse(with_settings(str(operation)))
    return replace(case, problem=FusedConvProblem.of(case.problem, combination, RESULTS[str(direction)]))


def drawn_problems(draw, instances):
    """Yield problems for each number of dimensions and operation that kernels of one direction have."""
    fields = [one.fields() for one in instances]
    merged = max(int(one.get("num_groups_to_merge") or 1) for one in fields)
    for ndim in sorted({one.ndim for one in instances}):
        if ndim:
            for operation in dict.fromkeys(one.get("elementwise_op") for one in fields):
                # half as many for each of many operations
                for case in convolutions(draw, ndim, merged)[: PROBLEMS // 2 if operation else PROBLEMS]:
                    yield with_operation(case, fields[0]["direction"], operation)
        else:
            tiles = {tuple(int(one[f"tile_{axis}"] or 0) for axis in "mnk") for one in fields}
            yield from products(draw, sorted(tiles))


def is_meant(problem, instance):
    """Say whether a problem was drawn for kernels such as this one."""
    if not isinstance(problem, Convolution):
        return True
    combination = elementwise_of(problem)
    asked = combination.operation.value if combination else None
    return problem.ndim == instance.ndim and asked == instance.fields().get("elementwise_op")
