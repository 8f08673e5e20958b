"""Sweeps on several workers, as a user runs them: with real kernels on the CPU."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from ckprof.errors import ExitCode
from ckprof.model.outcome import Status
from ckprof.store.errors import StoreError
from ckprof.store.maintenance import check
from ckprof.store.store import Store
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.problem import GemmProblem, MultiDProblem, StridedBatchProblem

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

PROBLEMS = ("2 1 1 16 16 3 3 10 10 1 1 1 1 1 1 1 1", "2 1 1 16 16 1 1 12 12 1 1 1 1 0 0 0 0")
QUICK = ("--round-time", "0.02", "--min-rounds", "2", "--max-rounds", "2")


def command(short_list, *arguments):
    lines = [part for problem in PROBLEMS for part in ("--problem", problem)]
    return ["sweep", "fwd", "--conf", str(short_list), *lines, "--store", "r.db", *QUICK, *arguments]


def test_two_workers_share_the_problems(ckprof, short_list, tmp_path):
    first = ckprof(*command(short_list, "--devices", "0,1", "--tag", "two")).ok()
    assert "done: 2 of 2 rankings are finished" in first.out
    assert "device " in first.out and "reference kernel " in first.out and "given up" not in first.out
    with Store(tmp_path / "r.db") as store:
        attempts = list(store)
        assert {one.tags for one in store.sessions()} == {("two",)}
    assert len({one.key for one in attempts}) == 8
    assert all(one.session.device_id.split(":")[1] in ("0", "1") for one in attempts)
    devices = {}
    for one in attempts:
        devices.setdefault(one.key.problem, set()).add(one.session.device_id)
    assert all(len(found) == 1 for found in devices.values())
    assert check(tmp_path / "r.db") == []
    # everything was merged: a new store of that name begins without these outcomes
    assert not (tmp_path / "r.db.sweep").exists()

    planned = ckprof(*command(short_list, "--devices", "0,1", "--dry-run"))
    assert "left: 0 of 2 rankings" in planned.out
    assert "tasks: 0 problems for 2 devices; builds on this machine, 4 kernels" in planned.out


def test_wrong_settings(ckprof, short_list, tmp_path):
    (tmp_path / "c.toml").write_text('engine = "parsl"\n\n[pools.run]\ngpus = 2\nnode = 1\n')
    wrong = ckprof(*command(short_list, "--cluster", "c.toml"))
    wrong.fails_with(ExitCode.INPUT, "c.toml:5: pools.run.node: unknown key 'node'")
    assert not (tmp_path / "r.db").exists()


def stored(path):
    """Return how many attempts a store has that a sweep may be about to make."""
    try:
        with Store(path) as store:
            return len(store)
    except StoreError:
        # between making the file and making its tables
        return 0


@pytest.mark.slow
def test_an_interrupted_sweep_merges_its_shards_and_goes_on(ckprof, short_list, tmp_path):
    long = command(short_list, "--devices", "0,1", "--exhaustive")
    long[long.index("--max-rounds") + 1] = "200"
    with subprocess.Popen(
        [sys.executable, "-m", "ckprof", *long], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        while child.poll() is None and stored(tmp_path / "r.db") <= 20:
            time.sleep(0.2)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=120)
    assert child.returncode == ExitCode.INTERRUPTED, err.decode()
    assert b"stopped; rerun the same command to resume" in out
    assert not (tmp_path / "r.db.sweep").exists()
    with Store(tmp_path / "r.db") as store:
        before = len(store)
    assert ckprof(*command(short_list, "--devices", "0,1")).code == ExitCode.OK
    with Store(tmp_path / "r.db") as store:
        assert len(store) >= before
    assert check(tmp_path / "r.db") == []


_CLUSTER = """
engine = "parsl"

[pools.run]
provider = "local"
gpus = 2
environment = ["export CKPROF_CACHE_DIR={run}"]

[pools.build]
provider = "local"
workers = 2
environment = ["export CKPROF_CACHE_DIR={build}"]
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(importlib.util.find_spec("parsl") is None, reason="Parsl is not installed")
@pytest.mark.parametrize("shared", [False, True])
def test_parsl_builds_and_measures(ckprof, short_list, tmp_path, shared):
    text = _CLUSTER.format(run=tmp_path / "run", build=tmp_path / "build")
    if shared:
        text += f'\n[transport]\nkind = "folder"\npath = "{tmp_path / "shared"}"\n'
    (tmp_path / "c.toml").write_text(text)
    own = {"CKPROF_CACHE_DIR": str(tmp_path / "own")}
    done = ckprof(*command(short_list, "--cluster", "c.toml"), env={**os.environ, **own}, timeout=800).ok()
    assert "4 kernels are compiled by 2 workers in 4 tasks" in done.err
    assert "built 4 of 4 kernels: 0 compiled, 4 from the cache, 0 failed" in done.err
    assert "done: 2 of 2 rankings are finished" in done.out
    with Store(tmp_path / "r.db") as store:
        assert len({one.key for one in store}) == 8


_PRODUCT = {
    **{"tile_m": 32, "tile_n": 32, "tile_k": 16, "warp_m": 2, "warp_n": 2, "warp_k": 1},
    **{"warp_tile_m": 16, "warp_tile_n": 16, "warp_tile_k": 16, "pipeline": "compv3"},
    **{"scheduler": "intrawave", "epilogue": "cshuffle", "pad_m": True, "pad_n": True, "pad_k": True},
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(importlib.util.find_spec("parsl") is None, reason="Parsl is not installed")
def test_parsl_measures_products(ckprof, tmp_path):
    """Problems of every kind reach the workers and come back: plain, with gaps, with D tensors, batches."""
    combined = {"elementwise_op": "MultiDAdd", "num_d_tensors": 1}
    head = {"variant": "gemm", "ndim_spatial": 0, "layout": "rcr", "datatype": "fp32"}
    records = [{"id": n, **_PRODUCT, **more} for n, more in enumerate(({"batched": True}, combined))]
    (tmp_path / "c.json").write_text(json.dumps({**head, "instances": records}))
    problems = (
        GemmProblem(m=32, n=64, k=48),
        GemmProblem(m=33, n=40, k=32, stride_a=36),
        StridedBatchProblem(m=32, n=32, k=32, batch=3, batch_stride_b=2000),
        MultiDProblem(m=32, n=48, k=16, elementwise_op=ElementwiseOp.MULTI_D_ADD, strides_d=(52,)),
    )
    lines = [
        "32x64x48",
        "33 40 32 36 -1 -1",
        "-m=32 -n=32 -k=32 -batch=3 -batch_stride_b=2000",
        "-m=32 -n=48 -k=16 -elementwise_op=MultiDAdd -num_d_tensors=1 -stride_ds=52",
    ]
    (tmp_path / "c.toml").write_text(_CLUSTER.format(run=tmp_path / "run", build=tmp_path / "build"))
    done = ckprof(
        *("sweep", "gemm", "--conf", "c.json", "--cluster", "c.toml", "--store", "r.db", *QUICK),
        *(part for line in lines for part in ("--problem", line)),
        env={**os.environ, "CKPROF_CACHE_DIR": str(tmp_path / "own")},
        timeout=800,
    ).ok()
    assert "done: 4 of 4 rankings are finished" in done.out
    with Store(tmp_path / "r.db") as store:
        found = [(one.key.problem, one.status) for one in store]
    measured = {problem for problem, status in found if status is Status.OK}
    assert measured == set(problems)
    assert {status for _, status in found} == {Status.OK, Status.UNSUPPORTED}
