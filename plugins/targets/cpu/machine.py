"""What the CPU of this machine can: what ``-march=native`` means, and what ``ckprof doctor`` says of it."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import platform
import re
import subprocess
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError, ToolchainError, UsageError
from ckprof.kernels.build_systems import ninja_command
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.toolchain import ask, find_compiler, search_compilers, ziglang_executable
from ckprof.measure.host import cpuinfo_field, host_properties
from ckprof.model.device import Finding
from ckprof.model.device import FindingState as State
from ckprof.model.recipe import CompilerFamily
from ckprof.paths import CACHE_VARIABLE, cache_dir, object_cache_dir
from ckprof.plugin.protocols import CanarySource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ckprof.model.recipe import Compiler


_TIMEOUT_S: Final = 20.0
#: flag in the kernel's description of the CPU -> name, widest first
_VECTOR_SETS: Final = (
    ("avx512f", "AVX-512"),
    ("avx2", "AVX2"),
    ("avx", "AVX"),
    ("sse2", "SSE2"),
    ("sve", "SVE"),
    ("asimd", "NEON"),
)
_EXTRAS: Final = (("avx512_bf16", "bf16"), ("f16c", "fp16 conversion"), ("fma", "FMA"))

#: what multiplies bf16, best first: name as in ``product_unit.hpp``, flags that it needs, and what it is
_BF16_UNITS: Final = (
    ("tiles", frozenset({"amx_tile", "amx_bf16"}), "AMX"),
    ("pairs", frozenset({"avx512_bf16"}), "AVX512-BF16"),
)
#: names the best one that the CPU target may use
BF16_UNIT_VARIABLE: Final = "CKPROF_CPU_BF16"


def machine_identity(compiler: Compiler) -> str:
    """Return a digest of what ``-march=native`` means to a compiler on this machine.

    Not kept on disk: a home folder may be shared by machines that differ.

    :param compiler: the compiler; one that does not tell is answered for by the CPU's features.
    """
    settings = _native_settings(compiler.command, compiler.family)
    text = settings or f"{platform.machine()} {cpuinfo_field('model name')} {' '.join(sorted(cpu_flags()))}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@functools.lru_cache(maxsize=16)
def _native_settings(command: tuple[str, ...], family: CompilerFamily) -> str:
    if family is CompilerFamily.GCC:
        return _ask((*command, "-march=native", "-Q", "--help=target")).stdout
    # the driver shows the back end's command line: processor and each of its features
    shown = _ask((*command, "-march=native", "-###", "-c", "-x", "c++", "/dev/null")).stderr
    return " ".join(re.findall(r'"?-target-(?:cpu|feature)"? "?[\w.+-]+"?', shown))


def _ask(command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    try:
        done = ask(command, _TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return subprocess.CompletedProcess(command, 1, "", "")
    return done if done.returncode == 0 else subprocess.CompletedProcess(command, 1, "", "")


def cpu_flags() -> frozenset[str]:
    """Return the features of the CPU by the kernel's names, empty where it does not tell."""
    return frozenset((cpuinfo_field("flags") or cpuinfo_field("Features")).split())


def vector_set(flags: frozenset[str] | None = None) -> str:
    """Return the widest set of vector instructions in a few words, empty if unknown.

    :param flags: features of the CPU, by default those of this one.
    """
    flags = cpu_flags() if flags is None else flags
    name = next((name for flag, name in _VECTOR_SETS if flag in flags), "")
    extras = [extra for flag, extra in _EXTRAS if flag in flags]
    return f"{name} with {', '.join(extras)}" if name and extras else name


def bf16_unit(flags: frozenset[str] | None = None, most: str | None = None) -> str:
    """Return in a few words what multiplies bf16 on the CPU target.

    Kernels ask the system and try the instruction before they use it, so this is what they hope for.

    :param flags: features of the CPU, by default those of this one.
    :param most: name of the best unit that may be used, by default what the environment says.
    :raises UsageError: there is no such unit.
    """
    flags = cpu_flags() if flags is None else flags
    for name, needed, instructions in _BF16_UNITS[_first_allowed(most) :]:
        if needed <= flags:
            return f"in {name} ({instructions}) where no operand or sum can be subnormal, else as fp32"
    return "as fp32"


def check_bf16_unit() -> None:
    """Check that the environment names a unit, if it does: kernels would take any other word for no wish.

    :raises UsageError: there is no such unit.
    """
    _first_allowed(None)


def _first_allowed(most: str | None) -> int:
    most = os.environ.get(BF16_UNIT_VARIABLE, "") if most is None else most
    names = [*(name for name, _, _ in _BF16_UNITS), "fp32"]
    if most and most not in names:
        raise UsageError(f"{BF16_UNIT_VARIABLE} is {most!r}, expected one of {', '.join(names)}")
    return names.index(most) if most else 0


_CANARY_FLAGS: Final = (
    *("-std=c++20", "-O3", "-march=native", "-ffp-contract=fast"),
    # zig's own default
    *("-fno-sanitize=undefined", "-fPIC", "-fvisibility=hidden", "-shared", "-pthread", "-s"),
)


def canary(source: Path) -> CanarySource:
    """Return how the canaries are compiled: by the first compiler but that of ``$CXX``, which is for kernels.

    :raises ToolchainError: no usable compiler.
    """
    compilers, _ = search_compilers(first_only=True, variable=False)
    return CanarySource(
        files=(source,),
        compiler=(compilers[0] if compilers else find_compiler()).command,
        flags=_CANARY_FLAGS,
        machine=f"{platform.machine()} {cpuinfo_field('model name')} {' '.join(sorted(cpu_flags()))}",
    )


#: enough for one compiler process
_LITTLE_MEMORY: Final = 2**30
_log: Final = logging.getLogger(__name__)


def findings(include_dir: Path) -> Sequence[Finding]:
    """Return what the target needs and whether it is there. Never raises.

    :param include_dir: root of the host model's headers.
    """
    lines: list[Finding] = []
    parts: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
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


def _compilers() -> Iterator[Finding]:
    topic = "C++ compiler"
    compilers, rejections = search_compilers()
    for compiler in compilers:
        yield Finding(topic, State.OK, f"{' '.join(compiler.command)}: {compiler.description}")
    if not compilers:
        yield Finding(topic, State.MISSING, "no g++ 11, clang++ 14 or newer", "apt-get install g++")
    for rejection in rejections:
        yield Finding(topic, State.BROKEN, rejection, "not used")
    if ziglang_executable() is None:
        topic, state = f"{topic} without administrator rights", State.OPTIONAL if compilers else State.MISSING
        yield Finding(topic, state, "package ziglang is not installed", "pip install 'ckprof[zig]'")


def _host_model(include_dir: Path) -> Iterator[Finding]:
    if headers := sum(1 for _ in include_dir.rglob("*.hpp")):
        yield Finding("host model", State.OK, f"{headers} headers in {include_dir}")
    else:
        advice = "pip install --force-reinstall ckprof"
        yield Finding("host model", State.MISSING, f"no headers in {include_dir}", advice)


def _ninja() -> Iterator[Finding]:
    try:
        yield Finding("ninja", State.OK, " ".join(ninja_command()))
    except CkprofError as exc:
        yield Finding("ninja", State.MISSING, str(exc), "pip install ninja")


def _machine() -> Iterator[Finding]:
    properties = host_properties()
    memory, vectors = int(str(properties["memory_bytes"])), vector_set()
    yield Finding("CPU", State.OK, f"{properties['processor']}, {properties['cores']} usable cores")
    yield Finding("vector instructions", State.OK if vectors else State.OPTIONAL, vectors or "unknown")
    try:
        yield Finding("products of bf16", State.OK, bf16_unit())
    except UsageError as exc:
        yield Finding("products of bf16", State.BROKEN, str(exc), f"unset {BF16_UNIT_VARIABLE}")
    state, advice = State.OK, ""
    if memory < _LITTLE_MEMORY:
        state, advice = State.BROKEN, "build on a machine with 1 GiB or more"
    yield Finding("memory", state, f"{memory / 2**30:.1f} GiB", advice)


def _cache() -> Iterator[Finding]:
    try:
        used = ObjectCache(object_cache_dir()).size_bytes() / 2**20
    except ToolchainError as exc:
        yield Finding("object cache", State.BROKEN, str(exc), f"set {CACHE_VARIABLE} to a folder of yours")
    else:
        held = f"{cache_dir()}, {used:.0f} MiB of objects; {CACHE_VARIABLE} moves it"
        yield Finding("object cache", State.OK, held)
