"""How a target compiles and links."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class CompilerFamily(Enum):
    """Whose command line a compiler understands; decides how headers are precompiled."""

    GCC = "gcc"
    CLANG = "clang"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """A C++ compiler that was found and asked for its version."""

    #: how to call it; several words for ``python -m ziglang c++``
    command: tuple[str, ...]
    family: CompilerFamily
    #: major, minor, patch
    version: tuple[int, int, int]
    #: first line of ``--version``
    description: str
    #: digest of the version output, the default target and the executable: part of every cache key
    identity: str
    #: whether precompiled headers are known to work
    precompiles: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """What the user asked for."""

    arch: str
    #: ``--compiler``, or ``None`` for the first usable one
    compiler: str | None = None
    #: added behind the target's own flags
    extra_flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRecipe:
    """Everything that the build layer needs to know about a target."""

    target: str
    arch: str
    api_level: str
    compiler: Compiler
    compile_flags: tuple[str, ...]
    link_flags: tuple[str, ...]
    #: passed with ``-I``; all files below them are digested into the cache key
    include_dirs: tuple[Path, ...]
    #: header text that every kernel source starts with, precompiled once; empty for none
    prefix_header: str
    #: C++ sources that are compiled once per library and linked into it
    support_sources: tuple[Path, ...]
    #: what ``-march=native`` and the like mean on this machine; part of every cache key
    machine_identity: str
    #: added behind ``compile_flags`` for kernels and their prefix header, not for support sources
    kernel_flags: tuple[str, ...] = ()
    #: peak memory to reckon with per compiler process
    compile_memory_bytes: int = 600 * 2**20
