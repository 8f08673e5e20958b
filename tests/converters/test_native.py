"""Catalogs as native lines, and back."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.model.catalog import Catalog
from ckprof.model.conversion import ConversionRequest
from ckprof.model.types import SHARED_TYPES, DataType
from ckprof.paths import conf_root
from ckprof_converters.converter import ConfConverter
from ckprof_converters.families import FAMILIES
from ckprof_converters.native import native_line, to_native
from ckprof_converters.records import DepthwiseRecord, GemmRecord
from ckprof_plugins.directions._convolution.layout import find_layout
from tests.cases import each
from tests.convolution_lists import CONVOLUTION_LISTS

from .samples import FAMILIES as SAMPLES
from .samples import SHORT, arguments, change, line

CONVERTER = ConfConverter(FAMILIES)


def convert(lines, name="x.conf", **request):
    data = "\n".join(lines).encode()
    return CONVERTER.convert(ConversionRequest(path=Path(name), data=data, **request))


@pytest.mark.parametrize(
    "family", ["native_forward", "native_backward_data", "native_backward_weight", "depthwise"]
)
def test_native_lines_are_written_as_they_were_read(family):
    text = line(family)
    (catalog,) = convert([text], dtype=DataType.FP16).catalogs
    assert to_native(catalog) == [text]


def _extents():
    return st.integers(1, 512)


RECORDS = st.builds(
    GemmRecord,
    id=st.just(0),
    **{
        name: _extents()
        for name in GemmRecord.__struct_fields__
        if name.startswith(("tile", "warp", "vector"))
    },
    pipeline=st.sampled_from(
        "compv1 basic_v1 mem compv3 compv4 compv5 compv6 basic_async_v1 comp_async wavelet".split()
    ),
    scheduler=st.sampled_from(["intrawave", "interwave", "default"]),
    epilogue=st.just("cshuffle"),
    double_smem_buffer=st.booleans(),
    num_groups_to_merge=_extents(),
    num_wave_groups=_extents(),
    specialization=st.sampled_from(["default", "filter1x1_pad0", "filter1x1_stride1_pad0", "filter3x3"]),
    two_stage=st.booleans(),
    explicit_gemm=st.booleans(),
    split_image=st.booleans(),
    streamk_enabled=st.booleans(),
    streamk_reduction_strategy=st.sampled_from([None, "0", "LINEAR", "TREE"]),
    streamk_persistent=st.booleans(),
)


def come_back(catalog):
    """Assert that the catalog's lines give the catalog, ids included."""
    (back,) = convert(to_native(catalog), dtype=catalog.dtype).catalogs
    assert back == catalog


@given(
    records=st.lists(RECORDS, min_size=1, max_size=6),
    ids=st.lists(st.integers(0, 40) | st.integers(0, 10**8), min_size=6, max_size=6, unique=True),
    ascending=st.booleans(),
    variant=st.sampled_from(["forward", "bwd_data", "bwd_weight"]),
    layout=st.sampled_from(["nhwgc", "ndhwgc", "ngchw", "nwgc"]),
    dtype=st.sampled_from(SHARED_TYPES),
)
def test_any_catalog_comes_back(records, ids, ascending, variant, layout, dtype):
    found = find_layout(layout)
    ids = sorted(ids) if ascending else ids
    with_ids = []
    for id_, record in zip(ids, records, strict=False):
        if record.streamk_enabled and record.streamk_reduction_strategy is None:
            record = msgspec.structs.replace(record, streamk_reduction_strategy="TREE")
        record = msgspec.structs.replace(
            record,
            tile_m=record.tile_m * record.warp_m * record.warp_tile_m,
            tile_n=record.tile_n * record.warp_n * record.warp_tile_n,
        )
        asynchronous = record.pipeline in ("basic_async_v1", "comp_async")
        if record.streamk_enabled and dtype is DataType.FP32 and asynchronous:
            record = msgspec.structs.replace(record, pipeline="compv3")
        with_ids.append(msgspec.structs.replace(record, id=id_))
    catalog = Catalog(variant=variant, ndim=found.ndim, layout=found, dtype=dtype, records=tuple(with_ids))
    come_back(catalog)


@given(
    records=st.lists(
        st.builds(
            DepthwiseRecord, id=st.just(0), **{n: _extents() for n in DepthwiseRecord.__struct_fields__[1:]}
        ),
        min_size=1,
        max_size=4,
    ),
    gap=st.integers(0, 3),
)
def test_any_depthwise_catalog_comes_back(records, gap):
    found = find_layout("ngchw")
    with_ids = tuple(
        msgspec.structs.replace(record, id=index * (gap + 1)) for index, record in enumerate(records)
    )
    come_back(
        Catalog(variant="forward_depthwise", ndim=2, layout=found, dtype=DataType.FP16, records=with_ids)
    )


#: numbers and words that lines of any family may hold
VALUES = st.sampled_from(
    [
        *"0 1 2 4 8 16 32 64 128 256 true false v1 v2 v3 v4 v5 Intrawave Interwave Default OddC".split(),
        *"Filter1x1Pad0 Filter1x1Stride1Pad0 Filter3x3 BASIC_V1 MEMORY COMPUTE_V3 COMPUTE_V4".split(),
        *"COMPUTE_V5 COMPUTE_V6 WAVELET COMPUTE_ASYNC".split(),
        *("BlkGemmPipelineVersion: v6", "VmemReadVec: 4x2xSeq(1)", "WaveMap: 1x2"),
    ]
)


@given(family=st.sampled_from(SAMPLES), dtype=st.sampled_from(SHARED_TYPES), data=st.data())
@settings(max_examples=400)
def test_lines_of_every_family_come_back(family, dtype, data):
    """List to catalog to native lines to catalog: nothing is lost, whatever the list says."""
    text = line(family, dtype.value)
    lines = []
    for _ in range(data.draw(st.integers(1, 3))):
        changed = text
        for _ in range(data.draw(st.integers(0, 3))):
            changed = change(changed, data.draw(st.integers(1, len(arguments(text)))), data.draw(VALUES))
        lines += ["# a gap", changed, text]
    request = {"lenient": True, "dtype": dtype}
    if family in SHORT:
        request["layout"] = find_layout("nhwgc")
    for catalog in convert(lines, **request).catalogs:
        if catalog.records:
            come_back(catalog)


@pytest.mark.thorough
@each(name=CONVOLUTION_LISTS)
def test_every_shipped_list_comes_back(name):
    path = conf_root() / name
    for catalog in CONVERTER.convert(ConversionRequest(path=path, data=path.read_bytes())).catalogs:
        if catalog.records:
            come_back(catalog)


def test_equal_records_of_joined_lists_come_back():
    (catalog,) = convert([line("native_forward")]).catalogs
    (record,) = catalog.records
    come_back(replace(catalog, records=(record, msgspec.structs.replace(record, id=5))))


def test_what_the_text_does_not_say_stands_behind_it():
    (catalog,) = convert(
        [line("backward_weight_two_stage").replace("Seq(1,8,1,8),1", "Seq(1,8,1,8),2")]
    ).catalogs
    (text,) = to_native(catalog)
    assert text.endswith(",PassThrough,0>  # ckprof: two_stage=true")
    assert text.partition(" ")[0] == native_line(catalog, catalog.records[0])


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("two_stage", "expected field=value in an annotation, got 'two_stage'"),
        ("stages=2", "an annotation sets stages, which catalogs do not have"),
        ("two_stage=2", "an annotation sets two_stage to '2', which it cannot be"),
        ("tile_m=0", "an annotation sets tile_m to '0', which it cannot be"),
    ],
)
def test_wrong_remarks(annotation, message):
    text = line("native_forward")
    with pytest.raises(InputError) as caught:
        convert([f"  {text}  # ckprof: {annotation}"])
    assert str(caught.value) == f"x.conf:1:{len(text) + 14}: {message}"


def test_an_id_that_two_lines_have():
    text = line("native_forward")
    with pytest.raises(InputError, match=r"x\.conf:2:1: the id 0 is already that of line 1"):
        convert([text, f"{text} # ckprof: id=0"])


def test_what_has_no_native_spelling():
    (catalog,) = convert([line("native_forward")]).catalogs
    record = msgspec.structs.replace(catalog.records[0], pipeline="fast")
    with pytest.raises(InputError, match="instance 0: pipeline 'fast' has no native form"):
        native_line(catalog, record)
    other = msgspec.structs.replace(catalog.records[0], scheduler="none")
    with pytest.raises(InputError, match="scheduler 'none'"):
        native_line(catalog, other)
    uneven = msgspec.structs.replace(catalog.records[0], tile_m=catalog.records[0].tile_m + 1)
    with pytest.raises(
        InputError, match=r"instance 0 cannot be said in a list: tile_m .* is not a multiple of"
    ):
        to_native(replace(catalog, records=(uneven,)))
    strange = replace(catalog, variant="winograd")
    with pytest.raises(InputError, match="'winograd' has no native form"):
        to_native(strange)


def test_asynchronous_stream_k_of_the_32_bit_type_survives_where_an_annotation_says_it():
    """CK Builder's reading drops such a line; a rule set has such kernels, which a list may name."""
    text = (
        "GroupedConvolutionBackwardWeightKernel<2,Default,NHWGC,GKYXC,EmptyTuple,NHWGK,8,8,8,1,0,0,64,64,64,2,2,"
        "1,16,16,16,fp32,fp32,{},Intrawave,0,1,fp32,fp32,EmptyTuple,PassThrough,1,2,0>"
    )
    (catalog,) = convert([text.format("BASIC_V1")], dtype=DataType.FP32).catalogs
    records = [msgspec.structs.replace(one, pipeline="basic_async_v1") for one in catalog.records]
    asynchronous = replace(catalog, records=tuple(records))
    lines = to_native(asynchronous)
    assert lines == [f'{text.format("BASIC_ASYNC_V1")}  # ckprof: pipeline="basic_async_v1"']
    read = convert(lines, dtype=DataType.FP32)
    assert [one.records for one in read.catalogs] == [tuple(records)]
    dropped = convert([text.format("BASIC_ASYNC_V1")], dtype=DataType.FP32).dropped
    assert [one.rule for one in dropped.values()] == ["streamk-async-float"]
