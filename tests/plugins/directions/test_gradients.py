"""The two gradients: their own numbers, and scipy's answer."""

import numpy as np
import pytest
from convolution_cases import operands

from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.directions.bwd_data import BackwardData
from ckprof_plugins.directions.bwd_weight import BackwardWeight

DATA = BackwardData()
WEIGHT = BackwardWeight()

PLAIN = ConvProblem(
    **{"groups": 1, "batch": 1, "out_channels": 1, "in_channels": 1},
    **{"filter": (3, 2), "input": (6, 7), "strides": (1, 1), "dilations": (1, 1)},
    **{"left_pads": (0, 0), "right_pads": (0, 0)},
)


def test_backward_data_equals_scipy():
    signal = pytest.importorskip("scipy.signal")
    layout = find_layout("nhwgc")
    tensors = operands(DATA, PLAIN, layout)
    expected = signal.convolve(tensors["output"][0, ..., 0, 0], tensors["weight"][0, 0, ..., 0], mode="full")
    result = DATA.reference(PLAIN, layout, tensors)[0, ..., 0, 0]
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


def test_backward_weight_equals_scipy():
    signal = pytest.importorskip("scipy.signal")
    layout = find_layout("nhwgc")
    tensors = operands(WEIGHT, PLAIN, layout)
    expected = signal.correlate(tensors["input"][0, ..., 0, 0], tensors["output"][0, ..., 0, 0], mode="valid")
    result = WEIGHT.reference(PLAIN, layout, tensors)[0, 0, ..., 0]
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


def test_facts_of_backward_data():
    assert DATA.id == "bwd_data"
    assert DATA.tensors == ("output", "weight", "input")
    assert DATA.host_args_type == "GroupedConvBwdDataHostArgs"
    assert "backward_data" in DATA.aliases
    assert [*map(str, DATA.positional_form.dtypes.values())] == ["fp32", "fp16", "bf16", "fp32 by tf32"]
    assert DATA.positional_form.trailing == ("split_k",)


def test_facts_of_backward_weight():
    assert WEIGHT.id == "bwd_weight"
    assert WEIGHT.tensors == ("output", "input", "weight")
    assert WEIGHT.host_args_type == "GroupedConvBwdWeightHostArgs"
    assert "backward_weight" in WEIGHT.aliases
    # bf16 and the channels-last layout have other numbers than in the other directions
    assert str(WEIGHT.positional_form.dtypes[5]) == "bf16"
    assert WEIGHT.positional_form.layouts[2] == DATA.positional_form.layouts[1]
    assert WEIGHT.positional_form.trailing == ("split_k",)


def test_reduction_lengths():
    problem = ConvProblem(
        **{"groups": 3, "batch": 2, "out_channels": 5, "in_channels": 7},
        **{"filter": (3, 4), "input": (9, 11), "strides": (2, 4), "dilations": (1, 2)},
        **{"left_pads": (1, 0), "right_pads": (0, 1)},
    )
    # of three taps, two meet the same element; of four, with stride 4 and dilation 2, again two
    assert DATA.reduction_length(problem) == 5 * 2 * 2
    assert WEIGHT.reduction_length(problem) == 2 * problem.output[0] * problem.output[1]
    assert DATA.reduction_length(DATA.default_problem[3]) == 80 * 27
