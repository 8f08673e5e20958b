"""Both forms of tables are read, and what is wrong with a table is said."""

import json
import random
from dataclasses import replace

import pytest

from ckprof.cli.main import main
from ckprof.errors import InputError, UsageError
from ckprof.model.gemm_work import KernelTraits, Reduction
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.problem import GemmProblem, MultiDProblem, StridedBatchProblem
from ckprof_plugins.pipelines.kernel_name import fields_of_name, traits_of_name
from ckprof_plugins.tuning.measured_tables import read_csv, read_tables
from ckprof_plugins.tuning.model_use import KernelKind, gemm_sizes_of
from ckprof_plugins.tuning.time_model.measurements import merged
from ckprof_plugins.tuning.time_model.program import form_of
from ckprof_plugins.tuning.time_model.selector import Selector
from ckprof_plugins.tuning.training import fit_model

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


KIND = KernelKind(direction="gemm", dtype="fp16")
SMALL, LARGE = (f"gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_{tile}_2x2x1_16x16x32"
                for tile in ("64x64x64", "256x256x64"))  # fmt: skip


class Secretive(GemmProblem):
    """A problem that kernel libraries get two sizes of."""

    def values(self):
        return self.m, self.n


def rounds(problem, tile):
    """Return microseconds of a device that computes 100 tiles at once, larger ones more efficiently."""
    tiles = -(-problem.m // tile) * -(-problem.n // tile)
    return 2.0 + -(-tiles // 100) * problem.k / 64 * (tile / 64) ** 2 * (1.0 if tile == 64 else 0.5)


def table(path, seed, count):
    draw = random.Random(seed)
    lines = [f"m,n,k,{SMALL},{LARGE}"]
    for _ in range(count):
        m, n, k = (64 * draw.randint(1, 64) for _ in range(3))
        problem = GemmProblem(m=m, n=n, k=k)
        lines.append(f"{m},{n},{k},{rounds(problem, 64):.3f},{rounds(problem, 256):.3f}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_columns_are_the_fields_of_problems(registry, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"k,m,n,stride_a,kernel,latency_ms,split_k\n100,64,48,104,{SMALL},0.5,2\n")
    found = read_tables(registry, (path,), KIND)
    assert found.problems == (GemmProblem(m=64, n=48, k=100, stride_a=104),)
    assert found.times == {(0, SMALL, 2): 500.0}
    assert found.kernels[SMALL].tile == (64, 64, 64)


def test_exported_columns_hold_problems_of_several_types(registry, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "kernel,problem_idx,direction,dtype,layout,m,n,k,stride_a,stride_b,stride_e,batch,elementwise_op,"
        "strides_d,split_k,latency_ms,tflops,non_zero\n"
        f"{SMALL},0,gemm,fp16,rcr,64,48,32,0,0,0,1,,,1,0.5,1,True\n"
        f'{LARGE},1,gemm,fp16,rcr,64,48,32,0,0,0,1,MultiDAdd,"[0,50]",1,0.7,1,True\n'
    )
    found = read_tables(registry, (path,), KIND)
    sizes = {"m": 64, "n": 48, "k": 32}
    assert found.problems == (
        GemmProblem(**sizes),
        MultiDProblem(**sizes, elementwise_op=ElementwiseOp.MULTI_D_ADD, strides_d=(0, 50)),
    )
    assert found.times == {(0, SMALL, 1): 500.0, (1, LARGE, 1): 700.0}
    path.write_text(path.read_text().replace("64,48,32,0,0,0,1,,,", "64,0,32,0,0,0,1,,,"))
    found = read_tables(registry, (path,), KIND)
    (why,) = found.dropped
    assert why.startswith("t.csv:2: n is 0, expected 1") and set(found.kernels) == {LARGE}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("m,n,kernel,latency_ms\n1,2,x,3\n", "no column k; expected m,n,k and times"),
        (f"m,n,k,{SMALL}\n0,1,1,2\n", ":2: m is 0, expected 1"),
        (f"m,n,k,{SMALL}\n1,x,1,2\n", ":2: n is 'x', expected a whole number"),
        ("m,n,k,Ho\n1,1,1,2\n", "it holds no measured time"),
        ("m,n,k,colour\n1,1,1,2\n", "'colour' is neither a problem's column nor a kernel"),
    ],
)
def test_wrong_tables_of_products(registry, tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_tables(registry, (path,), KIND)


def test_a_model_chooses_among_kernels_of_matrix_products(tmp_path, capsys):
    train = table(tmp_path / "train.csv", 1, 40)
    unseen = table(tmp_path / "unseen.csv", 2, 20)
    model = tmp_path / "model.json"
    options = ["--direction", "gemm", "--dtype", "fp16", "--compute-units", "100", "-o", str(model)]
    assert main(["train", str(train), *options]) == 0
    assert json.loads(model.read_text())["direction"] == "gemm"
    capsys.readouterr()
    assert main(["validate", str(model), str(unseen), "--format", "json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    # neither kernel is the best one of all problems
    assert judged["best_single"]["mean"] < 0.95 < judged["mean"]


def test_written_programs_predict_what_the_formulas_say(registry, tmp_path):
    found = read_tables(registry, (table(tmp_path / "train.csv", 1, 20),), KIND)
    sizes = gemm_sizes_of(registry, "gemm", "fp16")
    model = fit_model(found, sizes, replace(KIND, compute_units=9))
    selector = Selector(model, found.kernels, sizes)
    assert selector.program_of_form(form_of(GemmProblem(m=1, n=1, k=1))).cpp_inputs(by_values=True)[2] == (
        "const double k = static_cast<double>(problem.values[2]);"
    )
    with pytest.raises(UsageError, match=r"Secretive\.values\(\) does not have k, stride_a, .*batch"):
        selector.program_of_form(form_of(Secretive(m=1, n=1, k=1))).cpp_inputs(by_values=True)
    plain = {"m": 640, "n": 320, "k": 1280}
    problems = [
        GemmProblem(**plain),
        GemmProblem(**plain, batch=3),
        StridedBatchProblem(**plain, batch=3, batch_stride_a=10**6),
        *(
            MultiDProblem(**plain, elementwise_op=ElementwiseOp.MULTI_D_ADD, strides_d=(0,) * count)
            for count in (1, 2)
        ),
    ]
    times = []
    for problem in problems:
        predictions = {one.kernel: one.time_us for one in selector.rank(problem)}
        expected = {name: model.time_us(kernel, sizes(problem), 1) for name, kernel in model.kernels.items()}
        assert predictions == pytest.approx(expected)
        assert selector.best(problem)[0] == min(expected, key=expected.__getitem__)
        times.append(min(expected.values()))
    # a batch is more work, and so is each D tensor
    assert times[1] == times[2] > times[0]
    assert times[0] <= times[3] <= times[4] != times[0]
