"""Prints how predicted times of matrix products follow published ones over shapes, for the page on predict.

``python -m plugins.tuning.tests.product_figures CONFIGS``: the folder ``aiter/configs`` of the
package. Needs clang 22 and CK Tile headers of November 2025 in ``$CK_ROOT``; six kernels are compiled once.

The published times are those of the older library's kernels of 8-bit operands with scales per row. Kernels of
CK Tile with the same tiles, waves and sizes of operands and results stand for them.
"""

import csv
import json
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

import ckprof
from ckprof.kernels.requests import BuildOptions
from ckprof_plugins.tuning import PredictOptions, predict
from plugins.tuning.tests.prediction_figures import rank_numbers

#: tile, waves along m and n, and MMA tile
KERNELS = (
    ((16, 64, 512), (1, 4), (16, 16, 128)),
    ((32, 64, 512), (2, 2), (16, 16, 128)),
    ((64, 64, 512), (2, 2), (32, 32, 64)),
    ((128, 64, 256), (2, 2), (32, 32, 64)),
    ((128, 128, 128), (2, 2), (32, 32, 64)),
    ((256, 256, 128), (2, 2), (32, 32, 64)),
)
UNITS = "256"
_NAME = re.compile(r"a8w8_rowwise_256x(\d+)x(\d+)x(\d+)_(\d+)x\d+_.*_intrawave_v3")


def published(folder):
    """Return tile and length of the MMA tile -> lines of problems, and microseconds."""
    found = {}
    with (folder / "a8w8_tuned_gemm.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            name = _NAME.fullmatch(row["kernelName"])
            if name and row["cu_num"] == UNITS and row["splitK"] == "0":
                key = tuple(map(int, name.groups()))
                found.setdefault(key, []).append(("{M} {N} {K}".format(**row), float(row["us"])))
    return found


def catalog(tile, waves, mma):
    """Return a list of one kernel."""
    instance = {
        **{"id": 1, "pipeline": "compv3", "scheduler": "intrawave", "epilogue": "cshuffle"},
        **dict(zip(("tile_m", "tile_n", "tile_k"), tile, strict=True)),
        **dict(zip(("warp_m", "warp_n", "warp_k"), (*waves, 1), strict=True)),
        **dict(zip(("warp_tile_m", "warp_tile_n", "warp_tile_k"), mma, strict=True)),
        **{"pad_m": True, "pad_n": True, "pad_k": True},
    }
    return {
        **{"variant": "gemm", "ndim_spatial": 0, "layout": "rcr", "datatype": "fp8"},
        "instances": [instance],
    }


def main():
    """Print a line for each kernel."""
    rows = published(Path(sys.argv[1]))
    profiler = ckprof.Profiler()
    print("| tile | shapes | rank correlation | of M * N * K | error | constant |")
    print("| --- | --- | --- | --- | --- | --- |")
    for tile, waves, mma in KERNELS:
        lines = rows[(*tile, mma[0])]
        with tempfile.TemporaryDirectory() as folder:
            conf = Path(folder) / "one.json"
            conf.write_text(json.dumps(catalog(tile, waves, mma)))
            query = ckprof.InstanceQuery(conf=str(conf), directions="gemm", arch="gfx950", target="hip")
            options = PredictOptions(
                selection=profiler.instances(query).require(),
                problems=tuple(profiler.problems("gemm", [line for line, _ in lines])),
                build=BuildOptions(target="hip", arch="gfx950"),
                gpu="MI355X",
            )
            answers = predict(profiler, options).problems
        known = [
            (kernels[0].time.time_us, us, case.problem.flop)
            for (case, kernels), (_, us) in zip(answers, lines, strict=True)
            if kernels[0].time is not None
        ]
        guessed, measured, work = (np.array(values) for values in zip(*known, strict=True))
        follows, size = (
            np.corrcoef(rank_numbers(values), rank_numbers(measured))[0, 1] for values in (guessed, work)
        )
        ratios = measured / guessed
        error = np.median(np.abs(np.median(ratios) / ratios - 1))
        name = "x".join(map(str, tile))
        print(
            f"| {name} | {len(known)} | {follows:.2f} | {size:.2f} | {100 * error:.1f} % | "
            f"{np.median(ratios):.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
