"""Instances whose operands are rounded to TF32 before they are multiplied."""

import json
from pathlib import Path

import pytest
from families import broken, flat, header, pipeline_of

from ckprof.errors import InputError
from ckprof.lists.catalogs import read_catalog, render_catalog
from ckprof.model.types import ComputeType, DataType, TypeSet
from ckprof_converters import catalog_variants
from ckprof_plugins.pipelines.gemm_families import StreamKPipeline, TwoStagePipeline

TF32 = {"dtype": "fp32", "compute_type": "tf32"}
FAMILIES = {
    "forward": {},
    "backward data": {"direction": "bwd_data"},
    "backward weight": {"direction": "bwd_weight"},
    "two-stage": {"direction": "bwd_weight", "family": TwoStagePipeline, "two_stage": True},
    "stream-K": {
        **{"direction": "bwd_weight", "family": StreamKPipeline, "streamk_enabled": True},
        "streamk_reduction_strategy": "TREE",
    },
}


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_the_type_of_the_operands_is_the_same_as_none(dtype, make_instance):
    assert make_instance(dtype=dtype, compute_type=dtype) == make_instance(dtype=dtype)


@pytest.mark.parametrize("text", ["TF32", "xf32", "fp16", ""])
def test_unknown_types_are_errors(text, make_instance):
    with pytest.raises(InputError, match=f"compute_type is '{text}', expected one of tf32"):
        make_instance(dtype="fp32", compute_type=text)


def test_products_are_no_better_than_what_is_multiplied(make_instance):
    types = make_instance(**TF32).types
    assert types.compute is types.compute_type is ComputeType.TF32
    assert types.of_tensors == (DataType.FP32,) * 3
    assert types.acc is DataType.FP32
    assert make_instance(dtype="fp32").types == TypeSet.shared(DataType.FP32)


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_other_operands_are_not_rounded(dtype, make_instance):
    instance = make_instance(dtype=dtype, compute_type="tf32")
    assert "compute-type" in broken(instance, "gfx942")
    (found,) = (
        one
        for one in pipeline_of(instance).unmet_requirements(instance, "gfx942", "2026-06")
        if one.rule == "compute-type"
    )
    assert found.message == f"compute_type tf32 rounds operands of fp32, these are {dtype}"
    assert "compute-type" not in broken(make_instance(**TF32), "gfx942")


@pytest.mark.parametrize("changes", FAMILIES.values(), ids=FAMILIES)
def test_headers_say_it_where_operands_are_multiplied(changes, make_instance):
    rounded = flat(header(make_instance(**{**changes, **TF32}), "gfx942"))
    plain = flat(header(make_instance(**{**changes, "dtype": "fp32"}), "gfx942"))
    assert "using ComputeDataType = tf32_t;" in rounded
    assert "ComputeDataType" not in plain
    factors = "Config::ComputeDataType, Config::ComputeDataType"
    # of the GEMM's problem, of the epilogue, and where there is one of the problem that is asked about loops
    loops = "LoopProblem" in plain
    assert rounded.count(factors) == 2 + loops
    assert f"element_wise::PassThrough, element_wise::PassThrough, {factors}, FixedParams" in rounded
    assert f"CShuffleEpilogueProblem<{factors}, tuple<>, AccDataType" in rounded
    # what is in memory stays what it is
    assert "using InDataType = float; using WeiDataType = float;" in rounded
    in_memory = plain.partition("UniversalGemmPipelineProblem<")[2].partition(", AccDataType")[0]
    assert f"UniversalGemmPipelineProblem<{in_memory}, AccDataType" in rounded


def test_instance_strings_do_not_show_it(make_instance):
    """CK Tile's text names the types of tensors only; the name of the kernel tells the two apart."""
    rounded, plain = make_instance(**TF32), make_instance(dtype="fp32")
    family = pipeline_of(plain)
    assert family.instance_string(rounded) == family.instance_string(plain)
    assert family.kernel_name(rounded) == f"{family.kernel_name(plain)}_tf32"
    assert rounded.key != plain.key


def test_catalogs_have_the_key_only_where_it_says_something(make_record):
    absent = (
        *("compute_type", "elementwise_op", "d_layouts", "dtype_b", "dtype_result", "d_dtypes"),
        *("fold_stride", "store_immediate", "channel_padding"),
    )
    record = {name: value for name, value in vars(make_record()).items() if name not in absent}
    document = {
        **{"variant": "forward", "ndim_spatial": 2, "layout": "nhwgc", "datatype": "fp32"},
        "instances": [record, {**record, "id": 8, "compute_type": "tf32"}],
    }
    text = json.dumps(document, indent=2)
    catalog = read_catalog(text.encode(), Path("list.json"), {one.name: one for one in catalog_variants()})
    assert [one.compute_type for one in catalog.records] == [None, "tf32"]
    assert render_catalog(catalog) == text
