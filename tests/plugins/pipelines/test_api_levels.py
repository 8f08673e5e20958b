"""What each API level can express, and what kernels look like at the older one."""

import re
from types import SimpleNamespace

import pytest
from families import TWO_STAGE

from ckprof import Profiler
from ckprof.kernels.requests import InstanceQuery
from ckprof.model.architecture import API_LEVEL_2025_07, API_LEVEL_2025_11, API_LEVELS
from ckprof_plugins.pipelines.depthwise_family import DEPTHWISE_RULES
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline, StreamKPipeline, TwoStagePipeline
from ckprof_plugins.pipelines.level_rules import SURFACES
from ckprof_plugins.pipelines.vocabulary import GemmPipeline

PIPELINE = ImplicitGemmPipeline()
WAVES = {
    **{"warp_m": 2, "warp_n": 2, "warp_k": 1},
    **{"warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16},
}
#: what the headers derive from the tile of :func:`make_instance` themselves, in 16-bit types
NATIVE = {"vector_size_a": 8, "vector_size_b": 8}


def rejected(instance, level=API_LEVEL_2025_07, arch="gfx942"):
    found = PIPELINE.unmet_requirements(instance, arch, level)
    return [rejection.message for rejection in found if rejection.rule == "api-level-feature"]


def flat(text):
    return " ".join(re.sub(r"//.*", "", text).split())


@pytest.mark.parametrize("level", SURFACES)
def test_the_epilogue_of_2025_shuffles_powers_of_two_alone(level, make_instance):
    wide = {**NATIVE, **WAVES, "tile_k": 64}
    (message,) = rejected(make_instance(tile_m=96, tile_n=64, **wide), level)
    assert "has no right CShuffle epilogue for 3 MMA tiles of a wave along m" in message
    assert not rejected(make_instance(tile_m=128, tile_n=64, **wide), level)
    assert not rejected(make_instance(tile_m=64, tile_n=96, **wide), level)
    assert not rejected(make_instance(tile_m=96, tile_n=64, **wide), API_LEVELS[-1])


@pytest.mark.parametrize(
    ("changes", "feature"),
    [
        ({"direction": "bwd_data"}, "has no bwd_data kernels (it has fwd, bwd_weight)"),
        ({"pipeline": "wavelet"}, "has no wavelet for fwd (it has compv1, compv3, compv4, compv5, mem)"),
        ({"pipeline": "compv5", "direction": "bwd_weight"}, "has no compv5 for bwd_weight"),
        ({"dtype": "fp32"}, "has no fp32 MMA tiles (it has bf16, fp16)"),
        ({"dtype": "fp32", "compute_type": "tf32"}, "has no compute type tf32 (it has none; 2026-06 has it)"),
        ({"pipeline": "compv1", "scheduler": "interwave"}, "has no interwave scheduler for compv1"),
        (
            {"pipeline": "compv5"},
            "has no compv5 with waves 4x1x1 and num_wave_groups 1 (it has 1x1x2 with num_wave_groups 2)",
        ),
        ({"pipeline": "mem", "double_smem_buffer": True}, "has no mem with double_smem_buffer (it has"),
        ({"num_groups_to_merge": 2}, "has no merged groups (num_groups_to_merge is 2)"),
        ({"split_image": True}, "has no split images"),
        ({"elementwise_op": "Scale"}, "has no element-wise operations (Scale) (it has plain results)"),
        (
            {"explicit_gemm": True, "specialization": "filter1x1_stride1_pad0"},
            "has no explicit GEMM (it has implicit GEMM)",
        ),
    ],
)
def test_what_the_headers_of_july_2025_lack_is_named(changes, feature, make_instance):
    instance = make_instance(**changes)
    (message,) = rejected(instance)
    assert message.startswith(f"API level 2025-07 {feature}"), message
    assert not rejected(instance, API_LEVELS[-1])


@pytest.mark.parametrize(
    ("changes", "feature"),
    [
        ({"pipeline": "compv5"}, "compv5 for fwd (it has compv1, compv3, compv4, mem)"),
        ({"pipeline": "compv6"}, "compv6 for fwd"),
        (
            {"pipeline": "compv4", "double_smem_buffer": True, "direction": "bwd_data"},
            "compv4 for bwd_data (it has compv1, compv3, mem)",
        ),
        (
            {"pipeline": "compv1", "scheduler": "interwave"},
            "interwave scheduler for compv1 (it has it for mem)",
        ),
        (
            {"pipeline": "mem", "double_smem_buffer": True},
            "mem with double_smem_buffer (it has it with one LDS",
        ),
        ({"pipeline": "compv3", "double_smem_buffer": True}, "compv3 with double_smem_buffer"),
        ({"num_groups_to_merge": 2}, "merged groups (num_groups_to_merge is 2)"),
        ({"dtype": "fp32", "compute_type": "tf32"}, "compute type tf32"),
        (
            {"dtype": "fp32", "warp_tile_m": 32, "warp_tile_n": 32, "warp_tile_k": 8},
            "MMA tile 32x32x8 for fp32 (it has 16x16x4, 16x16x16)",
        ),
        (
            {"direction": "bwd_weight", "layout": "nwgc", **NATIVE},
            "right 1D kernels of bwd_weight (it has those of other dimensions)",
        ),
        (
            {"direction": "bwd_data"},
            "vector_size_b 4 for a tile of 32 x 128 elements and 256 lanes: it turns the tile in registers, "
            "by vectors of 8 (it has vector_size_b 8)",
        ),
        ({"direction": "bwd_weight"}, "vector_size_a 4 for a tile of 32 x 128 elements and 256 lanes"),
        (
            {"tile_k": 128, "vector_size_a": 1},
            "vector_size_a 1 for a tile of 128 x 128 elements and 256 lanes (it has vector_size_a 8)",
        ),
        (
            {"explicit_gemm": True, "specialization": "filter1x1_stride1_pad0", "direction": "bwd_weight"},
            "explicit GEMM",
        ),
    ],
)
def test_what_the_headers_of_november_2025_lack_is_named(changes, feature, make_instance):
    (message,) = rejected(make_instance(**changes), API_LEVEL_2025_11)
    assert message.startswith(f"API level 2025-11 has no {feature}"), message


@pytest.mark.parametrize("direction", ["fwd", "bwd_data", "bwd_weight"])
@pytest.mark.parametrize(
    "changes",
    [
        NATIVE,
        {"dtype": "fp32", "vector_size_a": 4, "vector_size_b": 4},
        {"pipeline": "mem", "scheduler": "interwave", **NATIVE},
    ],
)
def test_what_november_2025_has_is_not_rejected(changes, direction, make_instance):
    assert not rejected(make_instance(direction=direction, **changes), API_LEVEL_2025_11)


def test_widths_of_operands_that_are_read_transposed_are_free(make_instance):
    other = {"pipeline": "mem", "direction": "bwd_weight", "dtype": "fp16", "vector_size_a": 4}
    other |= {"vector_size_b": 4}
    instance = make_instance(**other)
    assert rejected(instance, API_LEVEL_2025_11)
    assert not rejected(instance, API_LEVEL_2025_11, "gfx950")


def test_tiles_that_are_stored_for_transposed_reads_and_read_as_usual_must_be_square(make_instance):
    """compv1 describes such a tile as rows by columns, and reads and writes it as columns by rows."""
    compv1 = {"direction": "bwd_data", "pipeline": "compv1"}
    instance = make_instance(**compv1, **NATIVE)
    assert not rejected(instance, API_LEVEL_2025_11)
    (message,) = rejected(instance, API_LEVEL_2025_11, "gfx950")
    assert message == (
        "API level 2025-11 has no right compv1 for bwd_data on gfx950 with 32 x 128 elements of b: "
        "it takes rows for columns in LDS (it has square tiles)"
    )
    square = make_instance(**compv1, tile_n=32, vector_size_b=4, vector_size_a=8)
    assert not rejected(square, API_LEVEL_2025_11, "gfx950")
    # nothing is turned in forward kernels
    assert not rejected(make_instance(pipeline="compv1", **NATIVE), API_LEVEL_2025_11, "gfx950")


def test_fp32_is_not_read_transposed(make_instance):
    """The dispatcher of MMA tiles has no fp32 form for as many elements as such a read returns."""
    fp32 = {"dtype": "fp32", "vector_size_a": 4, "vector_size_b": 4, "mma_tile_m": 16, "mma_tile_n": 16}
    fp32 |= {"mma_tile_k": 4}
    assert not rejected(make_instance(direction="bwd_data", **fp32), API_LEVEL_2025_11)
    (message,) = rejected(make_instance(direction="bwd_data", **fp32), API_LEVEL_2025_11, "gfx950")
    assert message == (
        "API level 2025-11 has no fp32 for bwd_data on gfx950: it reads operands transposed from LDS (it has "
        "types of 16 bits)"
    )
    assert not rejected(make_instance(**fp32), API_LEVEL_2025_11, "gfx950")


def test_november_2025_merges_groups_of_weights_and_splits_images(make_instance):
    assert not rejected(
        make_instance(direction="bwd_weight", num_groups_to_merge=4, **NATIVE), API_LEVEL_2025_11
    )
    instance = make_instance(split_image=True)
    assert not rejected(instance, API_LEVEL_2025_11)
    # the kernel leaves it to its caller to cut the image
    assert "image.pieces[0]" in PIPELINE.render(instance, "gfx942", API_LEVEL_2025_11).header
    assert "pieces" not in PIPELINE.render(make_instance(), "gfx942", API_LEVEL_2025_11).header


@pytest.mark.parametrize(
    ("changes", "conditions"),
    [
        ({"pipeline": "compv3"}, {"split-k": ["k_batch != 1"]}),
        ({"pipeline": "compv1", "direction": "bwd_data"},
         {"split-k": ["k_batch != 1"], "k-blocks": ["most_loops(param) > 1"]}),
        ({"pipeline": "compv3", "direction": "bwd_data"},
         {"split-k": ["k_batch != 1"], "gemm-tails": ["tails_differ(param)"]}),
        ({"pipeline": "compv1", "direction": "bwd_weight"},
         {"split-k": ["k_batch < 1"], "k-blocks": ["k_batch > 0 && split_loops(param, k_batch) > 1"]}),
        ({"pipeline": "mem", "direction": "bwd_weight"}, {"split-k": ["k_batch < 1"]}),
        ({"pipeline": "compv4", "double_smem_buffer": True, "direction": "bwd_weight"},
         {"split-k": ["k_batch < 1"], "split-tail": ["k_batch > 1 && (split_loops(param, k_batch) == 3)"]}),
    ],
)  # fmt: skip
def test_faults_of_the_headers_of_november_2025_are_asked_for(changes, conditions, make_instance):
    text = flat(PIPELINE.render(make_instance(**changes), "gfx942", API_LEVEL_2025_11).header)
    found = {}
    for condition, name in re.findall(
        r"if\((.*?)\) \{ const std::string reason.*?report\(context, \"(.*?)\"", text
    ):
        found.setdefault(name, []).append(condition)
    assert found == conditions


def test_other_families_are_named(make_instance):
    for pipeline in (TwoStagePipeline(), StreamKPipeline()):
        assert "api-level-feature" in pipeline.rules
    check = DEPTHWISE_RULES["api-level-feature"]
    violation = check(SimpleNamespace(api_level=API_LEVEL_2025_07))
    assert "has no depthwise kernels" in violation.message
    assert check(SimpleNamespace(api_level=API_LEVELS[-1])) is None


def test_two_stages_add_up_to_four_sums_at_once(make_instance):
    """Compiled: with 8, a static assertion of the headers' atomic additions of fp32 fails."""
    widths = {}
    for width in (1, 4, 8):
        changes = {"vector_size_a": 8, "vector_size_b": 8, "vector_size_c": width}
        instance = make_instance(**{**TWO_STAGE, **changes})
        unmet = TwoStagePipeline().unmet_requirements(instance, "gfx942", API_LEVEL_2025_11)
        widths[width] = [one.message for one in unmet]
    assert widths == {1: [], 4: [], 8: [
        "API level 2025-11 has no two_stage kernels that add 8 elements at once "
        "(it has those with vector_size_c of up to 4)"
    ]}  # fmt: skip


def test_two_stages_are_there_where_sums_can_be_stored_in_another_type(make_instance):
    family = TwoStagePipeline()
    instance = make_instance(**{**TWO_STAGE, "vector_size_a": 8, "vector_size_b": 8})
    assert not family.unmet_requirements(instance, "gfx942", API_LEVEL_2025_11)
    (message,) = [
        one.message
        for one in family.unmet_requirements(instance, "gfx942", API_LEVEL_2025_07)
        if one.rule == "api-level-feature"
    ]
    assert message == "API level 2025-07 has no two_stage kernels (it has implicit_gemm)"
    text = flat(family.render(instance, "gfx942", API_LEVEL_2025_11).header)
    assert "using WorkspaceDataType = float;" in text
    # splits add to the workspace, which the launcher clears; the second stage follows whatever the tail
    (start,) = re.findall(r"const auto start = .*?ave_time = (.*?;) \};", text)
    assert start == (
        "launch_kernel_time_mask( s, zero_workspace, "
        "make_kernel<Config::kBlockPerCu>(kernel, grids, blocks, 0, kargs), convert);"
    )
    assert "zero_result" not in text


@pytest.mark.parametrize("pipeline", ["compv1", "mem", "compv3", "compv4"])
@pytest.mark.parametrize("direction", ["fwd", "bwd_weight"])
def test_everything_else_is_written(pipeline, direction, make_instance):
    instance = make_instance(pipeline=pipeline, direction=direction, double_smem_buffer=pipeline == "compv4")
    assert not rejected(instance)
    # backward kernels leave them to kernels of their own
    scaled = make_instance(direction=direction, elementwise_op="Scale")
    assert bool(rejected(scaled)) == (direction == "fwd")
    text = flat(PIPELINE.render(instance, "gfx942", API_LEVEL_2025_07).header)
    cpp_class = instance.gemm_pipeline.properties.cpp_class
    assert cpp_class in text
    # the tail is chosen by the headers' own rule, never fixed
    assert ("BaseGemmPipeline::TailHandler( Run," in text) == (pipeline != "compv1")
    # splits are added up, one split is stored
    stores = re.findall(r"start\(KernelOf<hot, tail, memory_operation_enum::(\w+)>", text)
    assert stores == (["set"] if direction == "fwd" else ["atomic_add", "set"])
    assert text.count("GroupedConvFwdHostArgs<>") == 0


def test_the_tables_name_only_what_exists():
    for level, surface in SURFACES.items():
        assert level in API_LEVELS[:-1]
        for pipelines in surface.gemm_pipelines.values():
            assert pipelines <= set(GemmPipeline)
            assert surface.interwave <= set(GemmPipeline)
        assert surface.widest_sums.keys() <= surface.families


@pytest.mark.parametrize(
    "changes",
    [{"pipeline": "compv3"}, {"pipeline": "compv1", "direction": "bwd_weight"}],
    ids=["compv3", "compv1"],
)
def test_golden(changes, make_instance, golden):
    source = PIPELINE.render(make_instance(**changes), "gfx942", API_LEVEL_2025_07)
    golden(f"kernels/2025-07/{source.name}.hpp", source.header)
    assert source.device_type == f"{source.launcher}::KernelOf"
    assert source.host_args in source.header


def test_device_functions_tell_whose_they_are(make_instance):
    source = PIPELINE.render(make_instance(), "gfx942", API_LEVELS[-1])
    assert source.device_type == f"{source.launcher}::Kernel"
    assert re.search(r"struct Kernel\s*: \w+<", source.header)


@pytest.mark.parametrize(
    ("changes", "functions"),
    [
        ({"pipeline": "compv1"}, 1),
        ({"pipeline": "compv3"}, 3),
        ({"pipeline": "compv4", "double_smem_buffer": True}, 4),
        ({"pipeline": "compv3", "direction": "bwd_weight"}, 6),
        # 128x128x32 in bf16 is 16 KiB a stage: two stages are under way
        ({"pipeline": "mem"}, 4),
        # 32x32x32 with one wave: 4 KiB a stage, a quarter of 32 KiB for each of four workgroups
        ({"pipeline": "mem", "tile_m": 16, "tile_n": 16, "warp_m": 1}, 8),
    ],
)
def test_costs_are_told_by_the_number_of_device_functions(changes, functions, make_instance):
    source = PIPELINE.render(make_instance(**changes), "gfx942", API_LEVEL_2025_07)
    assert source.device_functions == functions


@pytest.mark.parametrize(
    ("changes", "functions"),
    [
        # a loop of one block has an end of its own
        ({"pipeline": "compv4", "double_smem_buffer": True}, 5),
        ({"pipeline": "compv3", "direction": "bwd_data"}, 3),
        ({"pipeline": "compv3", "direction": "bwd_weight"}, 6),
        ({"pipeline": "compv1", "direction": "bwd_data"}, 1),
    ],
)
def test_costs_at_2025_11(changes, functions, make_instance):
    source = PIPELINE.render(make_instance(**changes), "gfx942", API_LEVEL_2025_11)
    assert source.device_functions == functions


@pytest.mark.parametrize(
    "changes",
    [
        {"split_image": True},
        {"direction": "bwd_data", **NATIVE},
        {"pipeline": "compv1", "direction": "bwd_weight", **NATIVE},
    ],
    ids=["fwd", "bwd_data", "bwd_weight"],
)
def test_golden_2025_11(changes, make_instance, golden):
    source = PIPELINE.render(make_instance(**changes), "gfx942", API_LEVEL_2025_11)
    golden(f"kernels/2025-11/{source.name}.hpp", source.header)


@pytest.mark.parametrize("pipeline", ["compv1", "mem", "compv3", "compv4"])
@pytest.mark.parametrize("direction", ["fwd", "bwd_weight"])
def test_wrong_tails_of_splits_are_asked_for(pipeline, direction, make_instance):
    instance = make_instance(pipeline=pipeline, direction=direction, double_smem_buffer=pipeline == "compv4")
    text = flat(PIPELINE.render(instance, "gfx942", API_LEVEL_2025_07).header)
    affected = (pipeline, direction) == ("compv4", "bwd_weight")
    assert ("split-tail" in text) == affected
    condition = "if(k_batch > 1 && (split_loops(param, k_batch) == 1 || split_loops(param, k_batch) == 3))"
    assert (condition in text) == affected
    assert "split-tail" not in PIPELINE.render(instance, "gfx942", API_LEVELS[-1]).header


def test_shipped_instances_that_the_headers_of_july_2025_do_not_compile_are_named():
    """``mem`` with two LDS buffers has no operator there; ten instances of each list are such."""
    profiler = Profiler()
    for name in ("nhwgc_fp16", "nhwgc_bf16"):
        query = InstanceQuery(conf=f"forward/profiler/{name}", directions="fwd")
        candidates = profiler.instances(query).candidates
        doubled = [
            candidate.instance
            for candidate in candidates
            if candidate.instance.gemm_pipeline is GemmPipeline.MEM and candidate.instance.double_smem_buffer
        ]
        assert len(doubled) == 10
        message = "API level 2025-07 has no mem with double_smem_buffer (it has it with one LDS buffer)"
        assert all(message in rejected(instance) for instance in doubled)
        assert not any(rejected(instance, API_LEVELS[-1]) for instance in doubled)
