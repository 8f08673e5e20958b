"""The best instance against the machine's own multiply-add peak, measured in the same run.

Problem: N=8 C=128 K=128 28x28 3x3. Goals: fp32 at least half of the peak, fp16 and bf16 at least 0.6 of fp32.
Only instances with tiles that suit the problem are built, to keep the run short.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.conftest import ckprof_json

pytestmark = pytest.mark.compiler

PROBLEM = "2 1 8 128 128 3 3 28 28 1 1 1 1 1 1 1 1"
TYPES = ("fp32", "fp16", "bf16")


@pytest.fixture(scope="module")
def peak(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that measures the peak."""
    program = tmp_path_factory.mktemp("peak") / "fma_peak"
    source = Path(__file__).with_name("fma_peak.cpp")
    subprocess.run(
        ["g++", "-O3", "-march=native", "-std=c++20", "-pthread", str(source), "-o", str(program)], check=True
    )
    return program


def measure_peak(program: Path) -> float:
    threads = str(len(os.sched_getaffinity(0)))
    done = subprocess.run([program, threads, "0.5"], check=True, capture_output=True, text=True)
    return float(done.stdout)


def best_gflops(cache: Path, dtype: str) -> tuple[float, str]:
    report = ckprof_json(
        cache, "fwd", "--conf", f"forward/tests/nhwgc_{dtype}", "--problem", PROBLEM, "--cache", "warm",
        "--filter", "_default|x1_[0-9x]+(_vec|_dsb|$)", "--exclude", "filter", "--exclude", "_gm",
    )  # fmt: skip
    outcomes = report["problems"][0]["outcomes"]
    best = next(outcome for outcome in outcomes if outcome["rank"] == 1)
    name = next(i["name"] for i in report["instances"] if i["key"] == best["key"])
    return best["gflops"], name


def test_best_instance_against_the_peak(benchmark: Any, bench_cache: Path, peak: Path) -> None:
    figures: dict[str, Any] = {}
    peaks = [measure_peak(peak)]

    def measure() -> None:
        for dtype in TYPES:
            figures[dtype], figures[f"{dtype}_instance"] = best_gflops(bench_cache, dtype)
            peaks.append(measure_peak(peak))

    benchmark.pedantic(measure, rounds=1)
    figures["peak_gflops"] = max(peaks)
    figures["fp32_of_peak"] = figures["fp32"] / figures["peak_gflops"]
    for dtype in TYPES[1:]:
        figures[f"{dtype}_of_fp32"] = figures[dtype] / figures["fp32"]
    benchmark.extra_info.update(figures)
    print()
    for name, value in figures.items():
        print(f"{name:>16}: {value if isinstance(value, str) else f'{value:.3f}'}")
