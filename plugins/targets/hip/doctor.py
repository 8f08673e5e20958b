"""What ``ckprof doctor`` reports about AMD GPUs."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError
from ckprof.kernels.toolchain import ask
from ckprof.model.architecture import architectures
from ckprof.model.device import Finding
from ckprof.model.device import FindingState as State
from ckprof_plugins.targets.hip.devices import devices, selecting_variables
from ckprof_plugins.targets.hip.fetch import FETCH_COMMAND, bundles
from ckprof_plugins.targets.hip.headers import ROOT_VARIABLE, find_headers
from ckprof_plugins.targets.hip.recipe import HOST_CODE_FOR, host_flags
from ckprof_plugins.targets.hip.rocm import (
    INSTALL_COMMAND,
    RUNTIME_LIBRARY,
    find_device_libraries,
    find_hip_root,
    find_runtime_folder,
    isa_library,
)
from ckprof_plugins.targets.hip.toolchain import search_hip_compilers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_log: Final = logging.getLogger(__name__)
_TIMEOUT_S: Final = 60.0


def findings() -> Sequence[Finding]:
    """Return what the target needs and whether it is there. Never raises."""
    lines: list[Finding] = []
    parts: tuple[tuple[str, Callable[[], Iterator[Finding]], str], ...] = (
        ("GPU", _devices, ""),
        ("HIP compiler", _compilers, INSTALL_COMMAND),
        ("HIP headers", _hip_headers, INSTALL_COMMAND),
        ("HIP host code", _host_code, "another compiler: --compiler, $HIPCXX"),
        ("HIP runtime", _runtime, INSTALL_COMMAND),
        ("device libraries", _libraries, INSTALL_COMMAND),
        ("CK Tile headers", _ck_headers, FETCH_COMMAND),
        ("fetched sources", _bundles, ""),
        ("code object reader", _reader, "pip install 'ckprof[inspect]'"),
    )
    for topic, part, advice in parts:
        try:
            lines += part()
        except (CkprofError, OSError, ValueError) as exc:
            _log.debug("looking for %s failed", topic, exc_info=True)
            detail = str(exc).splitlines()[0]
            lines.append(Finding(topic, State.MISSING, detail, advice))
    return lines


def _devices() -> Iterator[Finding]:
    chosen = ", ".join(f"{name}={os.environ[name]}" for name in selecting_variables())
    for device in devices():
        numbered = f" (numbered by {chosen})" if chosen else ""
        found = f"{device.arch}, {device.compute_units} compute units{numbered}"
        yield Finding(f"GPU {device.index}", State.OK, found)
    if not devices():
        left = f" that {chosen} leaves" if chosen else ""
        yield Finding("GPU", State.OPTIONAL, f"none{left}: kernels can be built and inspected, not run")


def _compilers() -> Iterator[Finding]:
    topic = "HIP compiler"
    compilers, rejections = search_hip_compilers()
    for hip in compilers:
        archs = ", ".join(arch for arch in architectures() if arch in hip.archs)
        major, state, advice = hip.compiler.version[0], State.OK, hip.caution
        if not hip.linker:
            state, advice = State.BROKEN, f"apt-get install lld-{major}"
        elif not hip.bundler:
            note = f"only to run kernels: apt-get install clang-tools-{major}"
            advice = f"{advice}; {note}" if advice else note
        named = f"{' '.join(hip.compiler.command)}: {hip.compiler.description}; {archs}"
        yield Finding(topic, state, named, advice)
    if not compilers:
        none = "no amdclang++, hipcc or clang++ 17 or newer with the AMDGPU backend"
        yield Finding(topic, State.MISSING, none, INSTALL_COMMAND)
    for rejection in rejections:
        yield Finding(topic, State.OPTIONAL, rejection, "not used")


def _hip_headers() -> Iterator[Finding]:
    yield Finding("HIP headers", State.OK, str(find_hip_root() / "include" / "hip"))


def _host_code() -> Iterator[Finding]:
    """Try what support tests and CK Builder's reflection are compiled with."""
    compilers, _ = search_hip_compilers(HOST_CODE_FOR, first_only=True)
    for hip in compilers:
        command = (
            *(*hip.compiler.command, *host_flags(hip, find_hip_root(), HOST_CODE_FOR)),
            *("-std=c++20", "-fsyntax-only", "-include", "hip/hip_runtime.h", os.devnull),
        )
        done = ask(command, _TIMEOUT_S)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            raise CkprofError(errors[0] if errors else f"{hip.compiler.description} fails")
        yield Finding("HIP host code", State.OK, f"compiles with {' '.join(hip.compiler.command)}")


def _runtime() -> Iterator[Finding]:
    folder = find_runtime_folder()
    if folder is not None:
        yield Finding("HIP runtime", State.OK, str(folder / RUNTIME_LIBRARY))
    else:
        lacking = f"no {RUNTIME_LIBRARY}: kernels can be compiled and inspected, not linked"
        advice = f"install ROCm and set $ROCM_PATH, or: {INSTALL_COMMAND}"
        yield Finding("HIP runtime", State.OPTIONAL, lacking, advice)


def _libraries() -> Iterator[Finding]:
    folder = find_device_libraries()
    have, lack = [], []
    for arch in architectures():
        try:
            isa_library(folder, arch)
            have.append(arch)
        except CkprofError:
            lack.append(arch)
    detail = f"{folder}: {', '.join(have)}" + (f"; not {', '.join(lack)}" if lack else "")
    yield Finding("device libraries", State.OK, detail)


def _ck_headers() -> Iterator[Finding]:
    headers = find_headers()
    found = f"API level {headers.api_level} in {headers.root} ({headers.origin})"
    yield Finding("CK Tile headers", State.OK, f"{found}; --ck-root or {ROOT_VARIABLE} names others")


def _bundles() -> Iterator[Finding]:
    for month, bundle in bundles().items():
        topic = f"sources of {month}"
        if (bundle.root / bundle.sign).is_file():
            yield Finding(topic, State.OK, f"{bundle.note}: {bundle.root}")
        else:
            yield Finding(topic, State.MISSING, bundle.note, f"{FETCH_COMMAND} {month}")


def _reader() -> Iterator[Finding]:
    try:
        import elftools
    except ImportError:
        raise CkprofError("package pyelftools is not installed; 'ckprof inspect' needs it") from None
    yield Finding("code object reader", State.OK, f"pyelftools {elftools.__version__}")
