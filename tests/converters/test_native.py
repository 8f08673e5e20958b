"""Catalogs as native lines, and back."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckprof.errors import InputError
from ckprof.model.catalog import Catalog
from ckprof.model.conversion import ConversionRequest
from ckprof.model.dtype import DataType
from ckprof.model.layout import find_layout
from ckprof.paths import conf_root
from ckprof_converters.converter import ConfConverter
from ckprof_converters.families import FAMILIES
from ckprof_converters.native import native_line, says_all, to_native
from ckprof_converters.records import DepthwiseRecord, GemmRecord

from .samples import line

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
        ["compv1", "mem", "compv3", "compv4", "compv5", "compv6", "basic_async_v1", "wavelet"]
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


@given(
    record=RECORDS,
    variant=st.sampled_from(["forward", "bwd_data", "bwd_weight"]),
    layout=st.sampled_from(["nhwgc", "ndhwgc", "ngchw", "nwgc"]),
    dtype=st.sampled_from(list(DataType)),
)
def test_what_is_said_in_full_comes_back(record, variant, layout, dtype):
    found = find_layout(layout)
    catalog = Catalog(variant=variant, ndim=found.ndim, layout=found, dtype=dtype, records=(record,))
    if record.streamk_enabled and record.streamk_reduction_strategy is None:
        record = msgspec.structs.replace(record, streamk_reduction_strategy="TREE")
    text = native_line(catalog, record)
    back = convert([text]).catalogs[0]
    assert (back.variant, back.layout, back.dtype, back.ndim) == (variant, found, dtype, found.ndim)
    assert (back.records == (record,)) is says_all(catalog, record)


@given(
    record=st.builds(
        DepthwiseRecord, id=st.just(0), **{n: _extents() for n in DepthwiseRecord.__struct_fields__[1:]}
    )
)
def test_depthwise_comes_back(record):
    found = find_layout("ngchw")
    catalog = Catalog(
        variant="forward_depthwise", ndim=2, layout=found, dtype=DataType.FP16, records=(record,)
    )
    assert convert(to_native(catalog), dtype=DataType.FP16).catalogs == (catalog,)
    assert says_all(catalog, record)


@pytest.mark.parametrize("name", ["forward/tests/nhwgc_fp16", "backward_data/tests/ndhwgc_fp32"])
def test_shipped_lists_come_back_as_native_lines(name):
    path = conf_root() / f"{name}.conf"
    (catalog,) = CONVERTER.convert(ConversionRequest(path=path, data=path.read_bytes())).catalogs
    back = convert(to_native(catalog)).catalogs[0]
    assert [msgspec.structs.replace(record, id=0) for record in back.records] == [
        msgspec.structs.replace(record, id=0) for record in catalog.records
    ]


def test_what_has_no_native_spelling():
    (catalog,) = convert([line("native_forward")]).catalogs
    record = msgspec.structs.replace(catalog.records[0], pipeline="fast")
    with pytest.raises(InputError, match="instance 0: pipeline 'fast' has no native spelling"):
        native_line(catalog, record)
    other = msgspec.structs.replace(catalog.records[0], scheduler="none")
    with pytest.raises(InputError, match="scheduler 'none'"):
        native_line(catalog, other)
    strange = Catalog(
        variant="winograd", ndim=2, layout=catalog.layout, dtype=catalog.dtype, records=(record,)
    )
    with pytest.raises(InputError, match="'winograd' has no native spelling"):
        to_native(strange)
