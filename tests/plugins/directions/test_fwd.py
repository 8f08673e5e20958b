"""The forward direction: its reference against scipy, and its properties."""

import numpy as np
import pytest
from convolution_cases import operands

from ckprof_plugins.directions._convolution.layout import find_layout
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.directions.fwd import Forward

FWD = Forward()


def test_reference_equals_scipy():
    signal = pytest.importorskip("scipy.signal")
    problem = ConvProblem(
        **{"groups": 1, "batch": 1, "out_channels": 1, "in_channels": 1},
        **{"filter": (3, 2, 3), "input": (5, 6, 7), "strides": (1, 1, 1), "dilations": (1, 1, 1)},
        **{"left_pads": (0, 0, 0), "right_pads": (0, 0, 0)},
    )
    layout = find_layout("ndhwgc")
    tensors = operands(FWD, problem, layout)
    expected = signal.correlate(tensors["input"][0, ..., 0, 0], tensors["weight"][0, 0, ..., 0], mode="valid")
    result = FWD.reference(problem, layout, tensors)[0, ..., 0, 0]
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)


def test_facts():
    assert FWD.reduction_length(FWD.default_problem[3]) == 72 * 27
    assert FWD.miopen_flag == 1
    assert FWD.tensors == ("input", "weight", "output")
    assert "forward" in FWD.aliases
