"""Both forms of tables are read, and what is wrong with a table is said."""

import pytest

from ckprof.errors import InputError
from ckprof.model.gemm_work import KernelTraits, Reduction
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.kernel_name import fields_of_name, traits_of_name
from ckprof_plugins.tuning.measured_tables import read_csv
from ckprof_plugins.tuning.time_model.measurements import merged

HEAD = "N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w"


def read(tmp_path, text):
    path = tmp_path / "times.csv"
    path.write_text(text)
    return read_csv(path, traits_of_name, (ConvProblem,))


def test_the_measured_tables(table_20, table_30):
    assert (len(table_20.kernels), len(table_30.kernels)) == (20, 30)
    # of the 188 rows, three repeat an earlier problem
    assert (len(table_20.problems), len(table_30.problems)) == (185, 86)
    assert table_20.arch == table_30.arch == "gfx950"
    first = table_30.problems[0]
    assert (first.batch, first.in_channels, first.out_channels, first.input) == (1, 166, 1328, (64, 64))
    assert table_30.rows[0]["16x64x64_compv3", 1] == 24.424
    assert table_30.kernels["32x128x64_compv4"] == KernelTraits(
        tile=(32, 128, 64), lds_stages=2, workgroups_per_unit=1, labels=("compv4",)
    )


def test_glitches_are_left_out_and_named(table_20, table_30):
    clean = table_20.without_glitches()
    assert len(clean.dropped) == 4
    assert all("is a glitch" in line for line in clean.dropped)
    assert max(clean.times.values()) < max(table_20.times.values()) or len(clean.times) < len(table_20.times)
    assert table_30.without_glitches().times == table_30.times


def test_what_is_slow_for_kernels_that_work_alike_is_no_glitch(tmp_path):
    usual = [f"7,64,64,1,{size},{size},1,1,1,1,0,0,10,10,10,10,10" for size in range(4, 16)]
    lines = [HEAD + "".join(f",{m}x64x64_compv3" for m in (16, 32, 64, 128, 256))]
    table = read(tmp_path, "\n".join([*lines, *usual, "7,64,64,1,3,3,1,1,1,1,0,0,10,10,10,99,10"]))
    assert len(table.without_glitches().dropped) == 1
    table = read(tmp_path, "\n".join([*lines, *usual, "7,64,64,1,3,3,1,1,1,1,0,0,10,10,10,99,80"]))
    assert table.without_glitches().dropped == ()
    # a time that is too short is one, too, unless another one is about as short
    table = read(tmp_path, "\n".join([*lines, *usual, "7,64,64,1,3,3,1,1,1,1,0,0,10,10,10,1,10"]))
    (line,) = table.without_glitches().dropped
    assert line.startswith("128x64x64_compv3 on ")
    table = read(tmp_path, "\n".join([*lines, *usual, "7,64,64,1,3,3,1,1,1,1,0,0,10,10,10,1,2"]))
    assert table.without_glitches().dropped == ()


def test_of_several_times_the_median_counts(tmp_path):
    row = "7,64,64,1,4,4,1,1,1,1,0,0"

    def time_of(*times):
        table = read(tmp_path, "\n".join([f"{HEAD},64x64x64_compv3", *(f"{row},{time}" for time in times)]))
        (time,) = table.times.values()
        return time

    assert time_of(10, 12) == 11
    assert time_of(11, 2, 10.5) == 10.5
    assert time_of(10, 11, 13, 700) == 11
    # of two that differ by so much, the longer one was disturbed
    assert time_of(10, 95) == 10
    tables = [read(tmp_path, f"{HEAD},64x64x64_compv3\n{row},{time}\n") for time in (10, 14, 11)]
    assert list(merged(tuple(tables)).times.values()) == [11]


def test_one_row_per_measurement(tmp_path):
    head = f"kernel,problem_idx,{HEAD},latency_ms,tflops,non_zero,split_k"
    problem = "2,64,128,2,28,28,3,3,1,1,1,1"
    table = read(
        tmp_path,
        f"{head}\n"
        f"fwd_64x64x64_compv3_x,0,{problem},0.125,1,True,1\n"
        f"fwd_64x64x64_compv3_x,0,{problem},0.25,1,True,4\n"
        f"fwd_64x64x64_compv3_x,0,{problem},0.120,1,True,1\n"
        f"fwd_64x64x64_compv4_x,0,{problem},0.01,1,False,1\n",
    )
    (only,) = table.problems
    assert (only.groups, only.in_channels, only.out_channels) == (2, 32, 64)
    # a kernel that wrote zeros is none
    assert table.times == {(0, "fwd_64x64x64_compv3_x", 1): 122.5, (0, "fwd_64x64x64_compv3_x", 4): 250.0}
    assert table.dropped == ("times.csv:5: fwd_64x64x64_compv4_x wrote nothing but zeros: a wrong result",)


#: a row of the tile engine's table behind the kernel's name
TILE_ENGINE = "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,non_zero"
PROBLEM = "0,8,64,64,1,56,56,3,3,1,1,1,1"
NAME = "grouped_conv_fwd_bf16_nhwgc_2d_{}_cshuffle_intrawave_64x64x64_4x1x1_16x16x16"


def test_names_of_the_table_of_variants(tmp_path):
    spelled = {"basic_v1": "compv1", "basic_v2": "compv2", "basic_async_v1": "", "comp_async": "", "mem": ""}
    spelled |= {f"compv{n}": "" for n in (3, 4, 5, 6)}
    names = [NAME.format(name) + suffix for name in spelled for suffix in ("", "_dsb", "_si", "_dsb_si")]
    rows = "".join(f"{name},{PROBLEM},0.5,1.0,1024\n" for name in names)
    table = read(tmp_path, f"{TILE_ENGINE}\n{rows}")
    assert [*table.kernels] == names
    assert not table.dropped
    for name, traits in table.kernels.items():
        pipeline = next(known for known in sorted(spelled, key=len, reverse=True) if f"_{known}_" in name)
        assert traits.labels[0] == (spelled[pipeline] or pipeline)
        # what differs in a suffix is another kernel
        assert sum(other == traits for other in table.kernels.values()) == 1
        fields = fields_of_name(name)
        assert fields is not None
        assert fields["double_smem_buffer"] is ("_dsb" in name)
        assert fields.get("store_immediate") is (True if name.endswith("_si") else None)


def test_a_row_that_cannot_be_read_costs_no_other(tmp_path):
    name = NAME.format("compv3")
    table = read(
        tmp_path,
        f"{TILE_ENGINE}\n"
        f"{name},{PROBLEM},0.5,1.0,1024\n"
        f"{name},{PROBLEM},fast,1.0,1024\n"
        f"some_other_kernel,{PROBLEM},0.5,1.0,1024\n"
        f"{name},0,8,64\n"
        f'"{name},{PROBLEM},0.5,1.0,1024\n'
        f"{name},{PROBLEM.replace('64', '0', 1)},0.5,1.0,1024\n"
        f"{name},{PROBLEM},0.25,1.0,0\n",
    )
    assert table.times == {(0, name, 1): 500.0}
    assert [line.split(": ")[0] for line in table.dropped] == [
        f"times.csv:{number}" for number in (5, 6, 3, 4, 7, 8)
    ]
    assert "'fast', expected a time" in table.dropped[2]
    assert table.dropped[-1].endswith("wrote nothing but zeros: a wrong result")


def test_three_dimensions_and_missing_columns(tmp_path):
    table = read(tmp_path, "N,C,K,G,Di,Hi,Wi,Z,Y,X,64x64x64_compv3\n1,8,8,1,4,6,8,3,3,3,9.5\n")
    (only,) = table.problems
    assert (only.input, only.filter, only.strides) == ((4, 6, 8), (3, 3, 3), (1, 1, 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("N,C\n1,2\n", ":1: no column K, G"),
        (f"{HEAD},64x64x64_compv3\n1,2,3\n", ":2: 3 values, expected 13"),
        (f"{HEAD},64x64x64_compv3\n1,8,8,1,8,8,1,1,1,1,0,0,fast\n", ":2: 64x64x64_compv3 is 'fast'"),
        (f"{HEAD},64x64x64_compv3\n1,8,8,1,8,8,1,1,1,1,0,0,-1\n", "expected a positive time"),
        (f"{HEAD},64x64x64_compv3\n1,8,8,3,8,8,1,1,1,1,0,0,1\n", "not a multiple of G = 3"),
        (f"{HEAD},64x64x64_compv3\n1,8,8,1,1,1,3,3,1,1,0,0,1\n", ":2: the output is empty"),
        (f"{HEAD},64x64x64_compv3\nx,8,8,1,1,1,3,3,1,1,0,0,1\n", ":2: N is 'x'"),
        (f"{HEAD},speed\n1,8,8,1,8,8,1,1,1,1,0,0,1\n", "'speed' is neither"),
        (f"{HEAD},64x64x64_compv3\n1,8,8,1,8,8,1,1,1,1,0,0,\n", "it holds no measured time"),
        (f"{HEAD},64x64x64_compv3,64x64x64_compv3\n", "occurs twice"),
    ],
)
def test_wrong_tables(tmp_path, text, message):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_a_name_tells_two_stages_and_two_buffers():
    plain = traits_of_name("mem_intrawave_64x32x16_2x1x1_16x16x32_v8_8_8")
    buffered = traits_of_name("mem_intrawave_64x32x16_2x1x1_16x16x32_v8_8_8_dsb")
    staged = traits_of_name("compv1_intrawave_64x32x16_2x1x1_16x16x32_v8_8_8_2stage")
    assert plain is not None
    assert buffered is not None
    assert staged is not None
    assert (plain.lds_stages, plain.workgroups_per_unit, plain.reduction) == (1, 2, Reduction.ATOMIC)
    assert (buffered.lds_stages, buffered.workgroups_per_unit) == (2, 1)
    assert staged.reduction is Reduction.WORKSPACE
