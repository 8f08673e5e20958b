"""Prints what a comparison says of edited headers: ``python -m plugins.tuning.tests.planted_figures``.

Needs CK Tile headers of November 2025 in ``$CK_BUILDER_ROOT``, a clang for AMD GPUs, and half a minute for
each edit of ``plugins/tuning/tests/e2e/planted.py``: all but ``DRAWN``, or those that are named behind it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import ckprof
from ckprof.kernels.requests import BuildOptions
from ckprof_plugins.tuning.gate.comparison import Regression
from ckprof_plugins.tuning.gate.gate import diff_predictions
from ckprof_plugins.tuning.gate.sides import GateSide
from ckprof_plugins.tuning.options import PredictOptions
from plugins.tuning.tests.e2e.planted import COMPV1, COMPV3, DRAWN, NEUTRAL, SLOWDOWNS, edited
from tests.e2e.catalogs import write_catalog

ARCH = "gfx942"
#: 18 steps of the main loop, and workgroups for every compute unit
PROBLEM = "convfp16 -n 8 -c 128 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1"
#: edits without an effect that are made in one copy
TOGETHER = 10
FAIL_ON = (Regression.SLOWER, Regression.SPILLS, Regression.OCCUPANCY, Regression.STATUS)


def headers():
    """Return the folder that holds ``ck_tile``."""
    root = Path(os.environ["CK_BUILDER_ROOT"])
    return root / "include" if (root / "include").is_dir() else root


def copy_of(edits, folder):
    """Make a copy of the headers with some edits; return its folder."""
    shutil.copytree(headers() / "ck_tile", folder / "ck_tile")
    for edit in edits:
        path = folder / "ck_tile" / edit.header
        path.write_text(edited(path.read_text(), edit))
    return folder


def compared(edits, kernels, folder, arch=ARCH, problem=PROBLEM):
    """Return what is said of some edits, all of them in one copy."""
    profiler = ckprof.Profiler()
    conf = write_catalog(folder / "kernels.json", "forward", kernels)
    query = ckprof.InstanceQuery(conf=conf, directions="fwd", target="hip", arch=arch)
    options = PredictOptions(
        selection=profiler.instances(query).require(),
        problems=tuple(profiler.problems("fwd", [problem])),
        build=BuildOptions(target="hip", arch=arch),
    )
    sides = (GateSide.of(str(headers())), GateSide.of(str(copy_of(edits, folder / "copy"))))
    return diff_predictions(profiler, sides, options, FAIL_ON)


def main():
    """Print a line for each edit that has to be found, one for ten others together, and counts."""
    names = sys.argv[1:] or [*SLOWDOWNS, *NEUTRAL]
    planted = SLOWDOWNS | DRAWN
    slow = [name for name in names if name in planted]
    found = named = alarms = 0
    for name in slow:
        edit = planted[name]
        with tempfile.TemporaryDirectory() as folder:
            (row,) = compared([edit], [edit.kernel], Path(folder)).rows
        failing = row.fails(FAIL_ON)
        found += bool(failing)
        named += any(reason.cause in edit.causes for reason in row.reasons[:2])
        show(name, row)
    neutral = [name for name in names if name in NEUTRAL]
    for begin in range(0, len(neutral), TOGETHER):
        some = neutral[begin : begin + TOGETHER]
        with tempfile.TemporaryDirectory() as folder:
            rows = compared([NEUTRAL[name] for name in some], [COMPV1, COMPV3], Path(folder)).rows
        # one alarm may be that of any edit
        alarms += len(some) * any(row.differs for row in rows)
        for row in rows:
            show(", ".join(some), row)
    print(f"slowdowns found: {found} of {len(slow)}, place named: {named}")
    print(f"neutral edits without an alarm: {len(neutral) - alarms} of {len(neutral)}")


def show(name, row):
    """Print what is said of a kernel."""
    failing = ", ".join(kind.value for kind in row.fails(FAIL_ON)) or "-"
    change = f"{row.ratio - 1:+.2%}" if row.ratio else row.either.reason[:200]
    print(f"{name}: {change}; fails: {failing}")
    for reason in row.reasons:
        print(f"    {reason.cause.value}: {reason.text}")
        print("".join(f"      - {text}\n" for text in reason.before), end="")
        print("".join(f"      + {text}\n" for text in reason.after), end="", flush=True)


if __name__ == "__main__":
    main()
