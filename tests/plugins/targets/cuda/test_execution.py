"""What is said of kernels on NVIDIA GPUs is what their headers make of them."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import ckprof
from ckprof.model.compute_type import ComputeType
from ckprof.model.dtype import DataType
from ckprof.model.instance import Instance
from ckprof.model.kernel_traits import KernelTraits, Reduction, RunAxis, RunChunks, Schedule
from ckprof.plugin.timing import TimedKernel, TimedTarget
from ckprof_plugins.pipelines._gemm.traits import fields_of_name, gemm_traits, product_traits, traits_of_name
from ckprof_plugins.pipelines._gemm.vocabulary import GemmPipeline, SmemBuffering
from ckprof_plugins.targets.cuda.execution import executed, pipeline_plans
from ckprof_plugins.targets.cuda.target import CudaTarget
from tests.plugins.targets.cuda.test_cuda_model import COMPILER, FLAGS, FOLDERS

LISTS = (
    "forward/profiler/nhwgc_bf16",
    "backward_data/profiler/nhwgc_fp16",
    "backward_weight/profiler/nhwgc_bf16",
)
CPP_DIRECTIONS = {"fwd": "forward", "bwd_data": "backward_data", "bwd_weight": "backward_weight"}

PRODUCT_LISTS = ("gemm/universal/rcr_fp16", "gemm/universal/rrr_fp16")
#: type -> its name in C++ on the device that is modelled by default, and the result's
PRODUCT_TYPES = {
    "bf16": ("bf16", "bf16"),
    "fp32": ("fp32", "fp32"),
    "fp8": ("fp8_fnuz", "fp16"),
    "int8": ("int8", "int32"),
}

PRINTER = """\
#include <cstdio>
#include "ck_tile/cuda_model/hopper_config.hpp"
#include "ck_tile/cuda_model/matrix_config.hpp"
using namespace ck_tile::cuda_model;
template <typename Kernel>
void show_product()
{
    using plan   = matrix_config_of<Kernel, 1>;
    using native = typename plan::native;
    using hopper = hopper_config<native, plan::hopper_stages, plan::turns>;
    if constexpr(hopper_tile<native> && has_warpgroup_product(native::ab_type))
    {
        if constexpr(hopper::stages >= 2)
        {
            std::printf("W %d %d %d %d %d\\n", hopper::tile_m, hopper::tile_n, hopper::stages,
                        hopper::resident, hopper::turns);
            return;
        }
    }
    using base = typename plan::type;
    std::printf("M %d %d %d %d 0\\n", base::m, base::n, base::stages, base::blocks);
}
template <typename Kernel, int Blocks>
void show()
{
    using plan   = tile_config_of<Kernel, Blocks>;
    using base   = typename plan::type;
    using hopper = hopper_config<base, plan::hopper_stages, plan::turns>;
    if constexpr(hopper_tile<base>)
    {
        if constexpr(hopper::stages >= 2)
        {
            std::printf("W %d %d %d %d %d\\n", hopper::tile_m, hopper::tile_n, hopper::stages,
                        hopper::resident, hopper::turns);
            return;
        }
    }
    std::printf("M %d %d %d %d 0\\n", base::m, base::n, base::stages, base::blocks);
}
"""


def instances() -> list[Instance]:
    """Return one instance of every combination that makes a difference here, of the shipped lists."""
    profiler = ckprof.Profiler()
    found: dict[object, Instance] = {}
    for name in LISTS:
        for one in profiler.instances(ckprof.InstanceQuery(conf=name)).candidates:
            fields = one.instance.fields()
            if fields["pipeline"] in ("implicit_gemm", "two_stage") and not fields["explicit_gemm"]:
                found.setdefault((fields["direction"], tuple(traits_key(fields))), one.instance)
    return list(found.values())


def traits_key(fields: dict[str, object]) -> list[object]:
    names = (
        "tile_m",
        "tile_n",
        "tile_k",
        "wave_grid_m",
        "wave_grid_n",
        "wave_grid_k",
        "gemm_pipeline",
        "scheduler",
    )
    return [fields[name] for name in (*names, "double_smem_buffer", "num_groups_to_merge")]


def cpp_kernel(number: int, instance: Instance) -> str:
    """Return a type with the facts of an instance, and the call that shows what becomes of it."""
    fields = instance.fields()
    values = {
        "direction": f"ck_tile::host_model::direction::{CPP_DIRECTIONS[instance.direction]}",
        "num_dim_spatial": fields["ndim"],
        "vector_size_a": fields["vector_size_a"],
        "vector_size_b": fields["vector_size_b"],
        "vector_size_c": fields["vector_size_c"],
        "groups_to_merge": fields["num_groups_to_merge"],
        "m_per_block": fields["tile_m"],
        "n_per_block": fields["tile_n"],
        "k_per_block": fields["tile_k"],
        "m_waves": fields["wave_grid_m"],
        "n_waves": fields["wave_grid_n"],
        "k_waves": fields["wave_grid_k"],
        **{f"{tensor}_type": f"ck_tile::host_model::data_type::{fields['dtype']}" for tensor in "abe"},
        "tf32": str("compute_type" in fields).lower(),
        "pipeline_name": f'"{GemmPipeline(fields["gemm_pipeline"]).properties.enumerator}"',
        "scheduler": f'"{str(fields["scheduler"]).capitalize()}"',
        "double_smem_buffer": str(fields["double_smem_buffer"]).lower(),
    }
    assignments = " ".join(f"f.{name} = {value};" for name, value in values.items())
    blocks = gemm_traits(fields).workgroups_per_unit
    return (
        f"struct k{number} {{ static constexpr ck_tile::host_model::kernel_facts facts = "
        f"[] {{ ck_tile::host_model::kernel_facts f{{}}; {assignments} return f; }}(); }};\n"
        f"inline void show{number}() {{ show<k{number}, {blocks}>(); }}\n"
    )


def products() -> list[tuple[Instance, str]]:
    """Return instances of the shipped lists of products that differ in their tiles, and a type for each."""
    profiler = ckprof.Profiler()
    found: dict[object, Instance] = {}
    for name in PRODUCT_LISTS:
        for one in profiler.instances(ckprof.InstanceQuery(conf=name)).candidates:
            fields = one.instance.fields()
            key = ("layout", "tile_m", "tile_n", "tile_k", "gemm_pipeline", "scheduler", "wave_grid_m")
            found.setdefault(tuple(fields[name] for name in key), one.instance)
    types = tuple(PRODUCT_TYPES)
    return [(one, types[number % len(types)]) for number, one in enumerate(found.values())]


def cpp_product(number: int, instance: Instance, dtype: str) -> str:
    """Return a type with the facts of an instance, and the call that shows what becomes of it."""
    fields = instance.fields()
    operand, result = (f"ck_tile::host_model::data_type::{name}" for name in PRODUCT_TYPES[dtype])
    properties = GemmPipeline(fields["gemm_pipeline"]).properties
    values = {
        "m_per_block": fields["tile_m"],
        "n_per_block": fields["tile_n"],
        "k_per_block": fields["tile_k"],
        "m_waves": fields["wave_grid_m"],
        "n_waves": fields["wave_grid_n"],
        "k_waves": fields["wave_grid_k"],
        "k_mma": 16,
        "a_row_major": str(fields["layout"][0] == "r").lower(),
        "b_row_major": str(fields["layout"][1] == "r").lower(),
        "e_row_major": "true",
        "a_type": operand,
        "b_type": operand,
        "e_type": result,
        "vector_size_a": 8,
        "vector_size_b": 8,
        "vector_size_c": 8,
        "scheduler": f'"{str(fields["scheduler"]).capitalize()}"',
    }
    assignments = " ".join(f"f.{name} = {value};" for name, value in values.items())
    double = str(properties.buffering is SmemBuffering.DOUBLE).lower()
    return (
        f"struct k{number} {{ struct GemmPipeline {{ struct described {{ const char* name; }}; "
        f'static constexpr described facts{{"{properties.enumerator}"}}; '
        f"static constexpr bool DoubleSmemBuffer = {double}; }}; "
        f"static constexpr ck_tile::host_model::plain_gemm_facts facts = "
        f"[] {{ ck_tile::host_model::plain_gemm_facts f{{}}; {assignments} return f; }}(); }};\n"
        f"inline void show{number}() {{ show_product<k{number}>(); }}\n"
    )


@pytest.mark.compiler
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler found")
def test_tiles_of_products_are_those_of_the_headers(tmp_path: Path) -> None:
    chosen = products()
    assert len(chosen) > 40
    source = PRINTER + "".join(cpp_product(number, one, dtype) for number, (one, dtype) in enumerate(chosen))
    printed = compiled_and_run(source, len(chosen), tmp_path)
    engines = set()
    for (instance, dtype), line in zip(chosen, printed, strict=True):
        fields = instance.fields()
        engine, *numbers = line.split()
        m, n, stages, blocks, turns = map(int, numbers)
        found = executed(
            TimedKernel(direction="gemm", dtype=dtype, fields=fields, traits=product_traits(fields))
        )
        where = (dtype, fields)
        assert found.labels[0] == f"engine {engine}", where
        assert (found.tile[:2], found.lds_stages, found.workgroups_per_unit) == ((m, n), stages, blocks), (
            where
        )
        assert (found.labels[1] == "turns") == bool(turns), where
        engines.add((fields["layout"], dtype, engine))
    assert len(engines) > 8


def compiled_and_run(source: str, count: int, folder: Path) -> list[str]:
    """Compile a program that calls so many functions, and return the lines that they print."""
    source += "int main() {" + "".join(f" show{number}();" for number in range(count)) + " }\n"
    (folder / "show.cpp").write_text(source)
    binary = folder / "show"
    includes = [f"-I{path}" for path in FOLDERS]
    flags = [flag for flag in FLAGS if flag != "-O1"]
    subprocess.run([COMPILER or "", *flags, *includes, folder / "show.cpp", "-o", binary], check=True)
    return subprocess.run([binary], capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.compiler
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler found")
def test_tiles_stages_and_blocks_are_those_of_the_headers(tmp_path: Path) -> None:
    listed = [replace(one, dtype=DataType.BF16) for one in instances()]
    assert len(listed) > 60
    chosen = [
        *listed,
        # the same tiles with other operands; no kernel of theirs is made here
        *(replace(one, dtype=DataType.FP32) for one in listed[::7]),
        *(replace(one, dtype=DataType.FP32, compute_type=ComputeType.TF32) for one in listed[::3]),
    ]
    source = PRINTER + "".join(cpp_kernel(number, one) for number, one in enumerate(chosen))
    printed = compiled_and_run(source, len(chosen), tmp_path)
    engines, exchanged = set(), 0
    for instance, line in zip(chosen, printed, strict=True):
        fields = instance.fields()
        engine, *numbers = line.split()
        m, n, stages, blocks, turns = map(int, numbers)
        found = executed(
            TimedKernel(
                direction=instance.direction,
                dtype=instance.dtype.value,
                fields=fields,
                traits=gemm_traits(fields),
            )
        )
        where = (instance.direction, instance.types.compute, traits_key(fields))
        assert found.labels[0] == f"engine {engine}", where
        assert (found.tile[:2], found.lds_stages, found.workgroups_per_unit) == ((m, n), stages, blocks), (
            where
        )
        assert (found.labels[1] == "turns") == bool(turns), where
        engines.add((instance.direction, instance.types.compute.value, engine))
        exchanged += engine == "W" and m % 64 != 0
    assert exchanged > 5
    hopper = {(direction, kind) for direction, kind, engine in engines if engine == "W"}
    assert hopper == {("fwd", "bf16"), ("bwd_data", "bf16"), ("bwd_weight", "bf16"), ("fwd", "tf32")}
    assert {kind for _, kind, engine in engines if engine == "M"} == {"bf16", "fp32", "tf32"}


def test_the_table_of_pipelines_is_read_whole() -> None:
    plans = pipeline_plans()
    assert {one.properties.enumerator for one in GemmPipeline} <= set(plans)
    assert (plans["COMPUTE_V4"].stages, plans["COMPUTE_V4"].hopper_stages, plans["COMPUTE_V4"].turns) == (
        4,
        6,
        True,
    )


def told(name: str, direction: str = "fwd", dtype: str = "bf16", **further: str) -> KernelTraits:
    fields, traits = fields_of_name(name), traits_of_name(name)
    assert fields is not None
    assert traits is not None
    fields = {**fields, **further}
    return executed(TimedKernel(direction=direction, dtype=dtype, fields=fields, traits=traits))


def test_runs_are_taken_in_chunks_by_engine_w_alone() -> None:
    hopper = told("compv3_intrawave_128x64x32_2x2x1_32x32x16_v8_8_8")
    assert hopper.chunks == RunChunks(axis=RunAxis.REDUCTION, size=64, least=16, short_k=32)
    assert (hopper.tile, hopper.reduction) == ((128, 64, 64), Reduction.ATOMIC)
    weight = told("compv3_intrawave_128x32x32_2x2x1_32x32x16_v8_8_8", direction="bwd_weight")
    assert weight.chunks == RunChunks(axis=RunAxis.COLUMNS, size=32, least=16, short_k=32)
    assert weight.reduction is Reduction.ARRIVAL
    assert told("compv3_intrawave_32x96x32_2x2x1_32x32x16_v8_8_8").chunks is None
    single = "compv3_intrawave_128x64x32_2x2x1_32x32x8_v4_4_4"
    assert told(single, dtype="fp32").chunks is None
    rounded = told(single, dtype="fp32", compute_type="tf32")
    assert rounded.chunks == RunChunks(axis=RunAxis.REDUCTION, size=32, least=16, short_k=32)
    assert rounded.tile == (128, 64, 32)
    assert told(single, direction="bwd_data", dtype="fp32", compute_type="tf32").chunks is None


def test_sides_are_exchanged_where_only_columns_fit_engine_w() -> None:
    name = "mem_intrawave_96x128x64_1x2x1_32x32x16_v8_8_8"
    assert (told(name).tile, told(name).lds_stages, told(name).workgroups_per_unit) == ((96, 128, 64), 7, 1)
    assert told(name).labels == told(name, direction="bwd_data").labels == ("engine W", "shared")
    assert told(name, direction="bwd_weight").labels[0] == "engine M"
    # computed in halves, of columns
    assert told("compv3_intrawave_224x256x64_1x4x1_32x32x16_v8_8_8").tile == (224, 128, 64)
    assert told("mem_intrawave_96x96x64_1x1x1_32x32x16_v8_8_8").labels[0] == "engine M"


def test_what_is_not_a_matrix_product_stays_what_it_is() -> None:
    window = KernelTraits(tile=(8, 8, 2), schedule=Schedule.WINDOW)
    assert executed(TimedKernel(direction="fwd", dtype="bf16", fields={}, traits=window)) == window
    assert isinstance(CudaTarget(), TimedTarget)


def test_fields_of_names() -> None:
    fields = fields_of_name("mem_interwave_16x32x64_1x2x1_16x16x32_v8_8_4_gm4_dsb")
    assert fields is not None
    assert (fields["tile_n"], fields["wave_grid_n"], fields["mma_tile_k"]) == (32, 2, 32)
    assert (fields["vector_size_c"], fields["num_groups_to_merge"]) == (4, 4)
    assert (fields["gemm_pipeline"], fields["scheduler"], fields["double_smem_buffer"]) == (
        "mem",
        "interwave",
        True,
    )
    short = fields_of_name("64x64x64_compv3")
    assert short is not None
    assert "wave_grid_m" not in short
    assert fields_of_name("latency") is None
