"""Finds nvcc, the host's C++ compiler that it uses and its tools, and reports for ``ckprof doctor``."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError, ToolchainError
from ckprof.kernels.toolchain import ask, search_compilers
from ckprof.model.device import Finding
from ckprof.model.device import FindingState as State
from ckprof.model.recipe import Compiler, CompilerFamily
from ckprof_plugins.cuda.devices import devices

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


#: oldest nvcc with the C++20 that generated sources need and the instructions of compute capability 9.0
MINIMUM_VERSION: Final = (12, 4)
INSTALL_COMMAND: Final = "pip install 'ckprof[cuda]'"
#: CMake's variable for the same thing
VARIABLE: Final = "CUDACXX"
_USUAL: Final = (Path("/usr/local/cuda/bin/nvcc"), Path("/opt/cuda/bin/nvcc"))
_TIMEOUT_S: Final = 60.0
_VERSION: Final = re.compile(r"release (\d+)\.(\d+), V\d+\.\d+\.(\d+)")


def candidates() -> Iterator[Path]:
    """Yield where an nvcc may be: ``$CUDACXX``, the search path, the usual folders, packages of PyPI."""
    named = os.environ.get(VARIABLE, "").strip()
    if named:
        yield Path(shlex.split(named)[0])
    on_path = shutil.which("nvcc")
    if on_path is not None:
        yield Path(on_path)
    yield from _USUAL
    yield from packaged("nvcc")


def packaged(tool: str) -> Iterator[Path]:
    """Yield where a tool may be that packages of PyPI have brought."""
    spec = find_spec("nvidia")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        # CUDA 13 has one folder for all packages, CUDA 12 one for each
        yield from sorted(Path(folder).glob(f"cu*/bin/{tool}"), reverse=True)
        yield Path(folder, f"cuda_{tool}", "bin", tool)


def find_tool(name: str) -> Path | None:
    """Return a tool of the CUDA toolkit: beside an nvcc, on the search path, or of a package of PyPI."""
    for nvcc in candidates():
        beside = nvcc.resolve().parent / name
        if beside.is_file():
            return beside
    tool = shutil.which(name)
    if tool is not None:
        return Path(tool)
    return next((path for path in packaged(name) if path.is_file()), None)


def find_toolchain(requested: str | None = None) -> tuple[Compiler, Compiler, Path]:
    """Return the nvcc that the user asked for, or the first usable one, with what it needs.

    :param requested: ``--compiler``: path or name of an nvcc.
    :returns: and what compiles the host's part and links libraries, and the folder with libcudart_static.a.
    :raises ToolchainError: there is none; the message says what was tried and what to install.
    """
    if requested is not None:
        named = shutil.which(requested)
        if named is None:
            raise ToolchainError(f"--compiler {requested}: not found; name an nvcc or omit the option")
        return probe(Path(named))
    reasons: list[str] = []
    for path in candidates():
        if not path.is_file():
            continue
        try:
            return probe(path)
        except ToolchainError as exc:
            reasons.append(str(exc))
    tried = "".join(f"\n  {reason}" for reason in reasons)
    raise ToolchainError(
        f"no usable nvcc found; looked at ${VARIABLE}, the search path, /usr/local/cuda and packages of PyPI"
        + (f"; found but unusable:{tried}" if tried else "")
        + f'\ninstall one with "{INSTALL_COMMAND}", which needs no administrator rights and no GPU'
    )


@lru_cache(maxsize=8)
def probe(nvcc: Path) -> tuple[Compiler, Compiler, Path]:
    """Ask an nvcc for its version and find what it needs.

    :raises ToolchainError: it cannot be used; the message says why.
    """
    try:
        done = ask((str(nvcc), "--version"), _TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ToolchainError(f"{nvcc}: cannot be run: {exc}") from exc
    match = _VERSION.search(done.stdout)
    if done.returncode != 0 or match is None:
        raise ToolchainError(f"{nvcc}: does not print the version of an nvcc")
    version = (int(match[1]), int(match[2]), int(match[3]))
    if version[:2] < MINIMUM_VERSION:
        needed = ".".join(map(str, MINIMUM_VERSION))
        raise ToolchainError(f"{nvcc}: version {version[0]}.{version[1]} is too old, {needed} is needed")
    root = nvcc.resolve().parent.parent
    library_dir = next(
        (root / name for name in ("lib64", "lib") if (root / name / "libcudart_static.a").is_file()), None
    )
    if library_dir is None:
        raise ToolchainError(f"{nvcc}: {root} has no libcudart_static.a; {INSTALL_COMMAND}")
    if not (root / "include" / "cuda_runtime.h").is_file():
        raise ToolchainError(f"{nvcc}: {root} has no cuda_runtime.h; {INSTALL_COMMAND}")
    host = _host_compiler()
    status = nvcc.resolve().stat()
    facts = (done.stdout, status.st_size, status.st_mtime_ns, host.identity)
    compiler = Compiler(
        # flags that it does not know are for the host's compiler
        command=(str(nvcc), "-forward-unknown-to-host-compiler", "-ccbin", host.command[0]),
        family=CompilerFamily.GCC,
        version=version,
        description=f"nvcc {version[0]}.{version[1]}.{version[2]}, host compiler {host.description}",
        identity=hashlib.blake2b(repr(facts).encode(), digest_size=16).hexdigest(),
        precompiles=False,
    )
    return compiler, host, library_dir


def _host_compiler() -> Compiler:
    """Return the first compiler that nvcc can call: one word, GCC or Clang."""
    for compiler in search_compilers()[0]:
        if len(compiler.command) == 1:
            return compiler
    raise ToolchainError("nvcc needs a C++ compiler for the host's part; apt-get install g++")


def findings() -> Sequence[Finding]:
    """Return what the target needs and whether it is there. Never raises."""
    return [*_findings()]


def _findings() -> Iterator[Finding]:
    for device in devices():
        capability = f"compute capability {device.capability // 10}.{device.capability % 10}"
        found = f"{device.name}, {capability}, {device.memory_mib} MiB, driver {device.driver}"
        yield Finding(f"GPU {device.index}", State.OK, found)
    if not devices():
        yield Finding("GPU", State.OPTIONAL, "none: kernels can be built and inspected, not run")
    try:
        compiler, _, _ = find_toolchain()
    except (CkprofError, OSError, ValueError) as exc:
        yield Finding("nvcc", State.MISSING, str(exc).splitlines()[0], INSTALL_COMMAND)
    else:
        yield Finding("nvcc", State.OK, f"{compiler.command[0]}: {compiler.description}")
    if (tool := find_tool("cuobjdump")) is not None:
        yield Finding("cuobjdump", State.OK, str(tool))
    else:
        lacking = "not found: inspect reports registers and memory, but counts no instructions"
        yield Finding("cuobjdump", State.OPTIONAL, lacking, INSTALL_COMMAND)
    if find_spec("pynvml") is not None:
        yield Finding("nvidia-ml-py", State.OK, "clocks and throttling can be read")
    else:
        lacking = "not installed: clocks, temperature and throttling are not recorded"
        yield Finding("nvidia-ml-py", State.OPTIONAL, lacking, INSTALL_COMMAND)
