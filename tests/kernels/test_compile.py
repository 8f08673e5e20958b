"""Generated sources under a real compiler, against the host model."""

import ctypes
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import ckprof_plugins
from ckprof.kernels.build_dir import BuildDir
from ckprof.kernels.c_interface import ABI_INCLUDE_DIR
from ckprof.kernels.source_tree import generate_tree
from ckprof.measure.worker.abi import ABI_VERSION, AbiStatus, CBuffers, CLibrary, CProblem, Kernel, Support
from ckprof_plugins.directions._convolution.layout import find_layout, tensor_shape
from ckprof_plugins.directions.fwd import Forward
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from tests.candidates import candidates_of
from tests.convolutions import convolution
from tests.places import cxx

pytestmark = pytest.mark.compiler

CPU = Path(ckprof_plugins.__path__[0]) / "targets" / "cpu"
FLAGS = (
    *("-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"),
    *(f"-I{folder}" for folder in (CPU / "include", ABI_INCLUDE_DIR)),
)

#: A target that offers nothing: the tests hand their own memory to the kernels.
TARGET = """
#include "ckprof_target.h"
extern "C" const ckprof_target* ckprof_target_table(void)
{
    static const ckprof_target table = {"test", 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    return &table;
}
"""

PIPELINE = ImplicitGemmPipeline()
DOUBLED = ("compv4", "comp_async", "comp_tdm", "comp_tdm_v2")

#: A small instance; the problem below has 32 channels on both sides.
SMALL = {
    **{"dtype": "fp32", "tile_m": 32, "tile_n": 32, "tile_k": 16, "warp_m": 1, "warp_n": 1},
    **{"warp_tile_k": 4, "vector_size_a": 1, "vector_size_b": 1, "vector_size_c": 1},
}

PROBLEM = convolution("2 2 2 8 12 3 2 7 6 2 1 1 2 1 0 0 2")


def compile_(*arguments):
    command = [cxx(), *FLAGS, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr


def generate(root, instances):
    return generate_tree(
        BuildDir(
            root=root,
            direction=Forward(),
            target=None,
            arch="gfx942",
            recipe=SimpleNamespace(api_level="2026-06", target=""),
        ),
        candidates_of(instances, {PIPELINE.id: PIPELINE}),
    )


def test_every_gemm_pipeline_compiles_without_warning(tmp_path, make_instance):
    instances = [
        make_instance(pipeline=name, double_smem_buffer=name in DOUBLED, **changes)
        for name, changes in {
            "compv1": {"layout": "nwgc", "specialization": "filter3x3"},
            "compv2": {"scheduler": "interwave"},
            "mem": {"layout": "ndhwgc", "scheduler": "interwave", "dtype": "fp16"},
            "compv3": {"specialization": "filter1x1_stride1_pad0", "explicit_gemm": True},
            "compv4": {"specialization": "filter1x1_pad0"},
            "compv5": {"warp_m": 1, "num_wave_groups": 2},
            "compv6": {"num_groups_to_merge": 8},
            "comp_async": {"split_image": True},
            "comp_tdm": {"epilogue": "tdm", "warp_tile_k": 32},
            "comp_tdm_v2": {"epilogue": "tdm", "layout": "ndhwgc"},
            "basic_async_v1": {"dtype": "fp32"},
            "wavelet": {},
        }.items()
    ]
    tree = generate(tmp_path, instances)
    # One translation unit for all: that saves time and shows that headers can meet.
    everything = tmp_path / "everything.cpp"
    everything.write_text("".join(f'#include "{kernel.entry}"\n' for kernel in tree.kernels))
    compile_("-fsyntax-only", everything)


@pytest.fixture(scope="module")
def library(tmp_path_factory, make_instance, host_model_objects):
    """Build a library of two of three kernels; return it with the tree."""
    root = tmp_path_factory.mktemp("library")
    tree = generate(root, [make_instance(**SMALL, pipeline=name) for name in ("compv3", "mem", "compv1")])
    linked = (tree.kernels[0], tree.kernels[2])
    target = root / "target.cpp"
    target.write_text(TARGET)
    table = tree.write_library_source([kernel.symbol for kernel in linked])
    path = root / "library.so"
    sources = (table, target, *(kernel.entry for kernel in linked), *host_model_objects)
    compile_(
        "-O1", "-march=native", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden", *sources, "-o", path
    )
    loaded = ctypes.CDLL(str(path))
    loaded.ckprof_get_library.restype = ctypes.POINTER(CLibrary)
    return loaded.ckprof_get_library().contents, linked


def text_of(buffer):
    return buffer.value.decode()


def test_table(library):
    table, linked = library
    assert table.abi_version == ABI_VERSION
    assert table.kernel_count == 2
    assert table.target.contents.id == b"test"
    rows = [table.kernels[index].contents for index in range(2)]
    assert [row.key.decode() for row in rows] == [kernel.instance.key for kernel in linked]
    assert [row.name.decode() for row in rows] == [kernel.name for kernel in linked]
    assert not table.kernels[2]


def test_instance_strings(library):
    table, linked = library
    for index, kernel in enumerate(linked):
        text = ctypes.create_string_buffer(4096)
        assert table.kernels[index].contents.instance_string(text, len(text)) == 0
        assert text_of(text) == PIPELINE.instance_string(kernel.instance)
        short = ctypes.create_string_buffer(10)
        assert table.kernels[index].contents.instance_string(short, len(short)) == 0
        assert text_of(short) == "GroupedCo"


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("time_it", [0, 1])
def test_runs(library, index, time_it):
    table, _ = library
    kernel = table.kernels[index].contents
    layout = find_layout("nhwgc")
    random = np.random.default_rng(1)
    tensors = {
        name: random.integers(-4, 5, tensor_shape(PROBLEM, layout, name)).astype(np.float32)
        for name in ("input", "weight")
    }
    output = np.full(tensor_shape(PROBLEM, layout, "output"), np.nan, np.float32)
    problem = CProblem.of(PROBLEM, 1)
    reason = ctypes.create_string_buffer(256)
    assert Kernel(kernel).is_supported(problem) == Support(status=AbiStatus.OK, split_k=1)
    buffers = CBuffers.of(tensors["input"].ctypes.data, tensors["weight"].ctypes.data, output.ctypes.data)
    time_ms = ctypes.c_double(-1)
    status = kernel.run(problem, buffers, time_it, time_ms, reason, len(reason))
    assert (status, text_of(reason)) == (0, "")
    # Small whole numbers: every sum is exact.
    expected = Forward().reference(
        PROBLEM, layout, {name: values.astype(np.float64) for name, values in tensors.items()}
    )
    np.testing.assert_array_equal(output, expected)
    assert (time_ms.value > 0) == bool(time_it)


@pytest.mark.parametrize(
    ("change", "status", "condition", "words"),
    [
        ({"split_k": 0}, 1, "split-k", "split_k = 0"),
        ({"split_k": -1}, 1, "split-k", "split_k = -1: a forward kernel does not split"),
        ({"split_k": 2}, 1, "split-k", "split_k = 2: a forward kernel does not split"),
        ({"ndim": 3}, 1, "dimensions", "a kernel for 2D problems, this one is 3D"),
        ({"ndim": 9}, 2, "exception", "1, 2 or 3"),
        ({"values": (1, 1, 1, 0)}, 1, "problem", "C = 0 is less than 1"),
    ],
)
def test_rejections(library, change, status, condition, words):
    kernel = library[0].kernels[0].contents
    problem = CProblem.of(PROBLEM, 1)
    for name, value in change.items():
        if name == "values":
            problem.values[: len(value)] = value
        else:
            setattr(problem, name, value)
    reason = ctypes.create_string_buffer(256)
    support = Kernel(kernel).is_supported(problem)
    assert support.status == status
    assert support.unmet_requirements[0].rule == condition
    assert words in support.unmet_requirements[0].message
    answer = support.unmet_requirements[0].message
    time_ms = ctypes.c_double(-1)
    assert kernel.run(problem, CBuffers(), 0, time_ms, reason, len(reason)) == status
    assert text_of(reason) == answer
