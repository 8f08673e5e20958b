"""What ``ckprof doctor`` reports about AMD GPUs."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError
from ckprof.model.architecture import architectures
from ckprof.model.device import Finding
from ckprof.model.device import FindingState as State
from ckprof_plugins.targets.hip.devices import devices, selecting_variables
from ckprof_plugins.targets.hip.fetch import FETCH_COMMAND, bundles
from ckprof_plugins.targets.hip.headers import ROOT_VARIABLE, find_headers
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
    from collections.abc import Callable, Sequence

_log: Final = logging.getLogger(__name__)


def findings() -> Sequence[Finding]:
    """Return what the target needs and whether it is there. Never raises."""
    lines: list[Finding] = []
    parts: tuple[tuple[str, Callable[[], list[Finding]], str], ...] = (
        ("GPU", _devices, ""),
        ("HIP compiler", _compilers, INSTALL_COMMAND),
        ("HIP headers", _hip_headers, INSTALL_COMMAND),
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


def _devices() -> list[Finding]:
    chosen = ", ".join(f"{name}={os.environ[name]}" for name in selecting_variables())
    lines = [
        Finding(
            f"GPU {device.index}",
            State.OK,
            f"{device.arch}, {device.compute_units} compute units"
            + (f" (numbered by {chosen})" if chosen else ""),
        )
        for device in devices()
    ]
    return lines or [
        Finding(
            "GPU",
            State.OPTIONAL,
            "none"
            + (f" that {chosen} leaves" if chosen else "")
            + ": kernels can be built and inspected, not run",
        )
    ]


def _compilers() -> list[Finding]:
    compilers, rejections = search_hip_compilers()
    lines = []
    for hip in compilers:
        archs = ", ".join(arch for arch in architectures() if arch in hip.archs)
        missing = [name for name, path in (("lld", hip.linker),) if not path]
        state = State.BROKEN if missing else State.OK
        advice = f"apt-get install lld-{hip.compiler.version[0]}" if missing else hip.caution
        if not missing and not hip.bundler:
            note = f"only to run kernels: apt-get install clang-tools-{hip.compiler.version[0]}"
            advice = f"{advice}; {note}" if advice else note
        lines.append(
            Finding(
                "HIP compiler",
                state,
                f"{' '.join(hip.compiler.command)}: {hip.compiler.description}; {archs}",
                advice,
            )
        )
    if not lines:
        lines.append(
            Finding(
                "HIP compiler",
                State.MISSING,
                "no amdclang++, hipcc or clang++ 17 or newer with the AMDGPU backend",
                INSTALL_COMMAND,
            )
        )
    lines += [Finding("HIP compiler", State.OPTIONAL, str(rejection), "not used") for rejection in rejections]
    return lines


def _hip_headers() -> list[Finding]:
    root = find_hip_root()
    return [Finding("HIP headers", State.OK, str(root / "include" / "hip"))]


def _runtime() -> list[Finding]:
    folder = find_runtime_folder()
    if folder is None:
        return [
            Finding(
                "HIP runtime",
                State.OPTIONAL,
                f"no {RUNTIME_LIBRARY}: kernels can be compiled and inspected, not linked",
                f"install ROCm and set $ROCM_PATH, or: {INSTALL_COMMAND}",
            )
        ]
    return [Finding("HIP runtime", State.OK, str(folder / RUNTIME_LIBRARY))]


def _libraries() -> list[Finding]:
    folder = find_device_libraries()
    have, lack = [], []
    for arch in architectures():
        try:
            isa_library(folder, arch)
            have.append(arch)
        except CkprofError:
            lack.append(arch)
    detail = f"{folder}: {', '.join(have)}" + (f"; not {', '.join(lack)}" if lack else "")
    return [Finding("device libraries", State.OK, detail)]


def _ck_headers() -> list[Finding]:
    headers = find_headers()
    return [
        Finding(
            "CK Tile headers",
            State.OK,
            f"API level {headers.api_level} in {headers.root} ({headers.origin}); "
            f"--ck-root or {ROOT_VARIABLE} names others",
        )
    ]


def _bundles() -> list[Finding]:
    return [
        Finding(f"sources of {month}", State.OK, f"{bundle.note}: {bundle.root}")
        if (bundle.root / bundle.sign).is_file()
        else Finding(f"sources of {month}", State.MISSING, bundle.note, f"{FETCH_COMMAND} {month}")
        for month, bundle in bundles().items()
    ]


def _reader() -> list[Finding]:
    try:
        import elftools
    except ImportError:
        raise CkprofError("package pyelftools is not installed; 'ckprof inspect' needs it") from None
    return [Finding("code object reader", State.OK, f"pyelftools {elftools.__version__}")]
