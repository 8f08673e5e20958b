"""The generated header, as text."""

import re

import pytest

from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline

PIPELINE = ImplicitGemmPipeline()


def header(instance, arch="gfx950"):
    return PIPELINE.render(instance, arch, "2026-06").header


def flat(text):
    """Return the text without comments and with all white space as single blanks."""
    return " ".join(re.sub(r"//.*", "", text).split())


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {
            **{"layout": "ndhwgc", "dtype": "fp16", "pipeline": "compv1", "scheduler": "interwave"},
            **{"specialization": "filter1x1_stride1_pad0", "explicit_gemm": True},
        },
        {"layout": "nwgc", "dtype": "fp32", "pipeline": "wavelet", "num_wave_groups": 2, "split_image": True},
    ],
    ids=["compv3", "compv1", "wavelet"],
)
def test_golden(changes, make_instance, golden):
    source = PIPELINE.render(make_instance(**changes), "gfx950", "2026-06")
    golden(f"kernels/{source.name}.hpp", source.header)
    assert source.launcher == f"{source.name}_Launcher"


def test_text_depends_on_the_arguments_only(make_instance):
    assert header(make_instance()) == header(make_instance())
    # The id is for people: it may change whenever a line is added to the list.
    assert header(make_instance(id=1)) == header(make_instance(id=2))
    assert not re.search(r"20\d\d-|/home|/tmp|/work", header(make_instance()))


@pytest.mark.parametrize("level", ["2025-07", "2025-11", "2026-06"])
def test_a_launcher_that_folds_is_put_around_the_plain_one(level, make_instance):
    plain, folding = (make_instance(fold_stride=folds, pipeline="compv1") for folds in (None, True))
    names = [PIPELINE.kernel_name(one) for one in (plain, folding)]
    texts = [PIPELINE.render(one, "gfx942", level).header for one in (plain, folding)]
    assert names[1] == f"{names[0]}_folded"
    assert '#include "ckprof_folded_stride.hpp"' in texts[1]
    text, base = flat(texts[1]), f"ckprof::folded_stride<{names[1]}_Unchanged>"
    start = text.index(f"struct {names[1]}_Launcher : {base} {{ ")
    end = text.index("};", start) + 3
    assert f"return {base}::launch(args, s);" in text[start:end]
    expected = texts[0].replace(names[0], names[1]).replace(plain.key, folding.key)
    inner = (text[:start] + text[end:]).replace("_Unchanged {", "_Launcher {")
    assert inner.replace(' #include "ckprof_folded_stride.hpp"', "") == flat(expected)


def test_a_folded_result_has_no_elements_per_channel(make_instance):
    """Its channels inside of the kernel are those of several pixels."""
    fields = {"elementwise_op": "AddClamp", "vector_size_a": 8, "vector_size_b": 8, "fold_stride": True}
    for direction, d_layouts, broken in (
        ("bwd_data", "G_C", ["elementwise"]),
        ("bwd_data", "NHWGC", []),
        ("fwd", "G_K", []),
    ):
        instance = make_instance(direction=direction, d_layouts=d_layouts, **fields)
        unmet = PIPELINE.unmet_requirements(instance, "gfx942", "2026-06")
        assert [one.rule for one in unmet] == broken, (direction, d_layouts)


def test_says_what_it_is(make_instance):
    instance = make_instance()
    lines = header(instance).splitlines()
    assert lines[0] == "// SPDX-License-Identifier: MIT"
    assert "do not edit" in lines[1]
    assert lines[2] == f"// Kernel: {PIPELINE.kernel_name(instance)}"
    assert lines[4] == f"// Instance: {instance.key}"


POLICY = "GroupedConvUniversalPipelineAgBgCrPolicy"


@pytest.mark.parametrize(
    ("pipeline", "cpp_class", "base", "run"),
    [
        ("compv1", f"GemmPipelineAGmemBGmemCRegV1<P, {POLICY}>", "BaseGemmPipelineAGmemBGmemCRegV1", 1),
        ("basic_async_v1", "GemmPipelineAGmemBGmemCRegAsyncV1<P>", "BaseGemmPipelineAGmemBGmemCRegV1", 1),
        ("compv2", f"GemmPipelineAGmemBGmemCRegV2<P, {POLICY}>", "BaseGemmPipelineAGmemBGmemCRegV2", 2),
        ("mem", f"GemmPipelineAgBgCrMem<P, {POLICY}>", "BaseGemmPipelineAgBgCrMem", 2),
        ("compv3", f"GemmPipelineAgBgCrCompV3<P, {POLICY}>", "BaseGemmPipelineAgBgCrCompV3", 2),
        ("compv4", "GemmPipelineAgBgCrCompV4<P>", "BaseGemmPipelineAgBgCrCompV4", 2),
        ("compv5", "GemmPipelineAgBgCrCompV5<P>", "BaseGemmPipelineAgBgCrCompV5", 2),
        ("compv6", "GemmPipelineAgBgCrCompV6<P>", "BaseGemmPipelineAgBgCrCompV6", 2),
        ("comp_async", "GemmPipelineAgBgCrCompAsync<P>", "BaseGemmPipelineAgBgCrCompAsync", 2),
        ("comp_tdm", "GemmPipelineAgBgCrCompTDMV1<P>", "BaseGemmPipelineAgBgCrCompTDM", 2),
        ("comp_tdm_v2", "GemmPipelineAgBgCrCompTDMV2<P>", "BaseGemmPipelineAgBgCrCompTDM", 2),
        ("wavelet", f"GemmPipelineAgBgCrWavelet<P, {POLICY}, 4>", "GemmPipelineAgBgCrWavelet", 0),
    ],
)
def test_gemm_pipelines(pipeline, cpp_class, base, run, make_instance):
    doubled, moved = pipeline in ("compv4", "comp_async"), "tdm" in pipeline
    text = flat(header(make_instance(pipeline=pipeline, double_smem_buffer=doubled)))
    assert f"using ConvEpilogue = {'Tdm' if moved else 'CShuffle'}Epilogue<" in text
    assert ("it adds nothing to what is there" in text, "tdm_epilogue.hpp" in text) == (moved, moved)
    assert f"using ConvPipeline = {cpp_class.replace('<P', '<UniversalGemmProblem')};" in text
    assert f"using BaseGemmPipeline = {base}<LoopProblem>;" in text
    call = {
        0: " Run(has_hot_loop, tail_num);",
        1: "BaseGemmPipeline::TailHandler(Run, has_hot_loop);",
        2: "BaseGemmPipeline::TailHandler(Run, has_hot_loop, tail_num);",
    }[run]
    assert call in text
    assert ("const TailNumber tail_num" in text) == (run != 1)


def arguments(text, alias):
    """Return the template arguments of ``using alias = Template<...>;``, split at top level."""
    (found,) = re.findall(rf"(?:using {alias} = |struct {alias} : )\w+<(.*?)>(?:;| {{)", text)
    parts, depth = [""], 0
    for character in found:
        depth += {"<": 1, ">": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def test_template_arguments(make_instance):
    text = flat(header(make_instance()))
    c, f, t = "Config::", "FixedParams::", "GroupedConvTraitsType::"
    through = "element_wise::PassThrough"
    vectors = [f"{c}VectorSizeA", f"{c}VectorSizeB"]
    assert arguments(text, "GroupedConvTraitsType") == [
        *("NDimSpatial", "ConvSpec", f"{c}InLayout", f"{c}WeiLayout", "tuple<>", f"{c}OutLayout"),
        *(*vectors, f"{c}VectorSizeC", f"{c}NumGroupsToMerge", f"{c}EnableSplitImage", f"{c}ExplicitGemm"),
    ]
    assert arguments(text, "TilePartitioner") == [
        "GemmShape",
        f"{f}TilePartitionerGroupNum",
        f"{f}TilePartitionerM01",
    ]
    assert arguments(text, "GemmUniversalTraits") == [
        *(f"{f}kPadM", f"{f}kPadN", f"{f}kPadK", f"{c}DoubleSmemBuffer"),
        *(f"{t}AsLayoutFwd", f"{t}BsLayoutFwd", f"{t}CLayoutFwd"),
        *(f"{f}TransposeC", f"{f}UseStructuredSparsity", f"{f}Persistent", f"{c}NumWaveGroups"),
    ]
    assert arguments(text, "LoopProblem") == [
        *("InDataType", "WeiDataType", "AccDataType", "GemmShape"),
        f"{t}template GroupedConvImplicitGemmTraitsFwd<{c}NumWaveGroups>",
        *("InDataType", "WeiDataType", through, through, f"{f}FixedVectorSize", *vectors),
    ]
    assert arguments(text, "UniversalGemmProblem") == [
        *("InDataType", "WeiDataType", "AccDataType", "GemmShape", "GemmUniversalTraits", f"{c}Scheduler"),
        *(through, through, "InDataType", "WeiDataType", f"{f}FixedVectorSize", *vectors),
    ]
    (epilogue,) = arguments(text, "ConvEpilogue")
    assert arguments(f"using X = {epilogue};", "X") == [
        *("InDataType", "WeiDataType", "tuple<>", "AccDataType", "OutDataType"),
        *(f"{t}ImplicitGemmDsLayout", f"{f}ELayout", through),
        *("TilePartitioner::MPerBlock", "TilePartitioner::NPerBlock"),
        *(f"{c}M_Warp", f"{c}N_Warp", f"{c}M_Warp_Tile", f"{c}N_Warp_Tile", f"{c}K_Warp_Tile"),
        *(f"{f}TransposeC", f"{c}NumWaveGroups", f"{f}FixedVectorSize", f"{c}VectorSizeC", "1"),
        f"{c}DoubleSmemBuffer",
    ]
    assert arguments(text, "Kernel") == [
        "GroupedConvTraitsType",
        "TilePartitioner",
        "ConvPipeline",
        "ConvEpilogue",
    ]


def test_no_alias_hides_the_template_of_its_name(make_instance):
    text = flat(header(make_instance()))
    for alias, template in re.findall(r"using (\w+) = (?:typename )?(\w+)<", text):
        assert alias != template
    assert len(re.findall(r"using GemmShape =", text)) == 1


@pytest.mark.parametrize(
    ("layout", "tags", "ndim"),
    [
        ("nwgc", ("NWGC", "GKXC", "NWGK"), 1),
        ("nhwgc", ("NHWGC", "GKYXC", "NHWGK"), 2),
        ("ndhwgc", ("NDHWGC", "GKZYXC", "NDHWGK"), 3),
    ],
)
@pytest.mark.parametrize(("dtype", "cpp"), [("fp16", "half_t"), ("bf16", "bf16_t"), ("fp32", "float")])
def test_layouts_and_types(layout, tags, ndim, dtype, cpp, make_instance):
    text = flat(header(make_instance(layout=layout, dtype=dtype)))
    for tensor, tag in zip(("In", "Wei", "Out"), tags, strict=True):
        assert f"using {tensor}Layout = tensor_layout::convolution::{tag};" in text
        assert f"using {tensor}DataType = {cpp};" in text
    assert "using AccDataType = float;" in text
    assert f"static constexpr index_t NDimSpatial = {ndim};" in text


def test_architecture_is_quoted(make_instance):
    assert 'TargetArch = "gfx942:\\"x\\\\";' in header(make_instance(), arch='gfx942:"x\\')
