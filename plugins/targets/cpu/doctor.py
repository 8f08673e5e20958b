"""What ``ckprof doctor`` reports about the CPU target."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError, ToolchainError, UsageError
from ckprof.kernels.build.build_systems import ninja_command
from ckprof.kernels.build.cache import ObjectCache
from ckprof.kernels.build.toolchain import search_compilers, ziglang_executable
from ckprof.measure.host import host_properties
from ckprof.model.finding import Finding
from ckprof.model.finding import FindingState as State
from ckprof.paths import CACHE_VARIABLE, cache_dir, object_cache_dir
from ckprof_plugins.targets.cpu.machine import BF16_UNIT_VARIABLE, bf16_unit, vector_set

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

#: enough for one compiler process
_LITTLE_MEMORY: Final = 2**30
_log: Final = logging.getLogger(__name__)


def findings(include_dir: Path) -> Sequence[Finding]:
    """Return what the target needs and whether it is there. Never raises.

    :param include_dir: root of the host model's headers.
    """
    lines: list[Finding] = []
    parts: tuple[tuple[str, Callable[[], list[Finding]]], ...] = (
        ("C++ compiler", _compilers),
        ("host model", lambda: _host_model(include_dir)),
        ("ninja", _ninja),
        ("CPU", _machine),
        ("object cache", _cache),
    )
    for topic, part in parts:
        try:
            lines += part()
        except (CkprofError, OSError, ValueError) as exc:
            _log.debug("looking for %s failed", topic, exc_info=True)
            lines.append(Finding(topic, State.BROKEN, str(exc)))
    return lines


def _compilers() -> list[Finding]:
    search = search_compilers()
    lines = [
        Finding("C++ compiler", State.OK, f"{' '.join(compiler.command)}: {compiler.description}")
        for compiler in search.compilers
    ]
    if not lines:
        lines.append(
            Finding("C++ compiler", State.MISSING, "no g++ 11, clang++ 14 or newer", "apt-get install g++")
        )
    lines += [
        Finding("C++ compiler", State.BROKEN, str(rejection), "not used") for rejection in search.rejections
    ]
    if ziglang_executable() is None:
        lines.append(
            Finding(
                "C++ compiler without administrator rights",
                State.MISSING if not search.compilers else State.OPTIONAL,
                "package ziglang is not installed",
                "pip install 'ckprof[zig]'",
            )
        )
    return lines


def _host_model(include_dir: Path) -> list[Finding]:
    headers = sum(1 for _ in include_dir.rglob("*.hpp"))
    if not headers:
        return [
            Finding(
                "host model",
                State.MISSING,
                f"no headers in {include_dir}",
                "pip install --force-reinstall ckprof",
            )
        ]
    return [Finding("host model", State.OK, f"{headers} headers in {include_dir}")]


def _ninja() -> list[Finding]:
    try:
        command = ninja_command()
    except CkprofError as exc:
        return [Finding("ninja", State.MISSING, str(exc), "pip install ninja")]
    return [Finding("ninja", State.OK, " ".join(command))]


def _machine() -> list[Finding]:
    properties = host_properties()
    memory = int(str(properties["memory_bytes"]))
    vectors = vector_set()
    return [
        Finding("CPU", State.OK, f"{properties['processor']}, {properties['cores']} usable cores"),
        Finding("vector instructions", State.OK if vectors else State.OPTIONAL, vectors or "unknown"),
        _bf16_products(),
        Finding(
            "memory",
            State.OK if memory >= _LITTLE_MEMORY else State.BROKEN,
            f"{memory / 2**30:.1f} GiB",
            "" if memory >= _LITTLE_MEMORY else "build on a machine with 1 GiB or more",
        ),
    ]


def _bf16_products() -> Finding:
    topic = "products of bf16"
    try:
        return Finding(topic, State.OK, bf16_unit())
    except UsageError as exc:
        return Finding(topic, State.BROKEN, str(exc), f"unset {BF16_UNIT_VARIABLE}")


def _cache() -> list[Finding]:
    try:
        used = ObjectCache(object_cache_dir()).size_bytes()
    except ToolchainError as exc:
        return [Finding("object cache", State.BROKEN, str(exc), f"set {CACHE_VARIABLE} to a folder of yours")]
    return [
        Finding(
            "object cache",
            State.OK,
            f"{cache_dir()}, {used / 2**20:.0f} MiB of objects; {CACHE_VARIABLE} moves it",
        )
    ]
