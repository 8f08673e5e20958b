"""What ``ckprof doctor`` reports about the CPU target."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from ckprof.build.cache import ObjectCache
from ckprof.build.ninja_file import ninja_command
from ckprof.build.probe import ziglang_executable
from ckprof.build.toolchain import search_compilers
from ckprof.errors import CkprofError
from ckprof.model.finding import Finding, FindingState
from ckprof.paths import CACHE_VARIABLE, cache_dir, object_cache_dir
from ckprof.run.host import host_properties
from ckprof_plugins.targets.cpu.machine import vector_set

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
    found: list[Finding] = []
    parts: tuple[tuple[str, Callable[[], list[Finding]]], ...] = (
        ("C++ compiler", _compilers),
        ("host model", lambda: _host_model(include_dir)),
        ("ninja", _ninja),
        ("CPU", _machine),
        ("object cache", _cache),
    )
    for topic, part in parts:
        try:
            found += part()
        except (CkprofError, OSError, ValueError) as exc:
            _log.debug("looking for %s failed", topic, exc_info=True)
            found.append(Finding(topic=topic, state=FindingState.BROKEN, detail=str(exc)))
    return found


def _compilers() -> list[Finding]:
    search = search_compilers()
    found = [
        Finding(
            topic="C++ compiler",
            state=FindingState.OK,
            detail=f"{' '.join(compiler.command)}: {compiler.description}",
        )
        for compiler in search.compilers
    ]
    if not found:
        found.append(
            Finding(
                topic="C++ compiler",
                state=FindingState.MISSING,
                detail="no g++ 11, clang++ 14 or newer",
                advice="apt-get install g++",
            )
        )
    found += [
        Finding(topic="C++ compiler", state=FindingState.BROKEN, detail=str(rejection), advice="not used")
        for rejection in search.rejections
    ]
    if ziglang_executable() is None:
        found.append(
            Finding(
                topic="C++ compiler without administrator rights",
                state=FindingState.MISSING if not search.compilers else FindingState.OPTIONAL,
                detail="package ziglang is not installed",
                advice="pip install 'ckprof[zig]'",
            )
        )
    return found


def _host_model(include_dir: Path) -> list[Finding]:
    headers = sum(1 for _ in include_dir.rglob("*.hpp"))
    if not headers:
        return [
            Finding(
                topic="host model",
                state=FindingState.MISSING,
                detail=f"no headers in {include_dir}",
                advice="pip install --force-reinstall ckprof",
            )
        ]
    return [Finding(topic="host model", state=FindingState.OK, detail=f"{headers} headers in {include_dir}")]


def _ninja() -> list[Finding]:
    try:
        command = ninja_command()
    except CkprofError as exc:
        return [
            Finding(topic="ninja", state=FindingState.MISSING, detail=str(exc), advice="pip install ninja")
        ]
    return [Finding(topic="ninja", state=FindingState.OK, detail=" ".join(command))]


def _machine() -> list[Finding]:
    properties = host_properties()
    memory = int(str(properties["memory_bytes"]))
    vectors = vector_set()
    return [
        Finding(
            topic="CPU",
            state=FindingState.OK,
            detail=f"{properties['processor']}, {properties['cores']} usable cores",
        ),
        Finding(
            topic="vector instructions",
            state=FindingState.OK if vectors else FindingState.OPTIONAL,
            detail=vectors or "unknown",
        ),
        Finding(
            topic="memory",
            state=FindingState.OK if memory >= _LITTLE_MEMORY else FindingState.BROKEN,
            detail=f"{memory / 2**30:.1f} GiB",
            advice="" if memory >= _LITTLE_MEMORY else "build on a machine with 1 GiB or more",
        ),
    ]


def _cache() -> list[Finding]:
    used = ObjectCache(object_cache_dir()).size_bytes()
    return [
        Finding(
            topic="object cache",
            state=FindingState.OK,
            detail=f"{cache_dir()}, {used / 2**20:.0f} MiB of objects; {CACHE_VARIABLE} moves it",
        )
    ]
