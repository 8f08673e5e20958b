"""Kernel libraries in other programs: a C program, numpy arrays, forked children."""

import json
import os
import shutil
import subprocess

import numpy as np
import pytest

from ckprof import ConvLibrary
from ckprof.cli.main import main
from ckprof.errors import InputError, UsageError
from ckprof.kernels.c_interface import ABI_INCLUDE_DIR
from ckprof.measure.kernel_library import Timing
from ckprof.measure.verify.storage import decode, encode
from ckprof_plugins.directions._convolution.direction import EMBED_DIR
from ckprof_plugins.directions._convolution.layout import find_layout, tensor_shape
from ckprof_plugins.directions.bwd_weight import BackwardWeight
from ckprof_plugins.directions.fwd import Forward
from tests.convolutions import convolution

from .c_interface import ConvBwdwProblemC, ConvProblemC, CTiming, load
from .conftest import HAND, LAYOUT, LINE, PROBLEM

C_COMPILER = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
C_PROGRAM = os.path.join(os.path.dirname(__file__), "user.c")  # noqa: PTH118, PTH120

pytestmark = pytest.mark.compiler


def operands_of(problem, layout=LAYOUT):
    draw = np.random.default_rng(1)
    return {
        name: draw.uniform(-1, 1, tensor_shape(problem, layout, name)).astype(np.float32)
        for name in ("input", "weight")
    }


def reference_of(problem, operands, layout=LAYOUT):
    doubles = {name: values.astype(np.float64) for name, values in operands.items()}
    return Forward().reference(problem, layout, doubles)


@pytest.fixture
def library(fwd_library):
    return ConvLibrary(fwd_library)


@pytest.fixture
def fp32_2d(library):
    (kernel,) = (k for k in library.kernels if k.ndim == 2 and k.dtype.value == "fp32")
    return kernel


@pytest.mark.thorough
@pytest.mark.skipif(C_COMPILER is None, reason="no C compiler found")
def test_a_c_program(fwd_library, fp32_2d, library, tmp_path):
    program = tmp_path / "user"
    flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{EMBED_DIR}", f"-I{ABI_INCLUDE_DIR}")
    subprocess.run([C_COMPILER, *flags, C_PROGRAM, "-o", program, "-ldl"], check=True)
    operands = operands_of(PROBLEM)
    given, computed = tmp_path / "given", tmp_path / "computed"
    given.write_bytes(operands["input"].tobytes() + operands["weight"].tobytes())
    done = subprocess.run(
        [program, fwd_library, fp32_2d.name, given, computed], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [kernel.name for kernel in library.kernels]
    output = np.fromfile(computed, dtype=np.float32).reshape(tensor_shape(PROBLEM, LAYOUT, "output"))
    np.testing.assert_allclose(output, reference_of(PROBLEM, operands), rtol=1e-5, atol=1e-5)


def test_what_a_library_says(library):
    assert (library.direction, library.arch, library.version) == ("fwd", "gfx942", "2.0.0")
    assert library.tensors == ("input", "weight", "output")
    assert sorted((k.ndim, k.dtype.value, k.layout.name) for k in library.kernels) == [
        *((1, "bf16", "nwgc"), (1, "fp32", "nwgc")),
        *((2, "bf16", "nhwgc"), (2, "fp32", "nhwgc")),
    ]
    for kernel in library.kernels:
        assert kernel.fields["tile_m"] == 32 and kernel.fields["name"] == kernel.name
        assert library.kernel(kernel.name) == library.kernel(kernel.key[:12]) == kernel
        assert library.instance_string(kernel).startswith("GroupedConvolutionForwardKernel<")


def test_fp32(library, fp32_2d):
    operands = operands_of(PROBLEM)
    result = library.run(PROBLEM, operands, fp32_2d, timing=Timing(warmup=1, repeat=3, median=True))
    assert result.time_ms > 0 and result.tflops > 0 and result.output.dtype == np.float32
    np.testing.assert_allclose(result.output, reference_of(PROBLEM, operands), rtol=1e-5, atol=1e-5)


def test_bf16_values_and_words(library):
    (kernel,) = (k for k in library.kernels if k.ndim == 2 and k.dtype.value == "bf16")
    operands = operands_of(PROBLEM)
    words = {name: encode(values, kernel.dtype) for name, values in operands.items()}
    result = library.run(PROBLEM, operands, kernel)
    rounded = {name: decode(raw, kernel.dtype) for name, raw in words.items()}
    # gfx942 cuts what does not fit into bf16 off
    np.testing.assert_allclose(result.output, reference_of(PROBLEM, rounded), rtol=2**-7, atol=1e-5)
    np.testing.assert_array_equal(library.run(PROBLEM, words, kernel).output, result.output)


def test_one_dimension_and_pads_that_differ(library):
    layout = find_layout("nwgc")
    problem = convolution("1 1 2 5 3 3 8 1 2 3 0")
    operands = operands_of(problem, layout)
    result = library.run(problem, operands)
    assert result.kernel.ndim == 1
    expected = reference_of(problem, operands, layout)
    np.testing.assert_allclose(result.output, expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (UsageError, "kernel 99: the library has 4", {"kernel": 99}),
        (UsageError, "unknown kernel 'x'", {"kernel": "x"}),
        (InputError, "split_k", {"kernel": "fp32", "split_k": 2}),
        (UsageError, "operand weight is missing", {"kernel": "fp32", "drop": "weight"}),
        (UsageError, "bias: fwd kernels read input and weight", {"kernel": "fp32", "add": "bias"}),
        (InputError, "input has shape", {"kernel": "fp32", "shape": (1, 2)}),
        (InputError, "expected floating-point values", {"kernel": "fp32", "type": np.int32}),
        (InputError, "no kernel of libckprof_conv_fwd.so supports", {"split_k": 2}),
    ],
)
def test_wrong_calls(error, message, call, library, fp32_2d):
    operands = operands_of(PROBLEM)
    if "drop" in call:
        del operands[call.pop("drop")]
    if "add" in call:
        operands[call.pop("add")] = operands["input"]
    if "shape" in call:
        operands["input"] = np.zeros(call.pop("shape"), np.float32)
    if "type" in call:
        operands["input"] = operands["input"].astype(call.pop("type"))
    if call.get("kernel") == "fp32":
        call["kernel"] = fp32_2d
    with pytest.raises(error, match=message):
        library.run(PROBLEM, operands, **call)


def test_nothing_is_loaded_before_it_is_needed(tmp_path):
    library = ConvLibrary(tmp_path / "none.so")
    with pytest.raises(InputError, match="not a kernel library of ckprof"):
        library.kernels  # noqa: B018


def test_a_forked_child_has_a_library_of_its_own(library, fp32_2d):
    operands = operands_of(PROBLEM)
    before = library.run(PROBLEM, operands, fp32_2d).output
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, library.run(PROBLEM, operands, fp32_2d).output.tobytes())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        received = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    assert received == before.tobytes()


def test_structs_are_those_of_the_header():
    header = (EMBED_DIR / "ckprof_conv_api.h").read_text()
    header += BackwardWeight.dispatcher_form.header.read_text()
    for mirror, end in (
        (ConvProblemC, "} ConvProblemC;"),
        (ConvBwdwProblemC, "} ConvBwdwProblemC;"),
        (CTiming, "} ckprof_conv_timing;"),
    ):
        body = header[: header.index(end)].rpartition("{")[2]
        plain = " ".join(line.partition("/*")[0] for line in body.splitlines())
        declared = [
            name.split()[-1]
            for names in plain.replace("int ", "").replace("size_t ", "").split(";")
            for name in names.split(",")
            if name.strip()
        ]
        assert declared == [name for name, _ in mirror._fields_]


@pytest.mark.slow
@pytest.mark.parametrize(("direction", "split_k"), [("bwd_data", 1), ("bwd_weight", 4)])
def test_other_directions(direction, split_k, tmp_path, cache, capsys):
    arguments = ["build", direction, *HAND, "--dtype", "fp32", "--build-dir", str(tmp_path)]
    assert main(arguments) == 0
    capsys.readouterr()
    path = tmp_path / f"libckprof_conv_{direction}.so"
    assert main(["call", direction, str(path), "--problem", LINE, "--split-k", str(split_k)]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["verified"] and answer["split_k"] == split_k
    binary = load(path)
    expected = (direction == "bwd_data", direction == "bwd_weight")
    assert (binary.conv_dispatcher_has_bwd_data(), binary.conv_dispatcher_has_bwd_weight()) == expected
    assert hasattr(binary, "conv_bwdw_init") == (direction == "bwd_weight")
    if direction == "bwd_weight":
        check_older_interface(binary)


def check_older_interface(binary):
    assert binary.conv_bwdw_version() == b"1.0.0" and binary.conv_bwdw_init() == 0
    assert binary.conv_bwdw_has_kernels() == binary.conv_bwdw_get_kernel_count() == 1
    draw = np.random.default_rng(3)
    shapes = {name: tensor_shape(PROBLEM, LAYOUT, name) for name in ("input", "weight", "output")}
    x, dy = (draw.uniform(-1, 1, shapes[name]).astype(np.float32) for name in ("input", "output"))
    dw = np.zeros(shapes["weight"], np.float32)
    sizes = (2, 2, 6, 8, 1, 9, 7, 1, 3, 3, 1, 2, 1, 0, 1, 1, 1, 1, 1, 2)
    pointers = (x.ctypes.data, dy.ctypes.data, dw.ctypes.data)
    assert binary.conv_bwdw_run(*pointers, ConvBwdwProblemC(*sizes), None) > 0
    expected = BackwardWeight().reference(
        PROBLEM, LAYOUT, {"input": x.astype(float), "output": dy.astype(float)}
    )
    np.testing.assert_allclose(dw, expected, rtol=1e-4, atol=1e-4)
    assert binary.conv_bwdw_run(None, *pointers[1:], ConvBwdwProblemC(*sizes), None) == -1
    binary.conv_bwdw_cleanup()
