"""Which lines are types of the old library, and which types these are."""

import os
import re
from collections import Counter

import pytest

from ckprof.lists.list_files import read_list
from ckprof.model.conversion import ListReading
from ckprof.paths import conf_root
from ckprof_plugins.old_ck import joining
from ckprof_plugins.old_ck.cpp_types import cpp_type, lacking
from ckprof_plugins.old_ck.lines import OLD_CK

LEVEL = "2025-11"
#: (instances with D tensors and operations among them)
MAPPED = {
    "forward": 3452,
    "forward_two_tensors": 56,
    "forward_v3": 4875,
    "forward_large_tensor": 77,
    "backward_data": 800,
    "backward_weight": 248,
    "backward_weight_v3": 144,
    "backward_weight_two_stage": 196,
    "backward_weight_multiple_d_xdl": 154,
}
REFUSED = {
    "comment line": 52,
    "universal GEMM": 1188,
    "native backward-weight kernel": 204,
    "depthwise forward": 26,
    "backward-weight explicit GEMM": 632,
    "short backward-data XDL": 468,
    "short forward XDL": 457,
    "short forward XDL V3": 1029,
    "short forward XDL V3 with direct load": 48,
    "short forward large tensor": 16,
}

OPERAND = "Sequence<4,16,1>, Sequence<1,0,2>, Sequence<1,0,2>, 2, 1, 8, true"
LOADED = "Seq(4,16,1),Seq(1,0,2),Seq(1,0,2),2,1,8,true"
PLAIN = "PassThrough, PassThrough, PassThrough"
WEIGHT_V3 = (
    "DeviceGroupedConvBwdWeight_Xdl_CShuffleV3<2,NHWGC,GKYXC,NHWGK,bf16,bf16,bf16,fp32,PassThrough,PassThrough,"
    f"PassThrough,Default,64,32,32,32,8,32,32,1,1,{LOADED},{LOADED},1,1,Seq(1,8,1,8),1,Intrawave,v2,bf16,bf16"
)
FORWARD_V3 = (
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<2,NHWGC,GKYXC,Tuple(NHWGK),NHWGK,fp16,fp16,fp32,fp16,"
    "Tuple(fp16),fp16,PassThrough,PassThrough,AddClamp,OddC,MNKPadding,256,128,128,64,16,16,32,32,2,2,"
    f"{LOADED},{LOADED},1,1,Seq(1,32,1,8),8,Interwave,v1,fp16,fp16,false"
)
DL_SIZES = ("4,2", "1,1", "2,1,2,1", "1,1,8,1", "1,2,0,3", "1,2,0,3", "1,1,1,1", "1,2,0,3", "1,1,1,1")
DL_SIZES = (*DL_SIZES, "1,1,1,1", "2,1,4,1", *DL_SIZES[4:8], "1,1,1,1", "0,1,2,3,4,5")
#: a line, and the type as the library's own sources would write it, without namespaces
TYPES = {
    f"{FORWARD_V3},1>": (
        "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<2, NHWGC, GKYXC, Tuple<NHWGK>, NHWGK, half_t, "
        "half_t, float, half_t, Tuple<half_t>, half_t, PassThrough, PassThrough, AddClamp, "
        "ConvolutionForwardSpecialization::OddC, GemmSpecialization::MNKPadding, 256, 128, 128, 64, 16, 16, "
        f"32, 32, 2, 2, {OPERAND}, {OPERAND}, 1, 1, Sequence<1,32,1,8>, 8, "
        "BlockGemmPipelineScheduler::Interwave, BlockGemmPipelineVersion::v1, half_t, half_t, false>"
    ),
    # the name with the version, the shuffle type, and the prefetch stages but once
    "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle<3,NDHWGK,GKZYXC,EmptyTuple,NDHWGC,bf16,bf16,fp32,"
    "EmptyTuple,bf16,PassThrough,PassThrough,PassThrough,Filter1x1Stride1Pad0,1,0,1,64,64,32,32,8,8,32,32,2,"
    f"1,{LOADED},{LOADED},1,1,Seq(1,16,1,4),1,1,Default,bf16,bf16,1,4>": (
        "DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle_v1<3, NDHWGK, GKZYXC, Tuple<>, NDHWGC, bhalf_t, "
        f"bhalf_t, float, bhalf_t, Tuple<>, bhalf_t, {PLAIN}, "
        "ConvolutionBackwardDataSpecialization::Filter1x1Stride1Pad0, 1, 0, 1, 64, 64, 32, 32, 8, 8, 32, 32, "
        f"2, 1, {OPERAND}, {OPERAND}, 1, 1, Sequence<1,16,1,4>, 1, LoopScheduler::Default, bhalf_t, bhalf_t, "
        "1, 4>"
    ),
    # the last two arguments of the line are of later releases
    f"{WEIGHT_V3},0,1>": (
        "DeviceGroupedConvBwdWeight_Xdl_CShuffleV3<2, NHWGC, GKYXC, NHWGK, bhalf_t, bhalf_t, bhalf_t, float, "
        f"{PLAIN}, ConvolutionBackwardWeightSpecialization::Default, 64, 32, 32, 32, 8, 32, 32, 1, 1, "
        f"{OPERAND}, {OPERAND}, 1, 1, Sequence<1,8,1,8>, 1, BlockGemmPipelineScheduler::Intrawave, "
        "BlockGemmPipelineVersion::v2, bhalf_t, bhalf_t>"
    ),
    # kernels without matrix instructions
    "DeviceGroupedConvFwdDlMultipleD_NHWC_KYXC_NHWK<2,fp16,fp16,EmptyTuple,fp16,fp32,NHWGC,GKYXC,EmptyTuple,"
    "NHWGK,PassThrough,PassThrough,PassThrough,Default,MNKPadding,8,16,4,2,1,1,2,1,"
    f"{','.join(f'Seq({sizes})' for sizes in DL_SIZES)},5,1>": (
        "DeviceGroupedConvFwdDlMultipleD_NHWC_KYXC_NHWK<2, half_t, half_t, Tuple<>, half_t, float, NHWGC, "
        f"GKYXC, Tuple<>, NHWGK, {PLAIN}, ConvolutionForwardSpecialization::Default, "
        "GemmSpecialization::MNKPadding, 8, 16, 4, 2, 1, 1, 2, 1, "
        f"{', '.join(f'Sequence<{sizes}>' for sizes in DL_SIZES)}, 5, 1>"
    ),
}
NAMESPACES = re.compile(r"ck::(tensor_operation::(device|element_wise)::|tensor_layout::convolution::)?")


def read(text, folder, registry, name="list.conf"):
    path = folder / name
    path.write_text(text)
    return read_list(path, registry, reading=ListReading(library=OLD_CK))


def record_of(line, folder, registry):
    (catalog,) = read(f"{line}\n", folder, registry).catalogs
    (record,) = catalog.records
    return record


@pytest.mark.parametrize("line", TYPES)
def test_a_line_is_a_type(line, tmp_path, registry):
    record = record_of(line, tmp_path, registry)
    assert f"{line[: line.index('<')]}<{record.arguments}".startswith(line[:-1])
    written = cpp_type(record.old_class, record.arguments, LEVEL)
    assert NAMESPACES.sub("", written) == TYPES[line]


@pytest.mark.parametrize(
    ("line", "name", "said"),
    [(f"{FORWARD_V3},2>", "num_groups_to_merge", "2"), (f"{WEIGHT_V3},1,1>", "direct_load", "1")],
)
def test_what_a_state_lacks_is_named(line, name, said, tmp_path, registry):
    record = record_of(line, tmp_path, registry)
    why = lacking(record.old_class, record.arguments, LEVEL)
    assert why and why.message == (
        f"{line[: line.index('<')]} of {LEVEL} has no argument for {name}, and the line says {said}"
    )
    why = lacking(record.old_class, record.arguments, "2026-06")
    assert why and why.message == f"the old library is known as of {LEVEL}, the headers are of 2026-06"


def test_operations_that_are_combined_of_others(tmp_path, registry):
    line = f"{FORWARD_V3},1>".replace("AddClamp", "UnaryCombinedOp").replace("Tuple(NHWGK)", "EmptyTuple")
    line = line.replace("Tuple(fp16)", "EmptyTuple")
    said = f'{line}  # ckprof: elementwise_op="ConvScaleRelu"'
    conversion = read(f"{line}\n{said}\n", tmp_path, registry)
    assert [why.rule for why in conversion.dropped.values()] == ["missing-information"]
    (record,) = conversion.catalogs[0].records
    pipeline, instance = registry.instance_of(conversion.catalogs[0], record)
    element = "ck::tensor_operation::element_wise::"
    operation = f"{element}UnaryCombinedOp<{element}Scale, {element}Scale, {element}Relu>"
    header = pipeline.render(instance, "gfx942", LEVEL).header
    assert f" {operation}, ck::tensor_operation::device::Conv" in header
    made = "Scale{e.scale_in * e.scale_wei}, Scale{e.scale_out}, Relu{}"
    assert f"return {operation}{{{made}}};".replace(element, "") in header.replace(element, "")


SHORT = (
    "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<256, 128, 128, 64, Default, 32, 32, 2, 2, 8, 8, 8, 1, "
    "1, BlkGemmPipelineScheduler: Interwave, BlkGemmPipelineVersion: v1>"
)


def test_type_strings_stand_for_instances_in_their_order(tmp_path, registry, monkeypatch):
    known = [f"{FORWARD_V3},1>".replace(",16,16,", f",{k1},{k1},") for k1 in (8, 16)]
    asked = []

    def instances(*key):
        asked.append(key)
        return {SHORT: known}

    monkeypatch.setattr(joining, "instances_of", instances)
    conversion = read(f"{SHORT}\n\n{SHORT}  # again\n", tmp_path, registry, "nhwgc_fp16.conf")
    (catalog,) = conversion.catalogs
    assert [f"{known[0][: known[0].index('<')]}<{one.arguments}>" for one in catalog.records] == known
    assert [conversion.source_lines[catalog.variant, one.id] for one in catalog.records] == [1, 3]
    assert asked == [("fwd", "nhwgc", "fp16", None)]
    # the tree that the command names
    reading = ListReading(library=OLD_CK, plugin_options={"ck_root": tmp_path / "tree"})
    assert read_list(tmp_path / "nhwgc_fp16.conf", registry, reading=reading).catalogs
    assert asked[-1][-1] == tmp_path / "tree"
    # one of two: which?
    (why,) = read(f"{SHORT}\n{known[0]}\n", tmp_path, registry, "nhwgc_fp16.conf").dropped.values()
    assert why.message.startswith("short forward XDL V3: it does not say all template arguments, and no tree")


def counts(registry):
    """Return how many lines of shipped lists are types, by family, and how many are refused, by title."""
    mapped, refused = Counter(), Counter()
    for path in sorted(conf_root().rglob("*.conf")):
        conversion = read_list(path, registry, reading=ListReading(library=OLD_CK))
        for catalog in conversion.catalogs:
            for record in catalog.records:
                mapped[record.old_class] += 1
                assert lacking(record.old_class, record.arguments, LEVEL) is None
                if "Combined" not in record.arguments:
                    written = cpp_type(record.old_class, record.arguments, LEVEL)
                    assert not re.search(r"Seq\(|EmptyTuple", written)
        refused.update(why.message.partition(":")[0] for why in conversion.dropped.values())
    return mapped, refused


@pytest.mark.thorough
def test_lines_of_shipped_lists(registry, monkeypatch):
    monkeypatch.setattr(joining, "instances_of", lambda *_: {})
    mapped, refused = counts(registry)
    assert mapped == MAPPED and sum(mapped.values()) == 10_002
    assert refused == REFUSED


@pytest.mark.amd
def test_type_strings_of_shipped_lists(registry, monkeypatch):
    """The tree of ``$CK_BUILDER_ROOT`` has the arguments of each, and no shuffle type of its own."""
    root = os.environ.get("CK_BUILDER_ROOT")
    if not root:
        pytest.skip("CK_BUILDER_ROOT names no tree of November 2025")
    monkeypatch.setenv("CK_ROOT", root)
    joining.instances_of.cache_clear()
    mapped, refused = counts(registry)
    assert sum(mapped.values()) == 12_020
    assert refused == {title: count for title, count in REFUSED.items() if not title.startswith("short")}
