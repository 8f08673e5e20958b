"""Finds compilers that can compile HIP for AMD GPUs."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import ToolchainError
from ckprof.files import write_atomically
from ckprof.kernels.keys import digest_parts
from ckprof.kernels.toolchain import NOT_FOUND, ask, probe, probe_store, words_of
from ckprof_plugins.targets.hip.rocm import install_advice, rocm_roots

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.recipe import Compiler

#: older ones lack C++20 in HIP or current instruction names
_OLDEST: Final = (17, 0, 0)
_NEWEST_MAJOR: Final = 24
_TIMEOUT_S: Final = 30.0
#: found by running generated kernels instruction by instruction: barriers of the main loop stand in front of
#: the stores to LDS that they should separate from the loads
_WRONG_BARRIERS: Final = ((19, 0, 0), (20, 0, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class HipCompiler:
    """A compiler and what it knows of AMD GPUs."""

    compiler: Compiler
    #: names of architectures that it can compile for
    archs: frozenset[str]
    #: its own folder of headers
    resource_dir: Path
    #: linker for device code, empty if it finds none
    linker: str
    #: tool that joins host and device code, empty if it finds none
    bundler: str

    @property
    def caution(self) -> str:
        """What is known to be wrong with code that it makes; empty if nothing is."""
        first, end = _WRONG_BARRIERS
        if first <= self.compiler.version < end:
            return (
                "misplaces barriers in some compv3 kernels (backward weight, int8); use ROCm's compiler or "
                "clang 22 for code that is to run"
            )
        return ""


def search_hip_compilers(
    arch: str | None = None, *, first_only: bool = False
) -> tuple[tuple[HipCompiler, ...], tuple[str, ...]]:
    """Look for usable compilers: ``$HIPCXX``, those of ROCm, then the usual names, newest first.

    Returned in order of preference, with those that were found and cannot be used.

    :param arch: only those that can compile for it.
    :param first_only: stop at the first usable one.
    """
    compilers: dict[str, HipCompiler] = {}
    rejections: list[str] = []
    for command, expected in _candidates():
        answer = _usable(command, arch)
        if isinstance(answer, HipCompiler):
            compilers.setdefault(answer.compiler.identity, answer)
            if first_only:
                break
        elif expected or answer != NOT_FOUND:
            rejections.append(f"{' '.join(command)}: {answer}")
    return tuple(compilers.values()), tuple(rejections)


def find_hip_compiler(arch: str, requested: str | None = None) -> HipCompiler:
    """Return the compiler that the user asked for, or the first one that can compile for ``arch``.

    :param arch: e.g. ``gfx942``, without features.
    :param requested: ``--compiler``.
    :raises ToolchainError: there is none; the message says what was tried and what to install.
    """
    if requested is not None:
        command = words_of(requested, "--compiler")
        answer = _usable(command, arch)
        if isinstance(answer, HipCompiler):
            return answer
        raise ToolchainError(
            f"the compiler asked for cannot be used: {' '.join(command)}: {answer}; "
            "omit --compiler to take the first usable one"
        )
    compilers, rejections = search_hip_compilers(arch, first_only=True)
    if compilers:
        return compilers[0]
    unusable = "".join(f"\n  {rejection}" for rejection in rejections)
    raise ToolchainError(
        f"no compiler for {arch} found; looked for $HIPCXX, ROCm's amdclang++ and hipcc, clang++, clang++-N"
        + (f"; found but unusable:{unusable}" if unusable else "")
        + f"\n{install_advice(arch)}"
    )


def _candidates() -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield commands, and whether the user expects that one to be there."""
    from_environment = os.environ.get("HIPCXX", "").strip()
    if from_environment:
        yield words_of(from_environment, "$HIPCXX"), True
    for root in rocm_roots():
        if root == Path("/usr"):
            continue
        for below in ("lib/llvm/bin/amdclang++", "lib/llvm/bin/clang++", "llvm/bin/clang++", "bin/hipcc"):
            if (root / below).is_file():
                yield (str(root / below),), True
    for name in ("amdclang++", *(f"clang++-{major}" for major in range(_NEWEST_MAJOR, _OLDEST[0] - 1, -1))):
        yield (name,), False
    yield ("clang++",), False
    yield ("hipcc",), False


def _usable(command: tuple[str, ...], arch: str | None) -> HipCompiler | str:
    answer = probe(command, probe_store())
    if isinstance(answer, str):
        return answer
    version = ".".join(map(str, answer.version))
    if answer.family.value != "clang":
        return "compiles no HIP: it is not clang"
    if answer.version < _OLDEST:
        return f"version {version} is too old, {_OLDEST[0]} is needed"
    hip = _ask(answer)
    if not hip.archs:
        return f"version {version} was built without the AMDGPU backend"
    if arch is not None and arch not in hip.archs:
        return f"version {version} does not know {arch}"
    return hip


@functools.lru_cache(maxsize=32)
def _ask(compiler: Compiler) -> HipCompiler:
    """Ask what the compiler knows; answers are kept on disk as long as it does not change."""
    path = shutil.which(compiler.command[0]) or ""
    memo = probe_store() / f"hip-{digest_parts(compiler.identity, path)}.json"
    record = _recall(memo)
    if record is None:
        record = {
            "archs": _archs(compiler.command),
            "resource_dir": _output((*compiler.command, "-print-resource-dir")).strip(),
            "linker": _tool(compiler.command, "lld"),
            "bundler": _tool(compiler.command, "clang-offload-bundler"),
        }
        try:
            write_atomically(memo, json.dumps(record))
        except OSError:
            pass  # only costs time
    return HipCompiler(
        compiler=compiler,
        archs=frozenset(record["archs"]),
        resource_dir=Path(record["resource_dir"]),
        linker=record["linker"],
        bundler=record["bundler"],
    )


def _recall(memo: Path) -> dict[str, Any] | None:
    """Return what a compiler was asked, as it is kept on disk; an empty path is that of a missing tool."""
    try:
        record: dict[str, Any] = json.loads(memo.read_text())
        # a tool that was missing may have been installed since
        complete = isinstance(record["archs"], list) and all(
            path and Path(path).exists()
            for path in (record["resource_dir"], record["linker"], record["bundler"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return record if complete else None


def _archs(command: tuple[str, ...]) -> list[str]:
    output = _output(
        (*command, "--target=amdgcn-amd-amdhsa", "-nogpulib", "--print-supported-cpus"), both=True
    )
    return sorted(
        {word for line in output.splitlines() for word in line.split()[:1] if word.startswith("gfx")}
    )


def _tool(command: tuple[str, ...], name: str) -> str:
    path = _output((*command, f"-print-prog-name={name}")).strip()
    return path if Path(path).is_absolute() else (shutil.which(path) or "") if path else ""


def _output(command: tuple[str, ...], *, both: bool = False) -> str:
    try:
        done = ask(command, _TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + (done.stderr if both else "")
