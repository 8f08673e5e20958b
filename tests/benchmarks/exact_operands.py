"""What the run on exact operands adds to a command: CPU time of pairs of calls, with it and without.

``python -m tests.benchmarks.exact_operands [PAIRS]`` prints the ratio of each pair and their median. CPU
time, since wall time is that of the samples, of which every kernel takes the same few in one round: what
noise lets a run take more or less of would hide the difference, and more of them would make the share
smaller. Order alternates within pairs, so that drift of the machine cancels.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Final

_SAMPLES: Final = ("--rounds", "1", "--min-samples", "10", "--criterion", "sample-count:count=10")
#: commands with kernels that are built beforehand
_CASES: Final = {
    "forward": ("fwd", "--conf", "forward/tests/nhwgc_fp16"),
    "backward weight": ("bwd_weight", "--conf", "backward_weight/tests/nhwgc_fp16"),
    "backward data": ("bwd_data", "--conf", "backward_data/tests/nhwgc_fp16"),
    "products": ("gemm", "--conf", "gemm/universal/rcr_fp16"),
}


def _cpu_s(folder: str, words: tuple[str, ...]) -> float:
    """Run a command; return the CPU seconds of all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "ckprof", "run", *words, *_SAMPLES]
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def main() -> None:
    """Print the table."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as folder:
        for name, words in _CASES.items():
            _cpu_s(folder, words)
            ratios = []
            for number in range(pairs):
                cases = {"with": words, "without": (*words, "--no-exact")}
                order = list(cases) if number % 2 else list(reversed(cases))
                taken = {case: _cpu_s(folder, cases[case]) for case in order}
                ratios.append(taken["with"] / taken["without"])
            every = " ".join(f"{ratio - 1:+.1%}" for ratio in ratios)
            print(f"{name:>16}: {median(ratios) - 1:+.1%} CPU time ({every})", flush=True)


if __name__ == "__main__":
    main()
