"""Trait files of the instance builder: which kernels they mean, and what is said of wrong ones."""

import json

import pytest

from ckprof import Profiler
from ckprof.errors import InputError
from ckprof.kernels.requests import InstanceQuery
from ckprof.model.conversion import ListReading
from ckprof.model.types import DataType


@pytest.fixture(scope="module")
def profiler():
    return Profiler()


@pytest.fixture
def traits(tmp_path):
    """Return a function that writes a trait file."""

    def write(variant, **values):
        path = tmp_path / "traits.json"
        config = {name: {"values": listed} for name, listed in values.items()}
        path.write_text(json.dumps({"variant": variant, "trait_config": config}, indent=1))
        return path

    return write


#: upstream's table, by hand: rows with compv4, and the others
SMALL = ("16x64x64_1x4x1_16x16x16", "32x64x64_2x2x1_16x16x16", "64x64x64_4x1x1_16x16x16")
DEEP = ("16x64x128_1x4x1_16x16x32", "32x64x128_2x2x1_16x16x32", "64x64x128_4x1x1_16x16x32")
WIDE = ("32x128x64_1x4x1_32x32x16", "64x128x64_2x2x1_32x32x16", "128x128x64_4x4x1_32x32x16")
TALL = ("128x64x128_8x2x1_16x16x32",)


def test_the_shipped_file_of_forward(profiler):
    chosen = profiler.instances(InstanceQuery(conf="traits/forward_bf16", arch="gfx950", check_arch=True))
    start = "grouped_conv_fwd_bf16_nhwgc_2d"
    expected = {
        f"{start}_{pipeline}_cshuffle_intrawave_{tile}{'_dsb' if pipeline == 'compv4' else ''}"
        for tile in (*SMALL, *DEEP, *WIDE, *TALL)
        for pipeline in ("compv3", "compv4", "compv5")
        if pipeline != "compv4" or tile in (*SMALL, *DEEP)
    }
    assert {candidate.name for candidate in chosen.candidates} == expected
    assert len(expected) == 26
    assert [item.unmet_requirements[0].rule for item in chosen.invalid] == ["compv4-tile"] * 4
    assert [item.unmet_requirements[0].found for item in chosen.invalid] == [
        *(tile.split("_")[0] for tile in (*WIDE, *TALL))
    ]


@pytest.mark.parametrize("name", ["bwd_data", "bwd_weight"])
def test_the_shipped_files_of_backward(profiler, name):
    chosen = profiler.instances(InstanceQuery(conf=f"traits/{name}", arch="gfx950", check_arch=True))
    assert len(chosen.candidates) == 20
    assert not chosen.invalid
    assert {c.instance.gemm_pipeline.value for c in chosen.candidates} == {"compv3", "mem"}
    assert chosen.direction == name


def test_every_combination_of_what_is_listed(profiler, traits):
    path = traits(
        "bwd_weight",
        data_type=["fp16", "BF16"],
        pipeline=["mem", "basic_v1", "compv1"],
        wave_mode=["intrawave", "interwave"],
        two_stage=[False, True],
        ndim_spatial=[2, 3],
        tile_m=[16, 128],
        num_groups_to_merge=[2],
    )
    found = profiler.instances(InstanceQuery(conf=path)).candidates
    # 4 tiles, 2 pipelines (two names of one), 2 schedulers, both stages, 2 types, 2D and 3D
    assert len(found) == 4 * 2 * 2 * 2 * 2 * 2
    assert {c.instance.pipeline for c in found} == {"implicit_gemm", "two_stage"}
    one = profiler.instances(InstanceQuery(conf=path, reading=ListReading(dtype=DataType.BF16)))
    assert {c.instance.dtype for c in one.candidates} == {DataType.BF16}
    with pytest.raises(InputError, match="give no kernel for --dtype fp32"):
        profiler.instances(InstanceQuery(conf=path, reading=ListReading(dtype=DataType.FP32)))


def test_what_contradicts_the_pipeline_is_named_by_its_rule(profiler, traits):
    path = traits("forward", data_type=["bf16"], pipeline=["compv4"], double_smem_buffer=[False], tile_m=[16])
    chosen = profiler.instances(InstanceQuery(conf=path, arch="gfx950", check_arch=True))
    assert not chosen.candidates
    assert {item.unmet_requirements[0].rule for item in chosen.invalid} == {"smem-buffering"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"variant": "forward",\n "trait_config": {"pipelin": {"values": ["mem"]}}}',
            r":2:19: unknown trait 'pipelin'; did you mean 'pipeline'\?",
        ),
        (
            '{"variant": "forward",\n "trait_config": {"pipeline": {"values": ["mem",\n "compv33"]}}}',
            r":3:2: unknown value of pipeline 'compv33'; did you mean 'compv3'\? \(known: compv1,",
        ),
        ('{"variant": "fwd", "trait_config": {}}', r":1:2: variant: unknown variant 'fwd'"),
        (
            '{"variant": "forward", "trait_config": {"ndim_spatial": {"values": [true]}}}',
            r"unknown value of ndim_spatial 'true' \(known: 1, 2, 3\)",
        ),
        (
            '{"variant": "forward", "trait_config": {"ndim_spatial": {"values": ["2"]}}}',
            r"unknown value of ndim_spatial '\"2\"' \(known: 1, 2, 3\)",
        ),
        (
            '{"variant": "forward",\n"trait_config": {"tile_m": {"values": [16], "exclude": [32], "x": 1}}}',
            r":2:18: tile_m: exclude, x is unknown here, expected values alone, as in \{\"values\": \[16\]",
        ),
        ('{"variant": "forward", "trait_config": {"tile_m": {"values": []}}}', "expected one or more values"),
        ('{"variant": "forward", "trait_config": {"tile_m": [16]}}', r'as in \{"values": \[16\]\}'),
        ('{"variant": "forward", "trait_config": {"tile_m": {"values": [20]}}}', "known: 16, 32, 64, 128"),
        (
            '{"variant": "forward", "trait_config": {"wave_m": {"values": [1]}, "warp_m": {"values": [1]}}}',
            "warp_m and wave_m are the same trait",
        ),
        (
            '{"variant": "forward", "trait_confg": {}}',
            "unknown field 'trait_confg'; a trait file .* has variant",
        ),
        ('{"variant": "forward", "trait_config": {"pipeline": {"val', r":1:54: not valid JSON"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(profiler, tmp_path, text, message):
    path = tmp_path / "traits.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        profiler.instances(InstanceQuery(conf=path))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("c.pipeline == 'tdm_v1'", 1),
        ("pipeline in ['basic_v1', 'compv3']", 2),
        ("pipeline != 'basic_v1'", 2),
        ("c.pipeline == 'compv1'", 1),
    ],
)
def test_filters_know_second_spellings_of_pipelines(profiler, traits, text, count):
    path = traits(
        "forward", data_type=["bf16"], pipeline=["tdm_v1", "basic_v1", "compv3"], tile_m=[16], tile_k=[64]
    )
    assert len(profiler.instances(InstanceQuery(conf=path, filters=(text,))).candidates) == count
