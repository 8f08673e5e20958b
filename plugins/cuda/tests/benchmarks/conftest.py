"""The cache that benchmarks share."""

from tests.benchmarks.conftest import bench_cache

__all__ = ["bench_cache"]
