"""The forward direction: its reference against two independent computations, and its facts."""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.model.layout import LAYOUTS, find_layout
from ckprof.model.problem import ConvProblem
from ckprof.model.tensor import tensor_shape
from ckprof_plugins.directions.fwd import Forward

FWD = Forward()


def operands(problem, layout, seed=0):
    random = np.random.default_rng(seed)
    return {name: random.uniform(-1, 1, tensor_shape(problem, layout, name)) for name in ("input", "weight")}


def by_letters(array, order):
    """Return a function that looks up an element by letter -> index."""
    return lambda **index: array[tuple(index[letter] for letter in order)]


def naive(problem, layout, tensors):
    """One product after the other, by the definition of a convolution."""
    source, weight = (
        by_letters(tensors["input"], layout.input),
        by_letters(tensors["weight"], layout.weight),
    )
    result = np.zeros(tensor_shape(problem, layout, "output"))
    image, window = "DHW"[3 - problem.ndim :], "ZYX"[3 - problem.ndim :]
    for g, n, k in product(range(problem.groups), range(problem.batch), range(problem.out_channels)):
        for out in product(*map(range, problem.output)):
            total = 0.0
            for tap in product(*map(range, problem.filter)):
                at = [
                    o * stride + t * dilation - pad
                    for o, t, stride, dilation, pad in zip(
                        out, tap, problem.strides, problem.dilations, problem.left_pads, strict=True
                    )
                ]
                if all(0 <= a < size for a, size in zip(at, problem.input, strict=True)):
                    total += sum(
                        source(G=g, N=n, C=c, **dict(zip(image, at, strict=True)))
                        * weight(G=g, K=k, C=c, **dict(zip(window, tap, strict=True)))
                        for c in range(problem.in_channels)
                    )
            place = {"G": g, "N": n, "K": k, **dict(zip(image, out, strict=True))}
            result[tuple(place[letter] for letter in layout.output)] = total
    return result


@st.composite
def problems(draw):
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
            strides=axes(1, 3),
            dilations=axes(1, 2),
            left_pads=axes(0, 2),
            right_pads=axes(0, 3),
        )
    except InputError:
        from hypothesis import reject

        reject()


@given(problem=problems(), data=st.data())
def test_reference_equals_the_definition(problem, data):
    layout = data.draw(st.sampled_from([layout for layout in LAYOUTS if layout.ndim == problem.ndim]))
    tensors = operands(problem, layout)
    result = FWD.reference(problem, layout, tensors)
    assert result.dtype == np.float64
    assert result.flags.c_contiguous
    np.testing.assert_allclose(result, naive(problem, layout, tensors), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "changes",
    [
        {"input": (2, 2), "filter": (5, 4), "left_pads": (2, 1), "right_pads": (1, 3)},
        {"input": (3, 3), "filter": (3, 3), "left_pads": (0, 0), "right_pads": (0, 0)},
        {"input": (1, 1), "filter": (1, 1), "left_pads": (0, 0), "right_pads": (0, 0)},
        {"input": (7, 9), "strides": (2, 3), "dilations": (2, 1), "left_pads": (0, 2), "right_pads": (3, 0)},
    ],
    ids=["filter larger than input", "output of one", "all of one", "asymmetric"],
)
def test_reference_at_the_edges(changes):
    sizes = {
        **{"groups": 2, "batch": 2, "out_channels": 3, "in_channels": 2},
        **{"filter": (3, 2), "input": (5, 6), "strides": (1, 1), "dilations": (1, 1)},
        **{"left_pads": (1, 0), "right_pads": (0, 1)},
    }
    problem = ConvProblem(**{**sizes, **changes})
    for name in ("nhwgc", "ngchw"):
        layout = find_layout(name)
        tensors = operands(problem, layout)
        np.testing.assert_allclose(
            FWD.reference(problem, layout, tensors), naive(problem, layout, tensors), rtol=1e-12, atol=1e-12
        )


def test_reference_equals_scipy():
    signal = pytest.importorskip("scipy.signal")
    problem = ConvProblem(
        **{"groups": 1, "batch": 1, "out_channels": 1, "in_channels": 1},
        **{"filter": (3, 2, 3), "input": (5, 6, 7), "strides": (1, 1, 1), "dilations": (1, 1, 1)},
        **{"left_pads": (0, 0, 0), "right_pads": (0, 0, 0)},
    )
    layout = find_layout("ndhwgc")
    tensors = operands(problem, layout)
    expected = signal.correlate(tensors["input"][0, ..., 0, 0], tensors["weight"][0, 0, ..., 0], mode="valid")
    result = FWD.reference(problem, layout, tensors)[0, ..., 0, 0]
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_default_problems_are_modest_and_quickly_computed(ndim):
    problem = FWD.default_problem[ndim]
    assert problem.ndim == ndim
    assert 150e6 < problem.flop < 400e6
    layout = next(layout for layout in LAYOUTS if layout.ndim == ndim)
    tensors = operands(problem, layout)
    FWD.reference(problem, layout, tensors)
    start = time.perf_counter()
    FWD.reference(problem, layout, tensors)
    # Usually a tenth of that; generous because tests share their cores.
    assert time.perf_counter() - start < 1.0


def test_facts():
    assert FWD.reduction_length(FWD.default_problem[3]) == 64 * 27
    assert FWD.miopen_flag == 1
    assert FWD.tensors == ("input", "weight", "output")
    assert "forward" in FWD.aliases


def test_positional_form_counts_the_arguments_of_ckprofiler():
    form = FWD.positional_form
    for ndim in (1, 2, 3):
        # program, operation, leading, G N K C, six blocks per dimension, trailing
        assert 2 + len(form.leading) + 4 + 6 * ndim + len(form.trailing) == 14 + 6 * ndim
    assert form.leading.index("layout") == 1
    assert form.leading[-1] == "ndim"
    assert form.dtypes == {0: "fp32", 1: "fp16", 2: "bf16"}
    assert all(
        find_layout(name).ndim == i + 1 for names in form.layouts.values() for i, name in enumerate(names)
    )
