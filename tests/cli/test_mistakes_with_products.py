"""What users get wrong with matrix products is said with what to do, before anything is built or written."""

import json
from pathlib import Path

import pytest

from ckprof.cli.main import main

RECORD = {
    **{"id": 1, "tile_m": 64, "tile_n": 64, "tile_k": 32, "warp_m": 2, "warp_n": 2, "warp_k": 1},
    **{"warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 32, "pipeline": "compv3"},
    **{"scheduler": "intrawave", "epilogue": "cshuffle", "pad_m": False, "pad_n": False, "pad_k": True},
}
ONE = ["--problem", "64x64x64"]
TILE = ["--instance-spec", "tile=64x64x32,waves=2x2x1,mma=16x16x32,gemm_pipeline=compv3"]


def write_catalog(path):
    head = {"variant": "gemm", "ndim_spatial": 0, "layout": "rcr", "datatype": "fp16"}
    path.write_text(json.dumps({**head, "instances": [RECORD]}, indent=1))


@pytest.fixture(autouse=True)
def catalog(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_catalog(Path("one.json"))
    Path("cut.json").write_text(Path("one.json").read_text()[:300])
    Path("half.conf").write_text(
        "DeviceGemmXdlUniversal<Default, RCR> BlkSize: 256, BlkTile: 128x128x64, WaveTile: 32x32, WaveM\n"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        ([*ONE], 2, ["give --conf FILE, --rule-set ID"]),
        (["--conf", "none.json", *ONE], 3, ["none.json: no such file", "ckprof list lists"]),
        (["--conf", "cut.json", *ONE], 3, ["cut.json:18:16", "not valid JSON"]),
        (["--conf", "half.conf", *ONE], 3, ["half.conf:1:24: universal GEMM needs 10 arguments"]),
        (["--conf", "one.json", "--problem", "64x64"], 3, ["problem: expected gemm", "MxNxK", "got '64x64'"]),
        (
            ["--conf", "one.json", "--problem", "gemm 1 1 1 1 0 1 128 192"],
            3,
            ["K (argument 9) is missing", "M N K StrideA"],
        ),
        (
            ["--conf", "one.json", "--problem", "gemm 2 1 1 1 0 1 128 192 104 -1 -1 -1"],
            3,
            ["M128 N192 K104: the problem line says bf16, the list has fp16 instances"],
        ),
        (["--conf", "one.json", "--problem-set", "resnet50"], 3, ["expected a problem of gemm"]),
        (
            ["--conf", "one.json", "--reference", "device", "--target", "cpu", *ONE],
            2,
            ["--reference device: the target cpu has no device; use --reference host or auto"],
        ),
        (["--conf", "one.json", "--store", "/proc/x.db", *ONE], 3, ["/proc/x.db: cannot make the lock file"]),
        (
            ["--conf", "one.json", "--instance-spec", "compute_type=tf33", *ONE],
            2,
            ["--instance-spec lacks tile, waves, mma"],
        ),
        (
            [*TILE, *ONE],
            2,
            ["--instance-spec describes a kernel of a convolution", "--conf LIST", "--rule-set ID"],
        ),
    ],
)
def test_mistakes_are_said(arguments, code, parts, capsys):
    before = set(Path().iterdir())
    assert main(["run", "gemm", *arguments, "--json", "report.json"]) == code
    said = capsys.readouterr()
    assert said.out == ""
    for part in parts:
        assert part in said.err
    assert set(Path().iterdir()) == before


def test_a_place_of_references_that_there_is_not(capsys):
    assert main(["run", "gemm", "--conf", "one.json", "--reference", "gpu", *ONE]) == 2
    assert "unknown value 'gpu' (known: auto, host, device)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["parity", "gemm", "--conf", "forward/tests/nhwgc_bf16"], 3, "is of direction fwd, expected gemm"),
        (["run", "fwd", "--conf", "one.json"], 3, "the list holds instances of gemm, expected fwd"),
        (["convert", "half.conf", "-o", "half.json"], 3, "half.conf:1:24"),
        (["convert", "gemm/universal/rcr_fp16", "-o", "/dev/full"], 3, "/dev/full: cannot write: No space"),
    ],
)
def test_mistakes_with_other_commands(arguments, code, part, capsys):
    before = set(Path().iterdir())
    assert main(arguments) == code
    assert part in capsys.readouterr().err
    assert set(Path().iterdir()) == before
