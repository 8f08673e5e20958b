"""Tables of the tile engine's benchmark and exports of its instance builder as lists."""

import json
import re

import pytest

from ckprof import Profiler
from ckprof.cli.main import main
from ckprof.errors import InputError
from ckprof.kernels.requests import InstanceQuery
from ckprof.model.conversion import ListReading
from ckprof.model.types import DataType
from tests.plugins.pipelines.test_kernel_name import EXAMPLES

HEADER = "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,non_zero"
CELLS = "0,8,64,64,1,7,7,3,3,1,1,1,1,0.5,1.0,4096"
START = "grouped_conv_fwd_bf16_nhwgc_2d"
TILE = "cshuffle_intrawave_64x64x64_4x1x1_16x16x16"


@pytest.fixture(scope="module")
def profiler():
    return Profiler()


@pytest.fixture
def table(tmp_path):
    def write(*names, header=HEADER):
        path = tmp_path / "bench.csv"
        path.write_text("\n".join([header, *(f"{name},{CELLS}" for name in names)]) + "\n")
        return path

    return write


def names_of(profiler, path, **query):
    return [candidate.name for candidate in profiler.instances(InstanceQuery(conf=path, **query)).candidates]


#: every part of the grammar but pads, which no record has
NAMES = [name for name in EXAMPLES if not re.search(r"_pad\d{3}$", name)]


@pytest.mark.parametrize("name", [*NAMES, f"{START}_compv4_{TILE}_dsb_si"])
def test_names_of_the_code_generator_are_read_as_they_are_written(profiler, table, name):
    assert names_of(profiler, table(name, name)) == [name]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # by hand: wave grid and MMA tile are those of the table of tiles
        ("bf16_2d_64x64x64_compv3_intrawave", f"{START}_compv3_{TILE}"),
        ("bf16_2d_64x64x64_basic_v1_intrawave", f"{START}_compv1_{TILE}"),
        ("bf16_2d_64x64x64_basic_v2_intrawave", f"{START}_compv2_{TILE}"),
        ("bf16_2d_64x64x64_comp_async_intrawave_dsb", f"{START}_comp_async_{TILE}_dsb"),
        ("bf16_2d_64x64x64_basic_async_v1", f"{START}_basic_async_v1_{TILE}"),
        (
            "bf16_3d_32x128x64_mem_interwave_gm2_dsb_si",
            "grouped_conv_fwd_bf16_ndhwgc_3d_mem_cshuffle_interwave_32x128x64_1x4x1_32x32x16_gm2_dsb_si",
        ),
    ],
)
def test_names_of_the_tile_engine_have_the_tiles_waves(profiler, table, name, expected):
    assert names_of(profiler, table(f"grouped_conv_forward_{name}")) == [expected]


def test_rows_that_cannot_be_read_cost_no_other_row(profiler, table, capsys):
    good, engines = f"{START}_compv3_{TILE}", "grouped_conv_forward_bf16_2d"
    path = table(
        good, f"{good}_turbo", good, f"{engines}_48x64x64_mem", "gemm_1", "grouped_conv_up_bf16_2d_8"
    )
    with path.open("a") as file:
        file.write(f"# made up\n\n{good}\n{good},1,2\n")
    assert main(["list", "instances", "--conf", str(path), "--format", "names"]) == 0
    out, err = capsys.readouterr()
    assert out.split() == [good]
    assert (
        "bench.csv: 11 lines, 1 instance; dropped lines: 1 blank, 1 comment, 1 duplicate, 6 error, 1 header"
        in err
    )
    for message in (
        f":3: excluded: {good}_turbo: 'turbo' is not part of a kernel's name",
        f":5: excluded: {engines}_48x64x64_mem: has no wave grid and MMA tile, and 48x64x64 is not one of",
        ":6: excluded: 'gemm_1' does not begin as names of kernels do",
        ":7: excluded: grouped_conv_up_bf16_2d_8: '8' is not part of a kernel's name",
        ":10: excluded: 1 values, expected 17 as in the header",
        ":11: excluded: 3 values, expected 17",
    ):
        assert message in err
    (read,) = profiler.instances(InstanceQuery(conf=path)).candidates
    assert read.source == f"{path}:2"


def test_a_table_without_a_kernel_that_is_asked_for(profiler, table):
    with pytest.raises(InputError, match=r"bench\.csv:1: the header has no column 'kernel': expected names"):
        names_of(profiler, table("gemm_1", header=HEADER.replace(",", ";")))
    with pytest.raises(InputError, match=r"names no kernel that is asked for; line 2: 'gemm_1' does not"):
        names_of(profiler, table("gemm_1"))
    path = table(f"{START}_compv3_{TILE}", f"{START.replace('bf16', 'fp16')}_mem_{TILE}")
    assert len(names_of(profiler, path)) == 2
    (only,) = names_of(profiler, path, reading=ListReading(dtype=DataType.FP16))
    assert "_fp16_" in only
    with pytest.raises(InputError, match="no kernel that is asked for"):
        names_of(profiler, path, reading=ListReading(dtype=DataType.FP32))
    with pytest.raises(InputError, match="no kernel that is asked for: another direction"):
        names_of(profiler, path, directions="bwd_data")
    path = table(f"{START}_compv3_{TILE}", f"{START.replace('fwd', 'bwd_data')}_mem_{TILE}")
    (only,) = names_of(profiler, path, directions="bwd_data")
    assert "_bwd_data_" in only


def test_store_immediate_is_built_as_split_image_only_when_asked(profiler, table, capsys):
    name = f"{START}_compv3_{TILE}"
    path = table(name, f"{name}_si")
    plain, immediate = profiler.instances(InstanceQuery(conf=path)).candidates
    assert (plain.instance.store_immediate, immediate.instance.store_immediate) == (None, True)
    checked = profiler.instances(InstanceQuery(conf=path, arch="gfx950", check_arch=True))
    assert [item.unmet_requirements[0].rule for item in checked.invalid] == ["store-immediate"]
    assert "--si-as split_image" in checked.invalid[0].reason
    options = ["list", "instances", "--conf", str(path), "--arch", "gfx950", "--format", "names"]
    assert main([*options, "--si-as", "split_image"]) == 0
    out, err = capsys.readouterr()
    assert out.split() == [name, f"{name}_large_tensor"]
    assert "note: _si in names: 1 kernel with split_image (--si-as)" in err
    with pytest.raises(InputError, match="--si-as turbo: expected split_image"):
        names_of(profiler, path, reading=ListReading(plugin_options={"si_as": "turbo"}))


@pytest.fixture
def export(tmp_path):
    """Return a function that writes what the instance builder exports of one kernel."""

    def write(name, **changes):
        algorithm = {
            **{"tile_m": 32, "tile_n": 64, "tile_k": 64, "wave": "2x2x1", "warp": "16x16x16"},
            **{"pipeline": "mem", "epilogue": "cshuffle", "scheduler": "interwave"},
            **{"vector_sizes": [4, 8, 4], "block_per_cu": 1, "num_wave_groups": 1, "num_groups_to_merge": 2},
        }
        signature = {"variant": "bwd_weight", "dtype": "fp16", "ndim_spatial": 3, "layout": "nhwgc"}
        kernel = {"name": name, "signature": signature, "algorithm": algorithm | changes, "arch": "gfx950"}
        path = tmp_path / "kernels.json"
        metadata = {"config_file": "x.json", "arch": "gfx950", "count": 1}
        path.write_text(json.dumps({"metadata": metadata, "kernels": [kernel, kernel]}, indent=2))
        return path

    return write


def test_what_the_instance_builder_exports_is_a_list(profiler, export):
    path = export("grouped_conv_bwd_weight_fp16_3d_32x64x64_mem_interwave_gm2_dsb_2stage")
    assert names_of(profiler, path) == [
        "grouped_conv_bwd_weight_fp16_ndhwgc_3d_mem_cshuffle_interwave_32x64x64_2x2x1_16x16x16"
        "_vec4_8_4_gm2_dsb_2stage"
    ]


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("32x64x64_mem", {"wave": "2x2"}, r"kernels\[0\]: wave is '2x2', .*such as 4x1x1"),
        ("32x64x64_mem", {"tile_m": "x"}, r"kernels\[0\].algorithm.tile_m: expected 'int'"),
        ("32x64x64_mem_odd", {}, r"kernels\[0\]: .*'odd' is not part of a kernel's name"),
        ("32x64x64", {}, "expected a tile and a GEMM pipeline"),
        ("32x64x64_mem", {"num_groups_to_merge": 0}, r"kernels\[0\]: Expected 'int' >= 1"),
    ],
)
def test_what_is_wrong_in_an_export_is_said_with_its_place(profiler, export, name, changes, message):
    with pytest.raises(InputError, match=message):
        names_of(profiler, export(f"grouped_conv_bwd_weight_fp16_3d_{name}", **changes))


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("up_bf16", "unknown direction 'up'"),
        ("fwd_bf15", "unknown data type 'bf15'; did you mean"),
        ("fwd_bf16_nwhgc", "unknown layout of 2D 'nwhgc'; did you mean 'nhwgc'"),
    ],
)
def test_unknown_kinds_are_named(profiler, table, head, message):
    with pytest.raises(InputError, match=message):
        names_of(profiler, table(f"grouped_conv_{head}_2d_64x64x64_mem"))


@pytest.mark.parametrize(
    ("direction", "valid"),
    [
        # 300 less 8 of compv4's four other tiles and 40 of basic_v1 with two buffers, half of them with _si
        ("fwd", (300 - 8 - 40) // 2),
        # no compv5: 40 more
        ("bwd_data", (300 - 8 - 40 - 40) // 2),
        ("bwd_weight", (300 - 8 - 40 - 40) // 2),
    ],
)
def test_the_sweep_of_the_tile_engine(profiler, direction, valid):
    query = InstanceQuery(
        rule_set="tile-engine", directions=direction, arch="gfx950", ndims=(2,), dtypes=(DataType.BF16,)
    )
    chosen = profiler.instances(query)
    assert len(chosen.candidates) + len(chosen.invalid) == 10 * 30
    wrong = 0
    if direction == "bwd_weight":
        wrong = sum(item.unmet_requirements[0].rule == "wrong-interwave" for item in chosen.invalid)
    assert len(chosen.candidates) == valid - wrong


def test_a_table_of_the_sweep_is_built_again(profiler, table):
    query = InstanceQuery(rule_set="tile-engine", directions="fwd", arch="gfx950", dtypes=(DataType.BF16,))
    chosen = profiler.instances(query)
    every = [*chosen.candidates, *(item.candidate for item in chosen.invalid)]
    path = table(*(candidate.name for candidate in every))
    again = profiler.instances(InstanceQuery(conf=path)).candidates
    assert {one.instance.key for one in again} == {one.instance.key for one in every}
