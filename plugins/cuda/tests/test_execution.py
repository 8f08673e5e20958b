"""What is said of kernels on NVIDIA GPUs, and which instances are one kernel there."""

import re
from collections import Counter
from dataclasses import fields as fields_of
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import ckprof
import ckprof_plugins.cuda
from ckprof.errors import ToolchainError
from ckprof.kernels.candidates import same_kernels, substitutions
from ckprof.kernels.choose import choose_instances
from ckprof.kernels.requests import InstanceQuery
from ckprof.kernels.units import common_part_of
from ckprof.model.gemm_work import KernelTraits, Reduction, RunAxis, RunChunks, Schedule
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Pipeline, Target, TimedKernel
from ckprof_plugins.cuda import execution
from ckprof_plugins.cuda.execution import IN_BOTH_ENGINES, IN_ENGINE_W, executed, substitute
from ckprof_plugins.cuda.recipe import FIELDS_WITHOUT_COST
from ckprof_plugins.cuda.target import CudaTarget
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.operations.gemm.problem import GemmProblem
from ckprof_plugins.pipelines.kernel_name import fields_of_name, traits_of_name
from ckprof_plugins.pipelines.vocabulary import GemmPipeline
from ckprof_plugins.targets.cpu.target import CpuTarget

pytestmark = pytest.mark.compiler

HEADERS = Path(ckprof_plugins.cuda.__path__[0]) / "include" / "ck_tile" / "cuda_model"
PROBLEM = ConvProblem(
    **{"groups": 32, "batch": 4, "out_channels": 8, "in_channels": 8, "filter": (3, 3), "input": (56, 56)},
    **{"strides": (1, 1), "dilations": (1, 1), "left_pads": (1, 1), "right_pads": (1, 1)},
)
SINGLE = replace(PROBLEM, groups=384, out_channels=1, in_channels=1)
DEEP = ConvProblem(
    **{"groups": 8, "batch": 1, "out_channels": 1, "in_channels": 1, "filter": (2, 3, 3), "input": (5, 9, 9)},
    **{"strides": (1,) * 3, "dilations": (1,) * 3, "left_pads": (0,) * 3, "right_pads": (0,) * 3},
)

SINGLE_CHANNELS = "a kernel for groups of one channel"
FEW_CHANNELS = "a kernel for groups of few channels"


def test_the_table_of_pipelines_is_whole():
    table = (HEADERS / "pipeline_plan.hpp").read_text(encoding="utf-8")
    assert all(f'{{"{pipeline.properties.enumerator}", ' in table for pipeline in GemmPipeline)


def test_engines_of_shipped_lists():
    """Each engine has as many kernels of a list as its rules give it."""
    profiler = ckprof.Profiler()
    expected = {
        "forward/profiler/nhwgc_bf16": (195, 72),
        "forward/tests/nhwgc_int8": (0, 46),
        "forward/convscale/tests/ndhwgc_fp8": (0, 9),
        "backward_data/profiler/nhwgc_fp16": (70, 0),
        "backward_weight/profiler/nhwgc_bf16": (45, 103),
        "gemm/universal/rcr_fp16": (48, 58),
        "gemm/universal/rrr_fp16": (72, 88),
    }
    engines = {}
    for name in expected:
        answers = [
            execution.executed(
                TimedKernel(
                    direction=one.instance.direction,
                    dtype=one.instance.dtype.value,
                    fields=one.instance.fields(),
                    traits=one.pipeline.traits(one.instance.fields()),
                )
            )
            for one in profiler.instances(ckprof.InstanceQuery(conf=name)).candidates
            if offers(one.pipeline, Pipeline.traits)
        ]
        labels = [answer.labels[0] for answer in answers]
        engines[name] = labels.count(execution.ENGINE_W), labels.count(execution.ENGINE_M)
    assert engines == expected


def told(name, direction="fwd", dtype="bf16", **further):
    fields, traits = fields_of_name(name), traits_of_name(name)
    assert fields is not None
    assert traits is not None
    fields = {**fields, **further}
    return executed(TimedKernel(direction=direction, dtype=dtype, fields=fields, traits=traits))


def test_runs_are_taken_in_chunks_by_engine_w_alone():
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


def test_sides_are_exchanged_where_only_columns_fit_engine_w():
    name = "mem_intrawave_96x128x64_1x2x1_32x32x16_v8_8_8"
    assert (told(name).tile, told(name).lds_stages, told(name).workgroups_per_unit) == ((96, 128, 64), 7, 1)
    assert told(name).labels == told(name, direction="bwd_data").labels == ("engine W", "shared")
    assert told(name, direction="bwd_weight").labels[0] == "engine M"
    # computed in halves, of columns
    assert told("compv3_intrawave_224x256x64_1x4x1_32x32x16_v8_8_8").tile == (224, 128, 64)
    assert told("mem_intrawave_96x96x64_1x1x1_32x32x16_v8_8_8").labels[0] == "engine M"


def test_what_is_not_a_matrix_product_stays_what_it_is():
    window = KernelTraits(tile=(8, 8, 2), schedule=Schedule.WINDOW)
    assert executed(TimedKernel(direction="fwd", dtype="bf16", fields={}, traits=window)) == window
    assert offers(CudaTarget(), Target.executed)


def test_fields_of_names():
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


def kernel(direction, dtype="bf16", tile=64, **fields):
    traits = KernelTraits(tile=(tile, tile, 64), schedule=Schedule.TILES, reduction=Reduction.ATOMIC)
    return TimedKernel(
        direction=direction, dtype=dtype, fields={"gemm_pipeline": "mem", **fields}, traits=traits
    )


def test_instances_decide_as_well():
    assert substitute(kernel("bwd_weight"), PROBLEM) == FEW_CHANNELS
    assert substitute(kernel("bwd_weight", tile=128), PROBLEM) == ""
    assert substitute(kernel("bwd_weight", "fp32"), PROBLEM) == ""
    assert substitute(kernel("bwd_data"), PROBLEM) == ""
    assert substitute(kernel("bwd_data", "fp32", 256), SINGLE) == SINGLE_CHANNELS
    assert substitute(kernel("bwd_data", "fp32", compute_type="tf32"), SINGLE) == ""
    assert substitute(replace(kernel("fwd"), fields={}), SINGLE) == ""
    streamed = KernelTraits(tile=(64, 64, 64), schedule=Schedule.STREAM, reduction=Reduction.ATOMIC)
    assert substitute(replace(kernel("bwd_weight"), traits=streamed), PROBLEM) == ""
    assert substitute(kernel("gemm"), GemmProblem(m=8, n=8, k=8)) == ""
    assert substitute(kernel("fwd"), DEEP) == ""


def test_limits_of_kernels_for_some_problems():
    for direction, strides, filter_size, groups, text in (
        ("fwd", (1, 1), (7, 7), 384, SINGLE_CHANNELS),
        ("fwd", (1, 1), (7, 8), 384, ""),
        ("fwd", (1, 1), (3, 3), 383, ""),
        ("fwd", (2, 2), (3, 3), 384, SINGLE_CHANNELS),
        ("fwd", (1, 2), (3, 3), 384, ""),
        ("bwd_data", (2, 2), (3, 3), 384, SINGLE_CHANNELS),
        ("bwd_data", (1, 2), (3, 3), 384, ""),
        ("bwd_data", (3, 3), (3, 3), 384, ""),
    ):
        problem = replace(SINGLE, strides=strides, filter=filter_size, groups=groups)
        assert substitute(kernel(direction), problem) == text, (direction, strides, filter_size, groups)
    weight = kernel("bwd_weight")
    assert substitute(weight, replace(PROBLEM, out_channels=16, in_channels=16)) == FEW_CHANNELS
    for change in ({"out_channels": 32, "in_channels": 32}, {"filter": (1, 3)}, {"strides": (2, 2)}):
        assert substitute(weight, replace(PROBLEM, **change)) == ""
    # the patches of a row must fit into shared memory
    assert substitute(weight, replace(PROBLEM, input=(56, 200))) == FEW_CHANNELS
    assert substitute(weight, replace(PROBLEM, input=(56, 700))) == ""


def test_a_compiler_that_fails_is_named(monkeypatch, tmp_path):
    source = tmp_path / "execution.cpp"
    source.write_text("#error broken")
    monkeypatch.setattr(execution, "_SOURCE", source)
    with pytest.raises(ToolchainError, match=r"cannot compile .*execution\.cpp:(.|\n)*broken"):
        execution._library.__wrapped__()


def test_each_problem_is_said_to_be_computed_by_what_computes_it():
    query = InstanceQuery(conf="backward_weight/tests/nhwgc_bf16.conf", directions="bwd_weight")
    chosen = choose_instances(ckprof.Profiler(), query).candidates
    small = tuple(one.index for one in chosen if max(one.instance.tile.m, one.instance.tile.n) <= 64)
    dense = replace(PROBLEM, groups=1, in_channels=64)
    few, single = substitutions(CudaTarget(), chosen, [dense, PROBLEM, SINGLE])
    assert (few.problem_index, few.kernel, few.instances) == (1, FEW_CHANNELS, small)
    assert 0 < len(small) < len(chosen)
    assert (single.problem_index, single.kernel) == (2, SINGLE_CHANNELS)
    assert single.instances == tuple(one.index for one in chosen)
    assert substitutions(CpuTarget(), chosen, [PROBLEM, SINGLE]) == ()


DOCS = Path(__file__).parents[1] / "docs" / "cuda-kernels.md"


@pytest.fixture(scope="module")
def session():
    return ckprof.Profiler()


def candidates(session, direction, name):
    query = InstanceQuery(conf=name, directions=direction)
    return choose_instances(session, query).candidates


def changed(candidate, index, **changes):
    return replace(candidate, index=index, instance=replace(candidate.instance, **changes))


def find(candidates, **wanted):
    for one in candidates:
        fields = one.instance.fields()
        if all(fields[name] == value for name, value in wanted.items()):
            return one
    raise AssertionError(wanted)


def test_nothing_is_said_where_everything_has_a_meaning(session):
    found = candidates(session, "fwd", "forward/tests/nhwgc_bf16.conf")
    target = session.registry.targets.find("cpu")
    assert same_kernels(target, [*found, changed(found[0], 99, split_image=True)]) == ()


def test_the_wave_and_tile_fields_of_both_engines(session):
    found = candidates(session, "fwd", "forward/tests/nhwgc_bf16.conf")
    first = found[0]
    tile = replace(first.instance.mma_tile, m=16, n=16)
    others = [changed(first, 90, mma_tile=tile), changed(first, 91, num_wave_groups=2)]
    (one,) = [
        group for group in same_kernels(CudaTarget(), [*found, *others]) if {90, 91} & set(group.instances)
    ]
    assert {first.index, 90, 91} <= set(one.instances)
    assert {"mma_tile_m", "mma_tile_n", "num_wave_groups"} <= set(one.fields)
    assert re.search(
        r"instances \d.*are the same kernel here: they differ only in .*MMA tile is that", one.describe()
    )


def test_what_has_no_meaning_in_engine_w_has_one_in_engine_m(session):
    halves = candidates(session, "fwd", "forward/tests/nhwgc_bf16.conf")
    singles = candidates(session, "fwd", "forward/tests/nhwgc_fp32.conf")
    for found, is_same in ((halves, True), (singles, False)):
        first = find(found, tile_m=128) if is_same else found[0]
        tile = replace(first.instance.tile, k=first.instance.tile.k * 2)
        narrow = first.instance.vector_size_a // 2
        twins = [first, changed(first, 80, tile=tile), changed(first, 81, vector_size_a=narrow)]
        groups = same_kernels(CudaTarget(), twins)
        assert [one.instances for one in groups] == ([(first.index, 80, 81)] if is_same else [])
        if is_same:
            assert set(groups[0].fields) == {"tile_k", "vector_size_a"}


def test_tiles_and_pipelines_keep_their_meaning(session):
    found = candidates(session, "fwd", "forward/tests/nhwgc_bf16.conf")
    for group in same_kernels(CudaTarget(), found):
        members = [one.instance.fields() for one in found if one.index in group.instances]
        for name in ("tile_m", "tile_n", "gemm_pipeline", "scheduler", "double_smem_buffer", "dtype"):
            assert len({fields[name] for fields in members}) == 1


def test_depthwise_kernels_are_as_their_instances_say(session):
    found = candidates(session, "fwd", "forward/tests/ngchw_depthwise.conf")
    assert same_kernels(CudaTarget(), found) == ()


def test_the_docs_name_the_fields():
    text = DOCS.read_text(encoding="utf-8")
    for name in (*IN_BOTH_ENGINES, *IN_ENGINE_W):
        assert f"`{name}`" in text, name


def test_fields_without_cost_put_kernels_together(session):
    """Triplets of specializations, with two schedulers each, are compiled in one unit."""
    found = candidates(session, "fwd", "forward/tests/nhwgc_fp16.conf")
    instance = found[0].instance
    # those that instances of this list leave out as well
    known = {*instance.fields(), *(field.name for field in fields_of(instance))}
    assert known >= FIELDS_WITHOUT_COST
    codes = Counter(
        common_part_of(SimpleNamespace(key=one.index, kernel=one.instance), FIELDS_WITHOUT_COST)
        for one in found
    )
    assert sum(codes.values()) == len(found)
    assert sorted(codes.values(), reverse=True)[:4] == [6, 6, 6, 6]
