"""Operations for Inductor, instantiated with real headers: each says the name that its list has.

Needs a clang for AMD GPUs (``$HIPCXX``), HIP's headers, and in ``$CK_BUILDER_ROOT`` the tree that
``python -m ckprof_plugins.targets.hip.fetch 2025-11`` brings.
"""

import os
import random
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import ckprof_converters
from ckprof_plugins.consumers.audit import kernel_lists
from ckprof_plugins.consumers.inductor.lists import convolutions_of, library_lists

pytestmark = [pytest.mark.amd, pytest.mark.timeout(1500)]

#: what torch's sources declare
HEAD = """
#include <cstdio>
#include "ck/ck.hpp"
#include "ck/utility/data_type.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_grouped_conv_fwd_multiple_abd_xdl_cshuffle_v3.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_gemm_multiple_d_xdl_cshuffle_v3.hpp"
#include "ck/tensor_operation/gpu/device/impl/device_batched_gemm_multiple_d_xdl_cshuffle_v3.hpp"
using namespace ck::tensor_layout::convolution;
using namespace ck::tensor_operation::device;
using Row = ck::tensor_layout::gemm::RowMajor;
using Col = ck::tensor_layout::gemm::ColumnMajor;
template <ck::index_t... Is> using S = ck::Sequence<Is...>;
template <typename... Ts> using Tuple = ck::Tuple<Ts...>;
using PassThrough = ck::tensor_operation::element_wise::PassThrough;
using F16 = ck::half_t; using F32 = float; using BF16 = ck::bhalf_t;
using BlockGemmPipelineScheduler = ck::BlockGemmPipelineScheduler;
using GemmSpecialization = ck::tensor_operation::device::GemmSpecialization;
using BlockGemmPipelineVersion = ck::BlockGemmPipelineVersion;
using ConvolutionForwardSpecialization = ck::tensor_operation::device::ConvolutionForwardSpecialization;
int main()
{
"""
#: nothing is run on a device
STUBS = """
void* __attribute__((visibility("hidden"))) __hip_gpubin_handle_;
char __attribute__((visibility("hidden"))) __hip_fatbin_[8];
void* __hipRegisterFatBinary(void* p) { static void* handle; (void)p; return &handle; }
void __hipRegisterFunction(void) {}
void __hipUnregisterFatBinary(void) {}
"""


def arguments(operation):
    """Return the template arguments as torch writes them."""
    texts = []
    for name, value in operation.dict_items():
        if isinstance(value, tuple):
            texts.append(f"{'Tuple' if 'ds' in name else 'S'}<{', '.join(map(str, value))}>")
        elif value is not None:
            texts.append(str(value))
    return ", ".join(texts)


def products(library, kind, count):
    listed = list(library_lists(library, kind)[0])
    plain = [one for one in listed if {one.a_element_dtype, one.b_element_dtype} <= {"F16", "BF16"}]
    for one in random.Random(count).sample(plain, count):
        # torch writes one number per tensor of the epilogue
        width = one.c_shuffle_block_transfer_scalar_per_vector_n_per_block
        width = width if isinstance(width, tuple) else (width,)
        yield replace(one, c_shuffle_block_transfer_scalar_per_vector_n_per_block=width)


def expected(operation, name):
    """Return the beginning of what a product prints."""
    padding = operation.gemm_specialization.partition("::")[2]
    layouts = "".join(one[0] for one in (operation.a_layout, operation.b_layout, operation.c_layout))
    tile = f"{operation.m_per_block}x{operation.n_per_block}x{operation.k_per_block}"
    vectors = (
        operation.a_block_transfer_src_scalar_per_vector,
        operation.b_block_transfer_src_scalar_per_vector,
    )
    return (
        f"{name}<{padding}, {layouts}> BlkSize: {operation.block_size}, BlkTile: {tile}, "
        f"WaveTile: {operation.m_per_xdl}x{operation.n_per_xdl}, "
        f"WaveMap: {operation.m_xdl_per_wave}x{operation.n_xdl_per_wave}, "
        f"VmemReadVec: {vectors[0]}x{vectors[1]}, "
        f"BlkGemmPipelineScheduler: {operation.block_gemm_pipeline_scheduler.partition('::')[2]}, "
        f"BlkGemmPipelineVersion: {operation.block_gemm_pipeline_version.partition('::')[2]}"
    )


@pytest.mark.slow
def test_operations_are_the_kernels_of_their_lists(tmp_path):
    root = Path(os.environ.get("CK_BUILDER_ROOT") or "/nonexistent")
    compiler = os.environ.get("HIPCXX", "")
    if not (root / "include/ck/ck.hpp").is_file() or not compiler:
        pytest.skip("CK_BUILDER_ROOT has no tree of November, or HIPCXX names no compiler")
    listed = convolutions_of(kernel_lists(["forward/profiler"]))[0]
    direct = [one for one in listed if one[0].direct_load]
    convolutions = [*random.Random(8).sample(listed, 3), *random.Random(8).sample(direct, 1)]
    calls = [("DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3", one[0]) for one in convolutions]
    names = [one.kernel.names[0] for one in convolutions]
    for kind, device, printed in (
        ("DeviceGemm_Xdl_CShuffleV3", "DeviceGemmMultiD_Xdl_CShuffle_V3", "DeviceGemmXdlUniversal"),
        ("DeviceBatchedGemmMultiD_Xdl_CShuffle_V3",) * 2 + ("DeviceBatchedGemmXdlUniversal",),
    ):
        for one in products(root / "library", kind, 2):
            calls.append((device, one))
            names.append(expected(one, printed))
    body = "".join(
        f"    std::puts({device}<{arguments(one)}>{{}}.GetTypeString().c_str());\n" for device, one in calls
    )
    (tmp_path / "main.cpp").write_text(f"{HEAD}{body}}}\n")
    (tmp_path / "stubs.c").write_text(STUBS)
    reflection = Path(ckprof_converters.__file__).parent / "reflection"
    flags = (
        *("-x", "hip", "--offload-host-only", "-nogpulib", "-std=c++20", "-O0", "-w", "-fno-pie"),
        *(
            "-D__HIP_PLATFORM_AMD__",
            "-Xclang",
            "-fno-cxx-modules",
            "--offload-arch=gfx942",
            "--rocm-path=/usr",
        ),
        *("-DCK_USE_GFX94", "-DCK_USE_FNUZ_FP8", "-DCK_USE_XDL", "-DCKPROF_OLD_HIP"),
        *("-I", str(reflection / "config"), "-I", str(root / "include"), "-I", str(root / "library/include")),
        *("-include", str(reflection / "include/ckprof_hip_names.hpp")),
    )
    for command in (
        [compiler, *flags, "-c", "main.cpp", "-o", "main.o"],
        [compiler, "-x", "c", "-c", "stubs.c", "-o", "stubs.o"],
        [compiler, "main.o", "stubs.o", "-no-pie", "-Wl,--unresolved-symbols=ignore-all", "-o", "names"],
    ):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
    said = subprocess.run([str(tmp_path / "names")], capture_output=True, text=True, check=True).stdout
    for line, name in zip(said.splitlines(), names, strict=True):
        assert line.startswith(name)
