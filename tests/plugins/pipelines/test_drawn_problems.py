"""What problems are drawn for kernels of the shipped lists."""

import math
import random

import pytest

from tests.plugins.pipelines.drawn_problems import (
    LARGEST,
    LARGEST_PRODUCT,
    PROBLEMS,
    RESULTS,
    convolutions,
    products,
    with_operation,
)


@pytest.mark.parametrize("merged", [1, 8])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_convolutions_are_small_and_some_suit_every_kernel(ndim, merged):
    found = [one.problem for one in convolutions(random.Random(ndim), ndim, merged)]
    assert len(found) == PROBLEMS
    for one in found:
        channels = one.in_channels * one.out_channels * one.groups * one.batch
        assert channels * math.prod(one.filter) * math.prod(one.output) <= LARGEST
    assert any(one.filter == one.strides == (1,) * ndim and not any(one.left_pads) for one in found)
    assert any(one.batch * math.prod(one.output) <= 27 for one in found)
    assert merged == 1 or sum(one.groups % merged == 0 for one in found) == PROBLEMS // 2


@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weight"])
def test_a_convolution_asks_for_the_operation_of_the_kernels(direction):
    alone = convolutions(random.Random(1), 2)[0]
    assert with_operation(alone, direction, None) == alone
    fused = with_operation(alone, direction, "Scale").problem
    assert (fused.elementwise.operation.value, fused.result) == ("Scale", RESULTS[direction])


@pytest.mark.parametrize("tile", [(16, 16, 64), (256, 256, 64)])
def test_half_of_the_products_are_of_whole_tiles(tile):
    found = [one.problem for one in products(random.Random(1), [tile])]
    assert len(found) == PROBLEMS
    lengths = [(one.m, one.n, one.k) for one in found]
    assert all(math.prod(one) <= LARGEST_PRODUCT for one in lengths)
    whole = [not any(n % block for n, block in zip(one, tile, strict=True)) for one in lengths]
    assert all(whole[1::2]) and not all(whole[::2])
