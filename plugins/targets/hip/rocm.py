"""Finds the parts of ROCm that a build needs: HIP headers and the runtime library.

They may belong to a ROCm installation or to packages of the distribution.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from ckprof.errors import ToolchainError
from ckprof.model.architecture import USUAL_CLANG_MAJOR, find_architecture

_INSTALL_COMMAND: Final = (
    "apt-get install clang-{0} lld-{0} llvm-{0} clang-tools-{0} libamdhip64-dev rocm-device-libs"
)
INSTALL_COMMAND: Final = _INSTALL_COMMAND.format(USUAL_CLANG_MAJOR)
_OPT: Final = Path("/opt")
RUNTIME_LIBRARY: Final = "libamdhip64.so"
_LINK_RUNTIME: Final = "-lamdhip64"
_RUNTIME_FOLDERS: Final = ("lib", "lib64", "lib/x86_64-linux-gnu", "hip/lib")


def install_advice(arch: str) -> str:
    """Return the command that installs what building for an architecture needs."""
    return f"install ROCm, or: {_INSTALL_COMMAND.format(find_architecture(arch).clang_major)}"


def rocm_roots() -> tuple[Path, ...]:
    """Return the folders below which ROCm may lie, most specific first, those that exist."""
    named = [os.environ[name] for name in ("ROCM_PATH", "HIP_PATH") if os.environ.get(name)]
    versions = sorted(_OPT.glob("rocm-*"), key=_version, reverse=True)
    roots = [*(Path(name) for name in named), _OPT / "rocm", *versions, Path("/usr")]
    return tuple(dict.fromkeys(root for root in roots if root.is_dir()))


def _version(path: Path) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", path.name))


def find_hip_root() -> Path:
    """Return the folder below which ``include/hip/hip_runtime.h`` lies.

    :raises ToolchainError: there is none.
    """
    roots = rocm_roots()
    for root in roots:
        if (root / "include" / "hip" / "hip_runtime.h").is_file():
            return root
    raise ToolchainError(
        f"no HIP headers (hip/hip_runtime.h) below {', '.join(map(str, roots))}; install ROCm and set "
        f"$ROCM_PATH, or: {INSTALL_COMMAND}"
    )


def find_runtime_folder() -> Path | None:
    """Return the folder of the runtime library that kernels are linked with; ``None`` if there is none."""
    folders = (root / below for root in rocm_roots() for below in _RUNTIME_FOLDERS)
    return next((folder for folder in folders if (folder / RUNTIME_LIBRARY).exists()), None)


def runtime_link_flags() -> tuple[str, ...]:
    """Return the flags that link the runtime library and have it found again when a program starts."""
    folder = find_runtime_folder()
    if folder is None or folder.is_relative_to("/usr"):
        return (_LINK_RUNTIME,)  # where linkers look anyway, or where only the user of the sources has it
    return (f"-L{folder}", f"-Wl,-rpath,{folder}", _LINK_RUNTIME)
