"""Two-stage kernels: names, strings, and what their launcher does."""

import pytest
from families import TWO_STAGE, broken, flat, header, pipeline_of

from ckprof.errors import InputError


def test_name_and_string(make_instance):
    instance = make_instance(**TWO_STAGE)
    assert pipeline_of(instance).kernel_name(instance).endswith("_vec4_4_4_2stage")
    plain = make_instance(direction="bwd_weight")
    text = pipeline_of(instance).instance_string(instance)
    # the type of what the first stage stores is the only difference
    differing = [
        (a, b)
        for a, b in zip(text.split(","), pipeline_of(plain).instance_string(plain).split(","), strict=True)
        if a != b
    ]
    assert differing == [("fp32", "bf16")]


def test_the_first_stage_writes_the_workspace(make_instance):
    text = flat(header(make_instance(**TWO_STAGE)))
    assert "using WorkspaceDataType = float;" in text
    assert "gemm_args.wei_ptr = workspace;" in text
    assert "CShuffleEpilogueProblem<OutDataType, InDataType, tuple<>, AccDataType, WorkspaceDataType" in text
    assert "ElementWiseShape<sequence<8>, ConvertBlockTile, sequence<64>, WorkspaceDataType>" in text
    assert "sequence<2048>" in text
    assert "result_elements(param)) * sizeof(WorkspaceDataType)" in text


def test_both_stages_are_timed_and_large_weights_rejected(make_instance):
    launch = flat(header(make_instance(**TWO_STAGE)))
    assert "auto convert = make_kernel<Config::kBlockPerCu>( ConvertKernel{}" in launch
    timed = launch.partition("return launch_kernel_time_mask(")[2]
    assert timed.startswith(" s, zero_workspace, make_kernel<Config::kBlockPerCu>( Kernel{}")
    assert timed.partition(");")[0].endswith("kargs), convert")
    text = flat(header(make_instance(**TWO_STAGE)))
    assert "if(result_elements(param) > 2147483647)" in text
    assert 'report(context, "index-range"' in text


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"tile_m": 96}, "wave-divides-tile"),
        ({"direction": "fwd"}, "direction"),
        ({"direction": "bwd_data"}, "direction"),
        ({"layout": "ngchw"}, "layout"),
    ],
)
def test_rules(changes, rule, make_instance):
    assert broken(make_instance(**TWO_STAGE)) == []
    assert rule in broken(make_instance(**{**TWO_STAGE, **changes}))


def test_stream_k_fields_contradict_it(make_instance):
    with pytest.raises(InputError, match="streamk"):
        make_instance(**TWO_STAGE, streamk_persistent=True)
