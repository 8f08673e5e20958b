"""What the tests need besides ckprof: FlyDSL, a compiler for AMD GPUs, CK Tile's headers."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ckprof_flydsl import compiling

from ckprof.errors import CkprofError
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof_plugins.targets.hip.target import HipTarget


def missing():
    """Return what is not there; empty if the kernels can be compiled and run."""
    if shutil.which("ckprof", path=Path(sys.executable).parent) is None:
        return "no ckprof beside this Python"
    try:
        compiling.compiler()
        HipTarget().recipe(BuildRequest(arch="gfx950", purpose=Purpose.INSPECT))
    except CkprofError as exc:
        return str(exc).splitlines()[0]
    return ""


@pytest.fixture
def ckprof(tmp_path):
    """Call ``ckprof`` with the plugin, in ``tmp_path``; skip the test where something is missing."""
    if why := missing():
        pytest.skip(why)
    program = shutil.which("ckprof", path=Path(sys.executable).parent)

    def call(*words):
        folders = os.pathsep.join(filter(None, (str(compiling.FOLDER.parent), os.environ.get("PYTHONPATH"))))
        return subprocess.run(
            [program, *map(str, words), "--plugin", "ckprof_flydsl.plugin"],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": folders},
            check=False,
        )

    return call
