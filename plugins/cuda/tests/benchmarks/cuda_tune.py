"""What ``ckprof tune`` finds on layers that no kernel was written for, on an NVIDIA GPU, and how soon.

``python -m plugins.cuda.tests.benchmarks.cuda_tune OPERATION [--half held-out] [--only REGEX] [--budget
60s]`` lets ``ckprof tune`` search the rule set ``hopper`` with an empty cache, and prints for each layer
the time of the kernel that it ends with beside that of the best. The latter is found by a search of
everything that goes on from the first one's store, so that what both have measured is the same. Layers
are those of ``unseen_layers.csv``, bf16 and channels last. Needs a GPU and nvcc.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from .cuda_unseen import HALVES, read

if TYPE_CHECKING:
    from ckprof_plugins.directions._convolution.problem import ConvProblem

#: of what is found to the best
GOAL: Final = 0.95
#: as the documentation's searches on a device
OPTIONS: Final = ("--round-time", "0.03", "--min-rounds", "2", "--max-rounds", "4", "--timeout", "20")


def line_of(problem: ConvProblem) -> str:
    """Return a problem as the dimensions and parameters of a ckProfiler line."""
    p = problem
    sizes = (p.ndim, p.groups, p.batch, p.out_channels, p.in_channels)
    axes = (*p.filter, *p.input, *p.strides, *p.dilations, *p.left_pads, *p.right_pads)
    return " ".join(map(str, (*sizes, *axes)))


def search(operation: str, folder: Path, *options: str) -> tuple[dict[str, Any], float]:
    """Search, or go on with a search; return its result, and the seconds of the command."""
    report = folder / "tune.json"
    command = [sys.executable, "-m", "ckprof", "-q", "tune", operation, "--rule-set", "hopper"]
    chosen = ["--dtype", "bf16", "--ndim", "2", "--arch", "gfx942", "--target", "cuda"]
    given = ["--problems", str(folder / "problems.txt"), "--store", str(folder / "results.db")]
    splits = ["--split-k", "all"] if operation == "bwd_weight" else []
    start = time.perf_counter()
    done = subprocess.run(
        [*command, *chosen, *given, *splits, *OPTIONS, *options, "--format", "json", "-o", str(report)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CKPROF_CACHE_DIR": str(folder / "cache")},
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return json.loads(report.read_text()), time.perf_counter() - start


def main() -> None:
    """Print the table of an operation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operation", choices=("fwd", "bwd_data", "bwd_weight"))
    parser.add_argument("--half", default="held-out", choices=HALVES)
    parser.add_argument("--only", default="", help="a regular expression for names of layers")
    parser.add_argument("--budget", default="60s", help="of the search by the model")
    options = parser.parse_args()
    layers = [one for one in read(options.operation, options.half) if re.search(options.only, one.name)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "problems.txt").write_text("".join(f"{line_of(one.problem)}\n" for one in layers))
        found, seconds = search(options.operation, folder, "--budget", options.budget)
        built = found["progress"][-1]["built"] if found["progress"] else 0
        print(
            f"{options.operation}: {built} kernels built, {found['stop']} after {found['seconds']:.0f} s, "
            f"command {seconds:.0f} s",
            flush=True,
        )
        everything, further_s = search(options.operation, folder, "--strategy", "exhaustive")
    shares = []
    for layer in layers:
        text = layer.problem.describe()
        mine, best = (
            next(one for one in result["problems"] if one["problem"] == text)
            for result in (found, everything)
        )
        if not mine["kernel"] or not best["kernel"]:
            print(f"{layer.name:28} {mine['missing'] or best['missing']}")
            continue
        share = best["time_us"] / mine["time_us"]
        shares.append(share)
        print(
            f"{layer.name:28} found {mine['time_us']:8.1f} us  best {best['time_us']:8.1f} us  {share:5.3f}  "
            f"measured {mine['measured']:4} of {best['measured']:4}  {best['splits']:3} {best['kernel']}"
        )
    print(
        f"{options.operation}: found / best {statistics.geometric_mean(shares):.3f}, "
        f"{sum(share >= GOAL for share in shares)} of {len(layers)} within 5 %; everything took "
        f"{further_s:.0f} s more"
    )


if __name__ == "__main__":
    main()
