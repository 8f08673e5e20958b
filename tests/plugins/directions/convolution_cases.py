"""Small convolutions and a slow, obvious way to compute any direction of them."""

from itertools import product

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof_plugins.directions._convolution.layout import LAYOUTS, tensor_shape
from ckprof_plugins.directions._convolution.problem import ConvProblem


def operands(direction, problem, layout, seed=0):
    """Return random values of a direction's operands."""
    random = np.random.default_rng(seed)
    return {
        name: random.uniform(-1, 1, tensor_shape(problem, layout, name)) for name in direction.tensors[:2]
    }


def naive(direction, problem, layout, tensors):
    """Add one product after the other to the result, by the definition of a convolution."""
    orders = {"input": layout.input, "weight": layout.weight, "output": layout.output}
    first, second, result = direction.tensors
    total = np.zeros(tensor_shape(problem, layout, result))
    values = {**tensors, result: total}
    image, window = "DHW"[3 - problem.ndim :], "ZYX"[3 - problem.ndim :]
    for out, tap in product(product(*map(range, problem.output)), product(*map(range, problem.filter))):
        at = [
            o * stride + t * dilation - pad
            for o, t, stride, dilation, pad in zip(
                out, tap, problem.strides, problem.dilations, problem.left_pads, strict=True
            )
        ]
        if not all(0 <= a < size for a, size in zip(at, problem.input, strict=True)):
            continue
        places = {
            "input": dict(zip(image, at, strict=True)),
            "weight": dict(zip(window, tap, strict=True)),
            "output": dict(zip(image, out, strict=True)),
        }
        for g, n, k, c in product(
            *map(range, (problem.groups, problem.batch, problem.out_channels, problem.in_channels))
        ):
            indices = {
                name: tuple({**place, "G": g, "N": n, "K": k, "C": c}[letter] for letter in orders[name])
                for name, place in places.items()
            }
            total[indices[result]] += values[first][indices[first]] * values[second][indices[second]]
    return total


@st.composite
def problems(draw):
    """Draw a problem with strides, dilations, asymmetric pads and filters larger than the input."""
    ndim = draw(st.sampled_from((1, 2, 2, 3)))

    def axes(low, high):
        return tuple(draw(st.integers(low, high)) for _ in range(ndim))

    try:
        return ConvProblem(
            groups=draw(st.integers(1, 3)),
            batch=draw(st.integers(1, 2)),
            out_channels=draw(st.integers(1, 3)),
            in_channels=draw(st.integers(1, 3)),
            filter=axes(1, 3),
            input=axes(1, 5),
            strides=axes(1, 4),
            dilations=axes(1, 3),
            left_pads=axes(0, 2),
            right_pads=axes(0, 3),
        )
    except InputError:
        reject()


@st.composite
def cases(draw):
    """Draw a problem and one of its layouts."""
    problem = draw(problems())
    return problem, draw(st.sampled_from([layout for layout in LAYOUTS if layout.ndim == problem.ndim]))


_SIZES = {
    **{"groups": 2, "batch": 2, "out_channels": 3, "in_channels": 2},
    **{"filter": (3, 2), "input": (5, 6), "strides": (1, 1), "dilations": (1, 1)},
    **{"left_pads": (1, 0), "right_pads": (0, 1)},
}

#: Problems at the edges of what is possible.
EDGES = {
    name: ConvProblem(**{**_SIZES, **changes})
    for name, changes in {
        "filter larger than input": {
            **{"input": (2, 2), "filter": (5, 4), "left_pads": (2, 1), "right_pads": (1, 3)}
        },
        "output of one": {"input": (3, 3), "filter": (3, 3), "left_pads": (0, 0), "right_pads": (0, 0)},
        "all of one": {"input": (1, 1), "filter": (1, 1), "left_pads": (0, 0), "right_pads": (0, 0)},
        "asymmetric": {
            **{"input": (7, 9), "strides": (2, 3), "dilations": (2, 1)},
            **{"left_pads": (0, 2), "right_pads": (3, 0)},
        },
        "holes between windows": {"input": (9, 9), "filter": (2, 1), "strides": (4, 3), "right_pads": (0, 0)},
        "stride and dilation share a factor": {"input": (9, 8), "strides": (4, 2), "dilations": (2, 4)},
        "a tail that no window reaches": {"input": (8, 8), "filter": (1, 1), "strides": (3, 5)},
    }.items()
}
