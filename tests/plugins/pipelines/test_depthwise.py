"""Depthwise kernels: names and strings as listed, every rule, and a problem that fits."""

import pytest
from families import broken, depthwise, flat, header, pipeline_of
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.convolutions import convolution


def test_name():
    assert pipeline_of(depthwise()).kernel_name(depthwise()) == (
        "grouped_conv_fwd_depthwise_fp16_ngchw_2d_8x8_f3_s1x1_p1x1_nb8_sub2x2_vec2_2"
    )


@pytest.mark.parametrize(
    ("sizes", "dtype", "text"),
    [
        (
            {},
            "fp16",
            "GroupedConvolutionForwardKernel<2,Default,Depthwise,2,2,2,64,8,8,3,3,1,1,8,2,2,fp16,fp16,fp32,fp16>",
        ),
        (
            {
                **{"tile_h": 16, "tile_w": 16, "filt": 5, "str_h": 2, "str_w": 2, "pad_h": 2, "pad_w": 2},
                **{"nbatch": 1, "sub_h": 1, "sub_w": 4, "in_vec": 8, "out_vec": 8},
            },
            "fp32",
            "GroupedConvolutionForwardKernel<2,Default,Depthwise,8,8,8,64,16,16,5,5,2,2,1,1,4,fp32,fp32,fp32,fp32>",
        ),
    ],
)
def test_instance_strings(sizes, dtype, text):
    instance = depthwise(dtype, **sizes)
    assert pipeline_of(instance).instance_string(instance) == text


def test_no_workspace_no_zeroing():
    text = flat(header(depthwise()))
    assert "hipMemset" not in text and "workspace" not in text
    assert "return launch_kernel(s, make_kernel(Kernel{}, Kernel::GridSize(kargs)" in text


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        ("filter", {"filt": 4}),
        ("vector-size", {"in_vec": 3, "sub_w": 3, "nbatch": 16}),
        ("sub-tile", {"sub_h": 9}),
        ("sub-tile", {"tile_h": 32, "tile_w": 32, "sub_h": 2, "sub_w": 2}),
        ("batch", {"nbatch": 6}),
        ("stride", {"str_w": 3, "in_vec": 1}),
        ("pad", {"pad_w": 0}),
        ("row-access", {"in_vec": 4, "out_vec": 1, "sub_w": 1, "sub_h": 4}),
        ("row-access", {"out_vec": 4}),
        (
            "lds",
            {
                **{"dtype": "fp32", "tile_h": 128, "tile_w": 128, "sub_h": 16, "sub_w": 16},
                **{"nbatch": 1, "in_vec": 4},
            },
        ),
    ],
)
def test_rules(rule, changes):
    assert broken(depthwise()) == []
    assert rule in broken(depthwise(**changes))


def test_layouts_and_waves_that_the_kernel_lacks():
    assert "layout" in broken(depthwise(layout="nhwgc"))
    assert "wave-size" in broken(depthwise(), arch="gfx1201")


USUAL = convolution("2 1 1 8 8 3 3 9 9 1 1 1 1 1 1 1 1")


@given(
    tile=st.sampled_from((8, 16, 32)),
    filt=st.sampled_from((3, 5, 7)),
    stride=st.sampled_from((1, 2)),
    nbatch=st.sampled_from((1, 2, 8, 12)),
    sub=st.sampled_from((1, 2, 4)),
)
def test_the_problem_of_an_instance_is_one_that_it_supports(tile, filt, stride, nbatch, sub):
    pad = (filt - 1) // 2
    instance = depthwise(
        tile_h=tile, tile_w=tile, filt=filt, str_h=stride, str_w=stride, pad_h=pad, pad_w=pad,
        nbatch=nbatch, sub_h=sub, sub_w=sub, in_vec=1, out_vec=1,
    )  # fmt: skip
    assume(not broken(instance))
    problem = pipeline_of(instance).default_problem(instance, USUAL)
    assert (problem.out_channels, problem.in_channels) == (1, 1)
    assert problem.filter == (filt, filt) and problem.strides == (stride, stride)
    assert problem.left_pads == problem.right_pads == (pad, pad)
    assert problem.batch % nbatch == 0
    if instance.tiles_per_wave > 1:
        assert max(problem.output) <= tile
