"""Parity over all shipped lists without a build: at most 1 s for the whole command.

Asking the 300 kernels of a library, and comparing what they say: at most 50 ms beyond loading it.
"""

import subprocess
import sys
import time
from dataclasses import replace

import pytest

from ckprof.kernels.candidates import list_candidates
from ckprof.lists.list_files import read_list
from ckprof.measure.support import query_instance_strings
from ckprof.parity.compare import compare
from ckprof.parity.side import catalog_side, library_side
from ckprof.paths import conf_root
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry
from tests.parity.told_library import build_told_library

KERNELS = 300


def test_all_shipped_lists(benchmark):
    def call():
        subprocess.run(
            [sys.executable, "-m", "ckprof", "parity", "--all"], check=True, stdout=subprocess.DEVNULL
        )

    benchmark.pedantic(call, rounds=5, warmup_rounds=1)
    assert len([*conf_root().rglob("*.conf")]) >= 50


@pytest.mark.compiler
def test_three_hundred_kernels_beyond_the_load(benchmark, tmp_path):
    manager = PluginManager()
    manager.load_all()
    registry = Registry(manager)
    names = ("forward/profiler/nhwgc_fp16", "forward/profiler/nhwgc_bf16")
    conversions = [read_list(conf_root() / f"{name}.conf", registry) for name in names]
    candidates = list_candidates(conversions, registry)[:KERNELS]
    assert len(candidates) == KERNELS
    texts = {candidate.instance.key: candidate.instance_string for candidate in candidates}
    library = build_told_library(tmp_path / "libtold.so", texts)
    computed = catalog_side(conversions, registry, with_keys=True)
    expected = replace(computed, entries=tuple(entry for entry in computed.entries if entry.key in texts))

    def load_only():
        assert not query_instance_strings(library, [candidates[0].instance.key])[1]

    def ask_all():
        found = compare(expected, library_side(library, candidates, registry), registry.strings)
        assert found.matched == KERNELS

    benchmark.pedantic(ask_all, rounds=10, warmup_rounds=2)
    # the best of as many calls that ask one kernel: nearly all of it is the worker's start and the load
    loads = [_timed(load_only) for _ in range(10)]
    benchmark.extra_info["load_ms"] = 1e3 * min(loads)
    benchmark.extra_info["beyond_load_ms"] = 1e3 * (benchmark.stats.stats.min - min(loads))


def _timed(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
