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
CANDIDATES = ("--filter", "_default|x1_[0-9x]+(_vec|_dsb|$)", "--exclude", "filter", "--exclude", "_gm")
ROUNDS = 4


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


def best_gflops(cache: Path, dtype: str, *selection: str) -> tuple[float, str]:
    """Return rate and name of the fastest of the instances that the options select."""
    report = ckprof_json(
        cache,
        "fwd",
        "--conf",
        f"forward/tests/nhwgc_{dtype}",
        "--problem",
        PROBLEM,
        "--cache",
        "warm",
        *selection,
    )
    outcomes = report["problems"][0]["outcomes"]
    best = next(outcome for outcome in outcomes if outcome["rank"] == 1)
    name = next(i["name"] for i in report["instances"] if i["key"] == best["key"])
    return best["gflops"], name


def test_best_instance_against_the_peak(benchmark: Any, bench_cache: Path, peak: Path) -> None:
    rates: dict[str, float] = {}
    names: dict[str, str] = {}
    peaks = [measure_peak(peak)]

    def measure() -> None:
        for dtype in TYPES:
            rates[dtype], names[dtype] = best_gflops(bench_cache, dtype, *CANDIDATES)
        # All in turn, so that a neighbour's load cannot fall on one of them alone.
        for _ in range(ROUNDS):
            for dtype, name in names.items():
                again, _ = best_gflops(bench_cache, dtype, "--filter", f"{name}$")
                rates[dtype] = max(rates[dtype], again)
            peaks.append(measure_peak(peak))

    benchmark.pedantic(measure, rounds=1)
    figures: dict[str, Any] = {"peak_gflops": max(peaks), "fp32_of_peak": rates["fp32"] / max(peaks)}
    for dtype in TYPES:
        figures[f"{dtype}_gflops"] = rates[dtype]
        figures[f"{dtype}_of_fp32"] = rates[dtype] / rates["fp32"]
        figures[f"{dtype}_instance"] = names[dtype]
    benchmark.extra_info.update(figures)
    print()
    for name, value in figures.items():
        print(f"{name:>16}: {value if isinstance(value, str) else f'{value:.3f}'}")
