"""The main job, cold and warm.

Goals on 2 cores: cold at most 90 s, with CPU time / (cores x wall) of the build at least 0.85 and at most
600 MB per compiler; warm at most 3 s beside the measuring itself.
"""

import time

import pytest

from tests.benchmarks.conftest import ckprof_json

pytestmark = pytest.mark.compiler

LIST = "forward/tests/nhwgc_fp16"


def test_main_job(benchmark, tmp_path):
    figures = {}

    def cold():
        started = time.monotonic()
        build = ckprof_json(tmp_path, "fwd", "--conf", LIST)["build"]
        figures["cold_s"] = time.monotonic() - started
        figures["compiled"] = build["compiled"]
        figures["utilisation"] = build["cpu_s"] / (build["jobs"] * build["wall_s"])
        figures["build_s"] = build["wall_s"]
        figures["peak_compile_mb"] = build["peak_memory_bytes"] / 2**20

    benchmark.pedantic(cold, rounds=1)
    started = time.monotonic()
    report = ckprof_json(tmp_path, "fwd", "--conf", LIST)
    figures["warm_s"] = time.monotonic() - started
    figures["warm_measuring_s"] = report["stages_s"]["run"]
    figures["warm_overhead_s"] = figures["warm_s"] - figures["warm_measuring_s"]
    assert report["build"]["compiled"] == 0
    benchmark.extra_info.update(figures)
    print()
    for name, value in figures.items():
        print(f"{name:>18}: {value:.2f}")
