"""What holds for the kernels of every family and direction."""

import dataclasses
import re

import pytest
from families import ARCH, FAMILIES, GOLDEN, LEVEL, STREAM_K, TWO_STAGE, depthwise, flat, header, pipeline_of

from ckprof.errors import InputError
from ckprof_converters import catalog_variants
from ckprof_plugins.directions._convolution.kernel import Zeroing
from ckprof_plugins.pipelines.family import built_in_operations, rejection
from tests.convolutions import convolution


@pytest.fixture(params=[*GOLDEN, "depthwise"])
def instance(request, make_instance):
    return depthwise() if request.param == "depthwise" else make_instance(**GOLDEN[request.param])


def test_golden(instance, golden):
    source = pipeline_of(instance).render(instance, ARCH, LEVEL)
    golden(f"kernels/{source.name}.hpp", source.header)
    assert source.launcher == f"{source.name}_Launcher" and source.name.isidentifier()


def test_headers_say_what_they_are_and_depend_on_nothing_else(instance):
    assert header(instance) == header(dataclasses.replace(instance, id=99))
    assert not re.search(r"20\d\d-\d\d-\d\d|/home|/tmp|/work", header(instance))
    lines = header(instance).splitlines()
    assert lines[0] == "// SPDX-License-Identifier: MIT"
    assert "do not edit" in lines[1]
    assert lines[2] == f"// Kernel: {pipeline_of(instance).kernel_name(instance)}"
    assert lines[4] == f"// Instance: {instance.key}"


def test_the_launcher_has_what_the_c_interface_asks_for(instance):
    text = flat(header(instance))
    for member in (
        "static bool rejects(const ck_tile::conv::ConvParam& param, int k_batch, "
        "void (*report)(void*, const char*, const char*), void* context)",
        "static bool is_supported(const ck_tile::conv::ConvParam& param, int k_batch)",
        "static float launch(const HostArgs& args, const stream_config& s)",
        "static constexpr index_t NDimSpatial = ",
        "static std::string get_instance_string()",
    ):
        assert member in text.replace("[[maybe_unused]] ", ""), member
    deduces = instance.direction == "bwd_weight" and instance.pipeline != "stream_k"
    assert ("static int deduce_split_k(" in text) == deduces
    has_workspace = instance.pipeline in ("two_stage", "stream_k")
    assert ("static std::size_t workspace_bytes(" in text) == has_workspace


def test_headers_name_what_they_use(instance):
    """Nothing may rest on what another header happens to include."""
    text = header(instance)
    for used, included in {
        "std::runtime_error": "<stdexcept>",
        "std::gcd": "<numeric>",
        "std::string": "<string>",
        "std::uint32_t": "<cstdint>",
        "ckprof::workspace": '"ckprof_workspace.hpp"',
        "make_kernel": '"ck_tile/host/kernel_launch.hpp"',
    }.items():
        assert used not in text or f"#include {included}" in text, used


def test_no_launch_allocates(instance):
    """Upstream allocates and frees its workspace on every call."""
    launch = flat(header(instance)).partition("static float launch")[2]
    assert "DeviceMem " not in launch and "hipMalloc" not in launch and "hipFree" not in launch


def test_element_counts_are_64_bits_wide(instance):
    text = flat(header(instance))
    if "result_elements" in text:
        assert "static long_index_t result_elements(" in text
        assert "long_index_t elements = " in text


@pytest.mark.parametrize(
    ("variant", "record", "owner"),
    [
        ("forward", {}, "implicit_gemm"),
        ("bwd_data", {}, "implicit_gemm"),
        ("bwd_weight", {}, "implicit_gemm"),
        ("bwd_weight", {"two_stage": True}, "two_stage"),
        ("bwd_weight", {"streamk_enabled": True}, "stream_k"),
        # upstream: stream-K decides what is emitted
        ("bwd_weight", {"streamk_enabled": True, "two_stage": True}, "stream_k"),
    ],
)
def test_the_variant_of_a_record_names_its_family(variant, record, owner, make_record):
    (found,) = [one for one in catalog_variants() if one.name == variant]
    assert found.pipeline_of(make_record(**record)) == owner and owner in FAMILIES


def test_depthwise_records_are_told_by_their_variant():
    assert [one.name for one in catalog_variants() if one.pipeline == "depthwise"] == ["forward_depthwise"]


def test_families_do_not_share_names_or_keys(make_instance):
    instances = [make_instance(**changes) for changes in GOLDEN.values()]
    same = {"dtype": "fp16", "layout": "nhwgc"}
    instances += [
        make_instance(**same, direction="bwd_weight"),
        make_instance(**{**TWO_STAGE, **same}),
        make_instance(**{**STREAM_K, **same}),
        make_instance(**{**STREAM_K, **same, "streamk_reduction_strategy": "LINEAR"}),
        make_instance(**{**STREAM_K, **same, "streamk_persistent": True}),
        make_instance(**{**STREAM_K, **same, "two_stage": True}),
    ]
    assert len({i.key for i in instances}) == len(instances)
    assert len({pipeline_of(i).kernel_name(i) for i in instances}) == len(instances)


def test_only_depthwise_asks_for_a_problem_of_its_own(instance):
    usual = convolution("2 1 1 8 8 3 3 9 9 1 1 1 1 1 1 1 1")
    own = pipeline_of(instance).default_problem(instance, usual)
    assert (own is usual) == (instance.pipeline != "depthwise")


def test_zeroing(make_instance):
    """Backward data leaves elements without a tap alone; splits add; everything else stores each element."""
    assert built_in_operations()["fwd"].zeroing is Zeroing.NEVER
    assert "hipMemsetAsync" not in header(make_instance())
    data = flat(header(make_instance(direction="bwd_data")))
    assert "const auto zero_result = [&] { const auto bytes" in data
    weight = flat(header(make_instance(direction="bwd_weight")))
    assert "const auto zero_result = [&] { if(!(kargs.k_batch > 1)) { return; } const auto bytes" in weight
    two_stage = flat(header(make_instance(**TWO_STAGE)))
    assert "if(kargs.k_batch > 1) { hip_check_error(hipMemsetAsync(workspace, 0, bytes" in two_stage
    stream_k = flat(header(make_instance(**STREAM_K)))
    assert "if(bytes > 0) { hip_check_error(hipMemsetAsync(workspace, 0, bytes" in stream_k


@pytest.mark.parametrize(
    ("direction", "roles", "pointer"),
    [
        ("fwd", ("InDataType", "WeiDataType", "OutDataType"), "out_ptr"),
        ("bwd_data", ("OutDataType", "WeiDataType", "InDataType"), "in_ptr"),
        ("bwd_weight", ("OutDataType", "InDataType", "WeiDataType"), "wei_ptr"),
    ],
)
def test_roles_of_the_tensors(direction, roles, pointer, make_instance):
    operation = built_in_operations()[direction]
    assert (operation.a_type, operation.b_type, operation.c_type) == roles
    assert operation.result_pointer == pointer
    text = flat(header(make_instance(direction=direction)))
    assert f"UniversalGemmPipelineProblem<{roles[0]}, {roles[1]}, AccDataType" in text
    assert f"AsLayout{operation.traits_suffix}" in text


def test_reasons_hold_numbers():
    made = rejection("split-k", "k_batch != 1", "split_k = {k_batch}: not {2 * k_batch}, nor 1")
    assert made.reason == (
        'std::string("split_k = ") + std::to_string(k_batch) + ": not " + std::to_string(2 * k_batch) + '
        '", nor 1"'
    )
    assert rejection("x", "a", "{param.G_} groups").reason == 'std::to_string(param.G_) + " groups"'
    assert rejection("x", "a", "no numbers").reason == 'std::string("no numbers")'


def test_depthwise_instances_have_sizes_of_their_own():
    with pytest.raises(InputError, match="sub_w is 0, expected 1 or more"):
        depthwise(sub_w=0)
