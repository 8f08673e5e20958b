"""Each row of the page on coverage is a command that works."""

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from ckprof.cli.main import main
from tests.docs.blocks import ROOT
from tests.places import left_out

_ROW = re.compile(r"^\|.*\| `((?:ckprof|python) [^`]+)` \|$", re.MULTILINE)
COMMANDS = [shlex.split(command) for command in _ROW.findall((ROOT / "docs" / "coverage.md").read_text())]
#: command or option -> the feature package that has it
_PACKAGES = {**dict.fromkeys(("train", "validate", "select"), "tuning"), "--form": "dispatcher"}
#: what compiles kernels, or trains a model
_BUILDING = ("run", "check-support", "build", "call", "sweep", "results", "select", "-c")
#: options whose values are written
_WRITTEN = ("-o", "--export-json", "--build-dir", "--store")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all rows: some read what others have written."""
    path = tmp_path_factory.mktemp("coverage")
    (path / "bench_gfx950.csv").write_text("\n".join([_COLUMNS, *_measured()]) + "\n")
    (path / "upstream_kernels.json").write_text(json.dumps(_EXPORT))
    (path / "miopen.log").write_text("MIOpenDriver convbfp16 -n 4 -c 64 -H 28 -W 28 -k 64 -y 3 -x 3 -F 1\n")
    return path


#: of a table that the tile engine's benchmark writes
_COLUMNS = "kernel,problem_idx,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops,non_zero"


#: what the instance builder exports
_EXPORT = {
    "metadata": {"config_file": "configs/forward_bf16.json", "arch": "gfx950", "count": 1},
    "kernels": [
        {
            "name": "grouped_conv_forward_bf16_2d_64x64x64_compv5_intrawave",
            "signature": {"variant": "forward", "dtype": "bf16", "ndim_spatial": 2, "layout": "nhwgc"},
            "algorithm": {
                **{"tile_m": 64, "tile_n": 64, "tile_k": 64, "wave": "4x1x1", "warp": "16x16x16"},
                **{"pipeline": "compv5", "epilogue": "cshuffle", "scheduler": "intrawave"},
                **{"vector_sizes": [4, 8, 8], "block_per_cu": 1},
                **{"num_wave_groups": 1, "num_groups_to_merge": 1},
            },
            "arch": "gfx950",
        }
    ],
}


def _measured():
    """Yield rows of such a table: kernels of all variants, one result of zeros, and one row cut short."""
    yield "grouped_conv_fwd_bf16_nhwgc_2d_compv3_cshuffle"
    for index, size in enumerate(range(7, 63, 7)):
        for pipeline in ("basic_v1", "mem", "compv3", "compv4", "basic_async_v1", "comp_async"):
            for suffix in ("", "_si", "_dsb_si"):
                name = f"grouped_conv_fwd_bf16_nhwgc_2d_{pipeline}_cshuffle_intrawave_64x64x64_4x1x1_16x16x16"
                values = f"{index},8,64,64,1,{size},{size},3,3,1,1,1,1,{size * size / 1e4},1.0"
                yield f"{name}{suffix},{values},{0 if pipeline == 'mem' and size == 7 else 4096}"


def test_every_row_has_a_command():
    rows = [line for line in (ROOT / "docs" / "coverage.md").read_text().splitlines() if line[:2] == "| "]
    assert len(rows) == len(COMMANDS) + sum(row.startswith("| feature") for row in rows)


def done(command):
    """Do what a row says, after the rows whose files it reads and which have not been done."""
    for earlier in COMMANDS[: COMMANDS.index(command)]:
        for option, written in pairwise(earlier):
            path = Path(written)
            read = any(path in (Path(one), *Path(one).parents) for one in command)
            if option in _WRITTEN and read and not path.exists():
                assert done(earlier) == 0
    if command[0] == "python":
        exec(command[2], {})  # noqa: S102 - what stands on the page
        return 0
    return main(command[1:])


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(c, id=" ".join(c), marks=pytest.mark.thorough if c[1] in _BUILDING else ())
        for c in COMMANDS
        if not any(left_out(ROOT / "plugins" / _PACKAGES[word]) for word in c if word in _PACKAGES)
    ],
)
def test_the_command_of_a_row_works(command, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    before = set(folder.iterdir())
    assert done(command) == 0
    output = capsys.readouterr()
    assert output.out.strip() not in ("", "0") or set(folder.iterdir()) - before, output.err
