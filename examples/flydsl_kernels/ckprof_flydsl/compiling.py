"""Compiles kernels with FlyDSL, each in a process of its own, and keeps the code objects."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import ToolchainError
from ckprof.files import scratch_folder, write_atomically
from ckprof.kernels.keys import digest_parts
from ckprof.paths import cache_dir
from ckprof_plugins.code_objects.family import CodeObjectError
from ckprof_plugins.targets.hip.toolchain import find_hip_compiler

if TYPE_CHECKING:
    from collections.abc import Mapping

#: names the Python that has FlyDSL, if it is not the one that ckprof runs in
PYTHON_VARIABLE = "CKPROF_FLYDSL_PYTHON"
FOLDER = Path(__file__).parent
_SOURCES = ("kernels.py", "compile_one.py")
_VERSION = "import importlib.metadata as m; print(m.version('flydsl'))"
_TIMEOUT_S = 600
#: what FlyDSL prints of its own work
_NOISE = "[flydsl.compile]"


@lru_cache(maxsize=1)
def compiler() -> tuple[str, str]:
    """Return the Python that has FlyDSL, and FlyDSL's version.

    :raises ToolchainError: there is none.
    """
    named = os.environ.get(PYTHON_VARIABLE, "")
    python = shutil.which(named or sys.executable)
    if python is None:
        raise ToolchainError(f"{PYTHON_VARIABLE} names {named}, which is not a program")
    ran = subprocess.run([python, "-c", _VERSION], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise ToolchainError(
            f"{python} has no FlyDSL, which compiles these kernels: 'pip install flydsl numpy' installs it; "
            f"or name the Python of an environment that has it with {PYTHON_VARIABLE}"
        )
    return python, ran.stdout.strip()


@lru_cache(maxsize=1)
def _sources() -> str:
    return digest_parts(*((FOLDER / name).read_text() for name in _SOURCES))


def kept(spec: Mapping[str, object]) -> Path:
    """Return where the code object of a kernel is, or will be.

    :raises ToolchainError: FlyDSL is not installed.
    """
    digest = digest_parts(_sources(), compiler()[1], json.dumps(spec, sort_keys=True))
    return cache_dir() / "code_objects" / f"{digest}.co"


def compiled(spec: Mapping[str, object]) -> bytes:
    """Return the code object of a kernel, compiled if it is not yet.

    :param spec: what :mod:`ckprof_flydsl.compile_one` takes, without the linker.
    :raises CodeObjectError: FlyDSL rejects the kernel.
    :raises ToolchainError: FlyDSL or a linker is missing.
    """
    path = kept(spec)
    if path.is_file():
        return path.read_bytes()
    linker = find_hip_compiler(str(spec["arch"])).linker
    if not linker:
        raise ToolchainError("FlyDSL needs a linker for device code: install lld")
    with scratch_folder() as folder:
        output = folder / "kernel.co"
        words = [compiler()[0], str(FOLDER / "compile_one.py"), json.dumps({**spec, "linker": linker})]
        try:
            ran = subprocess.run(
                [*words, str(output)],
                capture_output=True,
                text=True,
                timeout=_TIMEOUT_S,
                env={**os.environ, "TMPDIR": str(folder)},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise CodeObjectError(f"FlyDSL did not compile the kernel within {_TIMEOUT_S} s") from None
        if ran.returncode or not output.is_file():
            lines = [line for line in (ran.stdout + ran.stderr).splitlines() if _NOISE not in line]
            raise CodeObjectError("FlyDSL: " + ("\n".join(lines[-3:]) or f"it ended with {ran.returncode}"))
        code = output.read_bytes()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, code)
    return code
