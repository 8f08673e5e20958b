"""Tables of measured times of an operation that is no convolution: columns, and models of them."""

import json
import random
from dataclasses import replace

import pytest

from ckprof.cli.main import main
from ckprof.errors import InputError, UsageError
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.problem import GemmProblem, MultiDProblem, StridedBatchProblem
from ckprof_plugins.tuning.measured_tables import read_tables
from ckprof_plugins.tuning.model_use import KernelKind, gemm_sizes_of
from ckprof_plugins.tuning.time_model.program import form_of
from ckprof_plugins.tuning.time_model.selector import Selector
from ckprof_plugins.tuning.training import fit_model

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
def test_wrong_tables(registry, tmp_path, text, message):
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
