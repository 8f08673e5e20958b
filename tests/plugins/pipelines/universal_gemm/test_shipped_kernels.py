"""Kernels of the lists that ship with ckprof: why they are rejected, how wide they read, what they give."""

import json
from collections import Counter

import pytest

import ckprof
from ckprof.cli.main import main
from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance
from ckprof_plugins.pipelines.universal_gemm.reading import native_vectors
from ckprof_plugins.pipelines.vocabulary import GemmPipeline, Scheduler
from tests.plugins.pipelines.universal_gemm.products import NOVEMBER, OLD, broken

LISTS = ("rcr_fp16", "rrr_fp16")
LANES = 64


def kernels(name):
    query = ckprof.InstanceQuery(directions=("gemm",), conf=(f"gemm/universal/{name}",))
    found = [one.instance for one in ckprof.Profiler().instances(query).candidates]
    assert all(isinstance(one, UniversalGemmInstance) for one in found)
    return found


@pytest.mark.parametrize("level", [OLD, NOVEMBER])
@pytest.mark.parametrize("name", LISTS)
def test_what_headers_of_2025_reject(name, level):
    for one in kernels(name):
        rules = set()
        if one.gemm_pipeline is GemmPipeline.COMPV5:
            rules.add("api-level-feature")
        if one.gemm_pipeline is GemmPipeline.COMPV1 and one.scheduler is Scheduler.INTERWAVE:
            rules.add("api-level-feature")
        if 224 in (one.tile.m, one.tile.n):
            rules.add("shuffle-repeat")
        assert set(broken(one, level)) == rules


def width(fast, share):
    """Return the elements of 2 bytes of one access: the widest that divide the tile's line and a share."""
    return next(size for size in (8, 4, 2, 1) if fast % size == share % size == 0)


@pytest.mark.parametrize("name", LISTS)
def test_widths_follow_from_the_tile(name):
    for one in kernels(name):
        threads = LANES * one.wave_grid.m * one.wave_grid.n
        m, n, k = one.tile.sizes
        row_major_b = name.startswith("rr")
        b_fast = n if row_major_b else k
        if one.gemm_pipeline is GemmPipeline.COMPV1:
            a = 1 if one.pad_k else 8
            # a row-major B is loaded across its lines
            b = (1 if one.pad_k else min(8, n * k // threads)) if row_major_b else (1 if one.pad_n else 8)
        else:
            a, b = width(k, m * k // threads), width(b_fast, n * k // threads)
        c = min(one.mma_tile.n * one.wave_grid.n, 8)
        assert native_vectors(one, LANES) == (a, b, c), one


@pytest.mark.slow
@pytest.mark.compiler
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("level", ["2025-07", "2026-06"])
@pytest.mark.parametrize("name", LISTS)
def test_kernels_compute_the_default_problem_or_say_why_not(name, level, capsys):
    options = ["--api-level", level, "--max-time", "0.01", "--format", "json"]
    code = main(["run", "gemm", "--conf", f"gemm/universal/{name}", *options])
    report = json.loads(capsys.readouterr().out)
    assert code == 0
    outcomes = [outcome for problem in report["problems"] for outcome in problem["outcomes"]]
    assert len(outcomes) == len(kernels(name))
    statuses = Counter(outcome["status"] for outcome in outcomes)
    assert statuses.keys() <= {"ok", "unsupported"}, statuses
    assert statuses["ok"] > 0.7 * len(outcomes)
