"""Prints what a comparison says of edited headers: ``python -m plugins.tuning.tests.planted_figures``.

Needs CK Tile headers of November 2025 in ``$CK_BUILDER_ROOT``, a clang for AMD GPUs, and half a minute for
each edit: all of ``plugins/tuning/tests/e2e/planted.py``, or those that are named behind it.
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
from plugins.tuning.tests.e2e.planted import NEUTRAL, SLOWDOWNS, edited
from tests.e2e.catalogs import write_catalog

ARCH = "gfx942"
#: 18 steps of the main loop, and workgroups for every compute unit
PROBLEM = "convfp16 -n 8 -c 128 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1"
FAIL_ON = (Regression.SLOWER, Regression.SPILLS, Regression.OCCUPANCY, Regression.STATUS)


def headers():
    """Return the folder that holds ``ck_tile``."""
    root = Path(os.environ["CK_BUILDER_ROOT"])
    return root / "include" if (root / "include").is_dir() else root


def copy_of(edit, folder):
    """Make a copy of the headers with an edit; return its folder."""
    shutil.copytree(headers() / "ck_tile", folder / "ck_tile")
    path = folder / "ck_tile" / edit.header
    path.write_text(edited(path.read_text(), edit))
    return folder


def compared(edit, folder, arch=ARCH, problem=PROBLEM):
    """Return what is said of an edit."""
    profiler = ckprof.Profiler()
    conf = write_catalog(folder / "one.json", "forward", [edit.kernel])
    query = ckprof.InstanceQuery(conf=conf, directions="fwd", target="hip", arch=arch)
    options = PredictOptions(
        selection=profiler.instances(query).require(),
        problems=tuple(profiler.problems("fwd", [problem])),
        build=BuildOptions(target="hip", arch=arch),
    )
    sides = (GateSide.of(str(headers())), GateSide.of(str(copy_of(edit, folder / "copy"))))
    return diff_predictions(profiler, sides, options, FAIL_ON)


def main():
    """Print a line for each edit, and counts."""
    edits = {**SLOWDOWNS, **NEUTRAL}
    names = sys.argv[1:] or [*edits]
    found = named = alarms = 0
    for name in names:
        edit = edits[name]
        with tempfile.TemporaryDirectory() as folder:
            (row,) = compared(edit, Path(folder)).rows
        failing = [kind.value for kind in row.fails(FAIL_ON)]
        reasons = [reason.cause for reason in row.reasons]
        if edit.causes:
            found += bool(failing)
            named += any(cause in edit.causes for cause in reasons[:2])
        else:
            alarms += bool(failing)
        change = f"{row.ratio - 1:+.2%}" if row.ratio else row.either.reason[:200]
        print(f"{name}: {change}; fails: {', '.join(failing) or '-'}")
        for reason in row.reasons:
            print(f"    {reason.cause.value}: {reason.text}")
            print("".join(f"      - {text}\n" for text in reason.before), end="")
            print("".join(f"      + {text}\n" for text in reason.after), end="", flush=True)
    slow = sum(bool(edits[name].causes) for name in names)
    print(f"slowdowns found: {found} of {slow}, place named: {named}")
    print(f"alarms on neutral edits: {alarms} of {len(names) - slow}")


if __name__ == "__main__":
    main()
