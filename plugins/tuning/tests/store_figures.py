"""Prints what a sweep of predictions takes: ``python -m plugins.tuning.tests.store_figures``.

Needs clang 22 and CK Tile headers of November 2025 in ``$CK_ROOT``; the kernels are compiled before the clock
starts.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import ckprof
from ckprof.sweep.requests import SweepOptions
from ckprof_plugins.tuning import predict
from ckprof_plugins.tuning.stored.sweep import sweep_predictions
from plugins.tuning.tests.prediction_figures import options_for, processor_seconds, tables

#: every second problem of the tables: with 13 kernels as many predictions as 60 kernels have on 23 problems
STEP, PROBLEMS = 2, 107


def main():
    """Print a line for a new store, and one for the same command once more."""
    every = dict.fromkeys(problem for one in tables("all") for problem in one.problems)
    problems = [*every][::STEP][:PROBLEMS]
    profiler = ckprof.Profiler()
    predict(profiler, options_for(profiler, problems[:1]))  # compiles
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "predicted.db"
        for what in ("new store", "once more"):
            used, began = processor_seconds(), time.monotonic()
            found = sweep_predictions(profiler, options_for(profiler, problems), SweepOptions(store=path))
            seconds = (
                f"{processor_seconds() - used:.0f} s of processor time, {time.monotonic() - began:.0f} s"
            )
            megabytes = path.stat().st_size / 1e6
            print(f"{what}: {found.statuses.total()} predictions, {seconds}, {megabytes:.1f} MB")


if __name__ == "__main__":
    main()
