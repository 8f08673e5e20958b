from __future__ import annotations

import os

import pytest

from ckprof.kernels.units import available_cpus, free_memory_bytes, job_count

GIB = 2**30


@pytest.mark.parametrize(
    ("requested", "cpus", "free", "jobs"),
    [
        (None, 8, 100 * GIB, 8),
        (3, 8, 100 * GIB, 3),
        (20, 8, 100 * GIB, 20),
        (None, 64, 10 * GIB, 8),
        (64, 8, 10 * GIB, 8),
        (None, 8, 0, 1),
        (0, 8, 100 * GIB, 1),
    ],
)
def test_bounded_by_memory_and_at_least_one(requested, cpus, free, jobs):
    assert job_count(requested, GIB, cpus=cpus, free=free) == jobs


def test_asks_the_machine():
    assert 1 <= job_count(None, 1) == available_cpus() <= (os.cpu_count() or 1)
    assert job_count(None, 2**60) == 1


def test_a_container_has_the_memory_of_its_limit(tmp_path):
    everything = free_memory_bytes(tmp_path)
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory_bytes(tmp_path) == pytest.approx(everything, rel=0.5)
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    assert free_memory_bytes(tmp_path) == 600000
    (tmp_path / "memory.current").write_text("2000000\n")
    assert free_memory_bytes(tmp_path) == 0
