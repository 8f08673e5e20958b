"""Results as a table of the tile engine's benchmark, and read again."""

from collections import Counter
from dataclasses import replace

from ckprof.model.outcome import Status
from ckprof.store.query import StoreQuery
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.kernel_name import traits_of_name
from ckprof_plugins.tuning.benchmark_table import FORMAT
from ckprof_plugins.tuning.measured_tables import read_csv
from tests.store.samples import make_attempt, make_key, make_problem, make_store

NAME = "grouped_conv_fwd_bf16_nhwgc_2d_compv{}_cshuffle_intrawave_64x64x64_4x1x1_16x16x16"
HEADER = "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,non_zero"


def named(attempt, number):
    return replace(attempt, kernel=replace(attempt.kernel, name=NAME.format(number)))


def test_what_is_written_is_read_again(tmp_path):
    usual = make_problem(
        groups=2, filter=(3, 3), input=(8, 9), strides=(2, 1), left_pads=(1, 0), right_pads=(1, 0)
    )
    uneven = make_problem(filter=(3, 3), left_pads=(1, 0))
    path = tmp_path / "sweep.csv"
    with make_store(
        named(make_attempt(3, 0, 1.5, problem=usual), 3),
        named(make_attempt(4, 1, 0.5, problem=usual), 4),
        named(make_attempt(5, 2, status=Status.WRONG_RESULT, problem=usual), 5),
        named(make_attempt(3, 3, problem=uneven), 3),
        named(make_attempt(3, 4, problem=make_problem(ndim=3)), 3),
        named(make_attempt(3, 5, key=make_key(3, usual, split_k=4)), 3),
    ) as store:
        result = FORMAT.write(store, StoreQuery(), path)
    assert result.rows == 2
    assert result.left_out == Counter(
        {
            "wrong_result": 1,
            "a dilation, or pads that differ on both sides": 1,
            "no 2D convolution": 1,
            "a split reduction": 1,
        }
    )
    lines = path.read_text().splitlines()
    assert lines[0] == HEADER
    # 2 images, 2 groups of 8 channels in and 16 out; 4x7 pixels, 3x3 filter
    flop = 2 * 2 * 2 * 16 * 8 * (4 * 7) * (3 * 3)
    assert lines[1] == f"{NAME.format(3)},0,2,16,32,2,8,9,3,3,2,1,1,0,1.5,{flop / 1.5e9:.6g},True"
    again = read_csv(path, traits_of_name, (ConvProblem,))
    assert again.problems == (usual,)
    assert again.times == {(0, NAME.format(3), 1): 1500.0, (0, NAME.format(4), 1): 500.0}
