"""Finds the parts of ROCm that a build needs: HIP headers, the runtime library, device libraries.

They may belong to a ROCm installation or to packages of the distribution.
"""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.kernels.toolchain import ask
from ckprof.model.architecture import USUAL_CLANG_MAJOR, find_architecture
from ckprof.paths import cache_dir

if TYPE_CHECKING:
    from ckprof_plugins.targets.hip.toolchain import HipCompiler


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


_LIBRARY_FOLDERS: Final = (
    "amdgcn/bitcode",
    "lib/x86_64-linux-gnu/amdgcn/bitcode",
    "lib/amdgcn/bitcode",
    "lib64/amdgcn/bitcode",
)
_ISA: Final = "oclc_isa_version_{}.bc"
#: what the newest compilers make unless requested otherwise
_USUAL_OBJECT_VERSION: Final = 6
#: functions of older libraries ask it whether denormals count as zeros, which they do on none of our devices
_DENORMALS: Final = "oclc_daz_opt_off.bc"
#: the first compiler that may not link it by itself: newer libraries have no such file
_MAY_LEAVE_IT_OUT: Final = (20, 0, 0)
_TIMEOUT_S: Final = 30.0


def library_flags(libraries: Path, hip: HipCompiler, arch: str) -> tuple[str, ...]:
    """Return the flags that link device libraries, also those that are older than the compiler.

    :param libraries: what :func:`find_device_libraries` has found.
    :param arch: e.g. ``gfx942``, without features.
    :raises ToolchainError: there is none for the architecture, or the cache folder cannot be written.
    """
    folder = library_folder(libraries, arch, cache_dir() / "device-libraries")
    flags = (f"--rocm-device-lib-path={folder}", *_object_version(libraries))
    return (*flags, *_denormals(folder, hip, arch, flags))


def find_device_libraries() -> Path:
    """Return the folder of the device libraries.

    :raises ToolchainError: there is none.
    """
    named = os.environ.get("HIP_DEVICE_LIB_PATH")
    folders = [Path(named)] if named else []
    folders += [root / below for root in rocm_roots() for below in _LIBRARY_FOLDERS]
    for folder in folders:
        if (folder / "ockl.bc").is_file():
            return folder
    raise ToolchainError(
        f"no device libraries (ockl.bc) found; install ROCm and set $ROCM_PATH, or: {INSTALL_COMMAND}"
    )


def isa_library(folder: Path, arch: str) -> Path:
    """Return the library with the properties of an architecture's instruction set.

    Older sets of libraries lack that of newer architectures; the one of a near relative serves then.

    :param folder: where device libraries lie.
    :param arch: e.g. ``gfx942``, without features.
    :raises ToolchainError: there is none for the architecture.
    """
    for isa in find_architecture(arch).device_libraries or (arch.removeprefix("gfx"),):
        path = folder / _ISA.format(isa)
        if path.is_file():
            return path
    raise ToolchainError(
        f"{folder}: no device library for {arch} ({_ISA.format(arch.removeprefix('gfx'))}); "
        "install newer device libraries, or set $HIP_DEVICE_LIB_PATH to a folder that has it"
    )


@lru_cache(maxsize=16)
def library_folder(folder: Path, arch: str, store: Path) -> Path:
    """Return a folder of device libraries in which the compiler finds that of an architecture.

    :param folder: where device libraries lie.
    :param store: folder for links, where the library goes by the name of a relative.
    :raises ToolchainError: there is none for the architecture, or the store cannot be written.
    """
    library = isa_library(folder, arch)
    wanted = _ISA.format(arch.removeprefix("gfx"))
    if library.name == wanted:
        return folder
    linked = store / arch
    try:
        linked.mkdir(parents=True, exist_ok=True)
        for path in folder.glob("*.bc"):
            _link(linked / path.name, path)
        _link(linked / wanted, library)
    except OSError as exc:
        raise ToolchainError(f"{linked}: cannot be written ({exc.strerror})") from exc
    return linked


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    partial = link.with_name(f".{link.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    partial.symlink_to(target)
    partial.replace(link)


def _object_version(libraries: Path) -> tuple[str, ...]:
    """Return the flag for libraries that are older than the compiler's usual version of code objects."""
    versions = [
        int(path.stem.rpartition("_")[2]) // 100 for path in libraries.glob("oclc_abi_version_*00.bc")
    ]
    newest = max(versions, default=_USUAL_OBJECT_VERSION)
    return (f"-mcode-object-version={newest}",) if newest < _USUAL_OBJECT_VERSION else ()


@lru_cache(maxsize=16)
def _denormals(folder: Path, hip: HipCompiler, arch: str, flags: tuple[str, ...]) -> tuple[str, ...]:
    """Return the flags for libraries that need :data:`_DENORMALS`, which the compiler does not link."""
    path = folder / _DENORMALS
    if hip.compiler.version < _MAY_LEAVE_IT_OUT or not path.is_file():
        return ()
    dry_run = (*hip.compiler.command, "-###", "-x", "hip", f"--offload-arch={arch}", "--offload-device-only")
    try:
        linked = ask((*dry_run, "-nogpuinc", *flags, "-c", os.devnull), _TIMEOUT_S).stderr
    except (OSError, subprocess.TimeoutExpired):
        return ()
    if _DENORMALS in linked:
        return ()
    return ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(path))
