"""Convolutions at the boundaries of tiles and counters, and with unusual windows: further second problems.

See :mod:`.second_problems`. Each is long along one axis at most, and as small as the kernel takes it along
the others, so that it costs little. A kernel is verified on half of them, drawn from its key: kernels of a
list differ in what they see, and each sees the same every time.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Final, TypeVar

from ckprof_plugins.pipelines.second_problems import SHARED, Window, rounded_up, with_window
from ckprof_plugins.pipelines.vocabulary import Specialization

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof_plugins.directions._convolution.problem import ConvProblem
    from ckprof_plugins.pipelines.gemm_instance import GemmInstance

_Kind = TypeVar("_Kind")

#: M, N and K of matrix products, and images: one more, one less and as much as tiles of 16 to 256 are filled
#: with; 5, 7 and 4 steps of 32 of the main loop, which are 3, 4 and 2 of 64, the last one short or whole
PRODUCTS: Final = ((257, 264, 152, 1), (255, 248, 216, 5), (256, 256, 128, 4))
#: a length that does not fit into 12 bits, by two
LONG: Final = 4098
#: groups, of which 16, 12 and 8 bits cannot count two, and what their weights are at most
_GROUPS: Final = (65538, 4098, 258)
_MOST_WEIGHTS: Final = 2**17

#: number of dimensions -> window, images, output, groups, and vectors along K and C of a group
_WINDOWS: Final = {
    1: (
        # the image is the filter, and there are three times three of them
        (Window((3,), (1,), (1,), (0,), (0,)), 9, (1,), 3, (1, 1)),
        # the image is a pixel, and windows lie in its pads
        (Window((3,), (1,), (1,), (4,), (3,)), 2, (6,), 1, (1, 3)),
        # strides and dilations with no common divisor, longer than the filter, and no pad on the left
        (Window((2,), (5,), (3,), (0,), (3,)), 7, (4,), 3, (3, 1)),
    ),
    2: (
        (Window((3, 2), (1, 1), (1, 1), (0, 0), (0, 0)), 9, (1, 1), 3, (1, 1)),
        (Window((2, 3), (1, 1), (1, 1), (3, 4), (2, 3)), 2, (5, 6), 1, (1, 3)),
        (Window((2, 5), (1, 3), (3, 1), (2, 0), (0, 3)), 7, (4, 5), 3, (3, 1)),
    ),
    3: (
        (Window((2, 3, 2), (1, 1, 1), (1, 1, 1), (0, 0, 0), (0, 0, 0)), 9, (1, 1, 1), 3, (1, 1)),
        (Window((2, 1, 3), (1, 1, 1), (1, 1, 1), (2, 1, 3), (2, 2, 3)), 2, (4, 4, 5), 1, (1, 3)),
        (Window((2, 1, 4), (1, 2, 3), (3, 1, 1), (2, 0, 0), (0, 0, 3)), 7, (2, 3, 2), 3, (3, 1)),
    ),
}


def drawn_convolutions(
    instance: GemmInstance, multiples: tuple[int, int], result: str
) -> Sequence[Sequence[ConvProblem]]:
    """Return alternatives for each of the problems that a kernel is verified on.

    :param multiples: what C and K of a group have to be multiples of.
    :param result: the tensor that is computed: output, input or weight.
    """
    return drawn(instance.key, [*boundary_convolutions(instance, multiples, result)])


def drawn(key: str, kinds: Sequence[_Kind]) -> list[_Kind]:
    """Return half of the kinds of problems, the same for the same kernel, in their order.

    :param key: content key of an instance.
    """
    draw = random.Random(key)  # noqa: S311 - no secret
    return [kinds[at] for at in sorted(draw.sample(range(len(kinds)), (len(kinds) + 1) // 2))]


def boundary_convolutions(
    instance: GemmInstance, multiples: tuple[int, int], result: str
) -> Iterator[Sequence[ConvProblem]]:
    """Yield alternatives, of which later ones have channels that more of the kernels that merge groups take.

    Parameters are those of :func:`drawn_convolutions`.
    """
    ndim, merged = instance.ndim, instance.num_groups_to_merge
    three = instance.specialization is Specialization.FILTER3X3
    ones, zeros = (1,) * ndim, (0,) * ndim
    window = Window((3,) * ndim, ones, ones, ones, ones) if three else Window(ones, ones, ones, zeros, zeros)
    (c, k), single = multiples, merged > 1 or three

    def alternatives(
        window: Window, images: int, output: Sequence[int], groups: int, channels: tuple[int, int]
    ) -> Sequence[ConvProblem]:
        usual = channels[0], 1 if single else channels[1]
        return [
            with_window(window, images, output, groups * merged, one)
            for one in ((usual, (1, 1)) if merged > 1 else (usual,))
        ]

    def product(m: int, n: int, depth: int, images: int = 1, least: int = 1) -> Sequence[ConvProblem]:
        sizes = {"output": (m, n, depth), "input": (m, depth, n), "weight": (depth, m, n)}
        pixels, of_k, of_c = sizes[result]
        output = (*ones[1:], math.ceil(pixels / images))
        channels = rounded_up(of_k, math.lcm(k, least)), rounded_up(of_c, math.lcm(c, least))
        return alternatives(window, images, output, 1, channels)

    for m, n, depth, images in PRODUCTS:
        # operands are shared by kernels whose vectors divide 8; tails of shorter ones are seen below
        yield product(math.ceil(m / merged), math.ceil(n / merged), depth, images, SHARED)
    few = {"output": (2, 3 * k, 3 * c), "input": (2, 3 * c, 3 * k), "weight": (3 * k, 2 * c, 3)}[result]
    for axis in range(3):
        yield product(*(LONG if axis == at else length for at, length in enumerate(few)))
    groups = next((one for one in _GROUPS if one * merged * c * k <= _MOST_WEIGHTS), _GROUPS[-1])
    yield alternatives(window, 1, ones, groups, (k, c))
    if instance.specialization is Specialization.DEFAULT:
        for unusual, images, output, several, (of_k, of_c) in _WINDOWS[ndim]:
            yield alternatives(unusual, images, output, several, (of_k * k, of_c * c))
