"""An architecture that a user's file describes is listed, validated against, built for and run."""

import json

import pytest

from ckprof.model import architecture as architectures

RECORD = {
    "like": "gfx942",
    "label": "made up for a test",
    "compute_units": 7,
    "lds_kib": 16,
    "capabilities": [],
    "wave_grids": ["2x2x1"],
}
KERNEL = ("--instance-spec", "tile=64x64x32,mma=16x16x16,gemm_pipeline=compv3")


@pytest.fixture
def call(ckprof_within, tmp_path):
    """Call ckprof in a folder whose settings name a file with one record."""
    document = {"schema": architectures.SCHEMA, "version": 2, "architectures": {"gfx999": RECORD}}
    (tmp_path / "mine.json").write_text(json.dumps(document))
    (tmp_path / "ckprof.toml").write_text('architectures = ["mine.json"]\n')
    yield ckprof_within
    architectures.use_files([])


def test_it_is_listed(call):
    code, out, _ = call("list", "archs")
    assert code == 0
    (row,) = [line for line in out.splitlines() if line.startswith("gfx999")]
    assert "made up for a test" in row and " 16 " in row and "2x2x1" in row


def test_instances_are_validated_against_it(call):
    wide = ("--instance-spec", "waves=4x1x1")
    code, out, _ = call(
        "list", "instances", "--direction", "fwd", *KERNEL, *wide, "--arch", "gfx999", "--why"
    )
    assert code == 0 and "gfx999 has no wave grid 4x1x1 (it has 2x2x1, by CK Tile" in out
    large = (*KERNEL, "--instance-spec", "tile=128x128x64,waves=2x2x1")
    code, out, _ = call("list", "instances", "--direction", "fwd", *large, "--arch", "gfx999", "--why")
    assert code == 0 and "the budget is 16384" in out


@pytest.mark.slow
@pytest.mark.compiler
def test_a_kernel_is_built_and_run_for_it(call, tmp_path):
    problem = "conv -n 1 -c 8 -H 6 -W 6 -k 8 -y 3 -x 3 -p 1 -q 1"
    code, out, err = call(
        *("run", "fwd", *KERNEL, "--instance-spec", "waves=2x2x1,vectors=4,4,4", "--arch", "gfx999"),
        *("--problem", problem, "--json", "results.json", "--min-samples", "1"),
    )
    assert code == 0, out + err
    results = json.loads((tmp_path / "results.json").read_text())
    text = json.dumps(results)
    assert "gfx999 modelled with 7 compute units" in text
    assert [row["status"] for row in results["problems"][0]["outcomes"]] == ["ok"]
