"""What the kernels of every direction achieve, against the machine's own figures from the same run.

Goals: the best fp32 instance of each direction at least 0.4 of the multiply-add peak on the 3x3 problem, the
best depthwise instance at least 0.5 of the copy bandwidth, and no more memory for a run than tensors,
workspace and 200 MB.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.benchmarks.conftest import ckprof_json

pytestmark = pytest.mark.compiler

PROBLEM = "2 1 8 128 128 3 3 28 28 1 1 1 1 1 1 1 1"
LISTS = {"fwd": "forward", "bwd_data": "backward_data", "bwd_weight": "backward_weight"}
#: G N K C ...: 205 MB of fp32 input and output, more than a last-level cache holds
DEPTHWISE = "2 512 16 1 1 3 3 56 56 1 1 1 1 1 1 1 1"
COPIED_BYTES = 512 * 16 * 56 * 56 * 4
#: 103 MB of input, as much output
LARGE = "2 1 32 256 256 1 1 56 56 1 1 1 1 0 0 0 0"
LARGE_TENSORS = 4 * (2 * 32 * 256 * 56 * 56 + 256 * 256)


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """Folder of the programs that measure the machine."""
    folder = tmp_path_factory.mktemp("programs")
    for name in ("fma_peak", "copy_bandwidth"):
        source = Path(__file__).with_name(f"{name}.cpp")
        subprocess.run(
            ["g++", "-O3", "-march=native", "-std=c++20", "-pthread", str(source), "-o", str(folder / name)],
            check=True,
        )
    return folder


def measure(program, *arguments):
    threads = str(len(os.sched_getaffinity(0)))
    done = subprocess.run([program, threads, "0.5", *arguments], check=True, capture_output=True, text=True)
    return float(done.stdout)


def best(report):
    return next(outcome for outcome in report["problems"][0]["outcomes"] if outcome["rank"] == 1)


def show(benchmark, figures):
    benchmark.extra_info.update(figures)
    print()
    for name, value in figures.items():
        print(f"{name:>26}: {value:.3f}")


def test_directions_against_the_peak(benchmark, bench_cache, programs):
    figures = {}
    peaks = [measure(programs / "fma_peak")]

    def run():
        for direction, folder in LISTS.items():
            report = ckprof_json(
                bench_cache, direction, "--conf", f"{folder}/tests/nhwgc_fp32", "--problem", PROBLEM,
                "--cache", "warm", "--exclude", "_gm",
            )  # fmt: skip
            figures[f"{direction}_gflops"] = best(report)["gflops"]
            peaks.append(measure(programs / "fma_peak"))
            # the machine's state may change from one direction to the next
            figures[f"{direction}_of_peak"] = figures[f"{direction}_gflops"] / max(peaks[-2:])

    benchmark.pedantic(run, rounds=1)
    figures["peak_gflops"] = max(peaks)
    show(benchmark, figures)


def test_depthwise_against_copying(benchmark, bench_cache, programs):
    figures = {}
    copies = [measure(programs / "copy_bandwidth", str(COPIED_BYTES))]

    def run():
        report = ckprof_json(
            bench_cache, "fwd", "--conf", "forward/tests/ngchw_depthwise", "--problem", DEPTHWISE,
            "--filter", "fp32", "--cache", "warm",
        )  # fmt: skip
        figures["depthwise_gbytes_per_s"] = best(report)["gbytes_per_s"]
        copies.append(measure(programs / "copy_bandwidth", str(COPIED_BYTES)))

    benchmark.pedantic(run, rounds=1)
    figures["copy_gbytes_per_s"] = max(copies)
    figures["depthwise_of_copy"] = figures["depthwise_gbytes_per_s"] / max(copies)
    show(benchmark, figures)


@pytest.mark.parametrize("direction", LISTS)
def test_peak_memory(benchmark, bench_cache, direction):
    """The largest sum of the processes' proportional shares, seen every 20 ms; nothing is compiled."""
    arguments = (
        direction, "--conf", f"{LISTS[direction]}/tests/nhwgc_fp32", "--problem", LARGE, "--instance", "0",
        "--max-time", "0.1",
    )  # fmt: skip
    environment = {**os.environ, "CKPROF_CACHE_DIR": str(bench_cache)}
    command = [sys.executable, "-m", "ckprof", "run", *arguments]
    subprocess.run([*command, "--dry-run"], env=environment, check=True, capture_output=True)
    subprocess.run([*command[:3], "build", *arguments[:3], "--instance", "0"], env=environment, check=True)
    peak = 0

    def run():
        nonlocal peak
        child = psutil.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while child.poll() is None:
            total = 0
            for process in (child, *child.children(recursive=True)):
                try:
                    total += process.memory_full_info().pss
                except psutil.Error:
                    continue
            peak = max(peak, total)
            time.sleep(0.02)

    benchmark.pedantic(run, rounds=1)
    show(
        benchmark,
        {"tensors_mb": LARGE_TENSORS / 1e6, "peak_mb": peak / 1e6, "beyond_mb": (peak - LARGE_TENSORS) / 1e6},
    )
