"""Keys of MIOpen's databases: documented examples, and every convolution there and back."""

import random
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof_plugins.consumers.miopen.keys import (
    WrongKeyError,
    of_problem,
    parse_find_key,
    parse_perf_key,
    workspace_bytes,
)
from ckprof_plugins.directions._convolution.sample import random_convolution
from plugins.consumers.tests.databases import LETTERS, Tuned


def test_keys_of_gradients():
    key = parse_perf_key("2x6x256x128x1x1x1x1x512x128x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xW")
    problem = key.problem()
    assert (key.direction, key.dtype, key.layouts) == ("bwd_weight", "fp32", ("NCHW",))
    assert (problem.batch, problem.out_channels, problem.in_channels) == (128, 6, 512)
    assert (problem.output, problem.input) == ((256, 128), (256, 128))
    key = parse_perf_key("2x64x7x7x1x3x3x1x64x1x1x1x0x2x2x0x1x1x0x0x1xNHWCxFP16xB")
    assert (key.problem().input, key.problem().output) == ((13, 13), (7, 7))


@pytest.mark.parametrize(
    ("text", "groups", "layouts"),
    [
        ("576-4-4-1x1-192-4-4-8-1x1-1x1-1x1-0-NCHW-FP32-F", 1, ("NCHW",)),
        ("576-4-4-1x1-192-4-4-8-0x0-1x1-1x1-0-NHWC-NCHW-NCHW-FP32-F", 1, ("NHWC", "NCHW", "NCHW")),
        ("64-4-4-4-1x1x1-64-4-4-4-8-0x0x0-1x1x1-1x1x1-0-NCDHW-FP16-B_g4", 4, ("NCDHW",)),
        ("64-4-4-1x1-64-4-4-8-0x0-1x1-1x1-0-NCHW-INT8INT8INT32-F_g2_ciFP8", 2, ("NCHW",)),
    ],
)
def test_find_keys_are_written_as_they_were(text, groups, layouts):
    key = parse_find_key(text)
    assert (key.numbers["group_count"], key.layouts, key.find_text()) == (groups, layouts, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "a-b",
        "576-4-4-1x1-192-4-4-8-1x1-1x1-1x1-0-NCHW-FP32-Q",
        "9" * 40 + "-4-4-1x1-1-4-4-8-1x1-1x1-1x1-0-NCHW-FP32-F",
    ],
)
def test_other_texts_are_no_keys(text):
    for parse in (parse_find_key, parse_perf_key):
        with pytest.raises(WrongKeyError):
            parse(text)


@given(st.integers(0, 10**6), st.sampled_from((2, 3)), st.sampled_from(tuple(LETTERS)), st.booleans())
def test_a_convolution_there_and_back(seed, ndim, direction, last):
    try:
        problem = random_convolution(random.Random(seed), ndim)
    except InputError:
        assume(False)
    # keys have one pad for both sides
    try:
        problem = replace(problem, right_pads=problem.left_pads)
    except InputError:
        assume(False)
    layout = {(2, True): "NHWC", (3, True): "NDHWC", (2, False): "NCHW", (3, False): "NCDHW"}[ndim, last]
    key = of_problem(problem, direction, "FP16", layout)
    described = Tuned(problem, LETTERS[direction], "fp16", None, 1, last)
    assert (key.find_text(), key.perf_text()) == (described.find_key(), described.perf_key())
    again = parse_find_key(key.find_text())
    assert (again.problem(), again.direction) == (problem, direction)
    perf = parse_perf_key(key.perf_text()).problem()
    assert perf.output == problem.output
    assert perf.input <= problem.input
    assert workspace_bytes(again, problem) == described.workspace


def test_the_workspace_that_a_find_db_of_the_system_states():
    key = parse_find_key("128-16-16-16-2x2x2-128-32-32-32-1-0x0x0-2x2x2-1x1x1-0-NCDHW-FP32-B")
    assert workspace_bytes(key, key.problem()) == 19398656
