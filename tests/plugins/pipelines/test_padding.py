"""``--pad-channels``: which kernels pad, what is said of them, and what their headers show."""

import dataclasses

import pytest

from ckprof import Profiler
from ckprof.cli.main import main
from ckprof.errors import UsageError
from ckprof.kernels.requests import InstanceQuery
from ckprof_plugins.pipelines.gemm_families import ImplicitGemmPipeline
from ckprof_plugins.pipelines.vocabulary import ChannelPadding

PIPELINE = ImplicitGemmPipeline()


@pytest.fixture(scope="module")
def profiler():
    return Profiler()


def query(how, **values):
    return InstanceQuery(**values, plugin_options={"pad_channels": how} if how else {})


@pytest.mark.parametrize(
    ("conf", "text"),
    [
        # vectors are 4, 8, 8. By hand: A and B of forward run along C, the result along K
        ("traits/forward_bf16", "C to multiples of 8, K of 8, outside"),
        # A runs along K, B and the result along C
        ("traits/bwd_data", "C to multiples of 8, K of 4, outside"),
        ("traits/bwd_weight", "C to multiples of 8, K of 4, outside"),
    ],
)
def test_kernels_take_the_places_of_those_that_do_not_pad(profiler, conf, text):
    plain = profiler.instances(query(None, conf=conf)).candidates
    padded = profiler.instances(query("outside", conf=conf)).candidates
    assert [(one.index, one.source) for one in padded] == [(one.index, one.source) for one in plain]
    assert [one.name for one in padded] == [f"{one.name}_padded_outside" for one in plain]
    # a store never takes one for the other
    assert not {one.instance.key for one in padded} & {one.instance.key for one in plain}
    assert {one.selected().preparation for one in padded} == {(text, False)}
    assert {one.selected().preparation for one in plain} == {("", True)}
    assert [one.instance_string for one in padded] == [one.instance_string for one in plain]


def test_all_families_but_what_has_further_channels_pad(profiler):
    of_set = InstanceQuery(rule_set="full-tests", directions="bwd_weight", arch="gfx950", ndims=(2,))
    padded = profiler.instances(dataclasses.replace(of_set, plugin_options={"pad_channels": "inside"}))
    instances = [one.instance for one in padded.candidates]
    assert {one.pipeline for one in instances} == {"implicit_gemm", "two_stage", "stream_k"}
    assert {one.channel_padding for one in instances} == {ChannelPadding.INSIDE}
    assert {one.selected().preparation[1] for one in padded.candidates} == {True}
    for conf in ("forward/bias_clamp/tests/nhwgc_fp16", "forward/tests/ngchw_depthwise"):
        chosen = profiler.instances(query("inside", conf=conf)).candidates
        assert chosen == profiler.instances(query(None, conf=conf)).candidates


def test_what_cannot_pad_is_named_by_its_rule(make_instance):
    for changes in ({"elementwise_op": "Scale"}, {"fold_stride": True}, {"layout": "ngchw"}):
        instance = make_instance(channel_padding="inside", pipeline="compv1", **changes)
        unmet = [one.rule for one in PIPELINE.unmet_requirements(instance, "gfx942", "2026-06")]
        assert "channel-padding" in unmet
    fine = make_instance(channel_padding="inside", pipeline="compv1")
    assert not PIPELINE.unmet_requirements(fine, "gfx942", "2026-06")


def test_a_wrong_value_of_a_program(profiler):
    with pytest.raises(UsageError, match="unknown value of --pad-channels 'between'"):
        profiler.instances(query("between", conf="traits/bwd_data"))


def test_an_export_is_read_again(tmp_path, capsys):
    path = tmp_path / "kernels.json"
    options = ["--format", "names", "--pad-channels", "inside"]
    assert main(["list", "instances", "--conf", "traits/bwd_data", "--export-json", str(path), *options]) == 0
    names = capsys.readouterr().out
    assert main(["list", "instances", "--conf", str(path), "--format", "names"]) == 0
    assert capsys.readouterr().out == names
    assert names.count("_padded_inside") == 20


@pytest.mark.parametrize(("level", "bounds"), [("2025-07", "256, "), ("2025-11", ""), ("2026-06", "")])
def test_a_launcher_that_pads_is_put_around_the_plain_one(level, bounds, make_instance):
    plain, padding = (make_instance(channel_padding=how, pipeline="compv1") for how in (None, "inside"))
    texts = [PIPELINE.render(one, "gfx942", level).header for one in (plain, padding)]
    names = [PIPELINE.kernel_name(one) for one in (plain, padding)]
    base = (
        f"ckprof::padded_channels<{names[1]}_Unchanged, "
        f"ckprof::conv_tensor::output, 4, 4, true, {bounds}Config::kBlockPerCu>"
    )
    start = texts[1].index(f"struct {names[1]}_Launcher : {base}\n{{\n")
    end = texts[1].index("};", start) + 2
    assert f"return {base}::launch(args, s);" in texts[1][start:end]
    inner = (texts[1][:start] + texts[1][end:]).replace("_Unchanged\n{", "_Launcher\n{")
    inner = inner.replace('#include "ckprof_padded_channels.hpp"\n', "")
    expected = texts[0].replace(names[0], names[1]).replace(plain.key, padding.key)
    assert inner.split() == expected.split()
