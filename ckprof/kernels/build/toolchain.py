"""Finds C++ compilers."""

from __future__ import annotations

import logging
import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.kernels.build.probe import MINIMUM_VERSION, Rejection, probe, ziglang_executable
from ckprof.model.recipe import CompilerFamily
from ckprof.paths import cache_dir

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ckprof.model.recipe import Compiler

_NAMES: Final = (
    "g++",
    "clang++",
    *(f"g++-{major}" for major in range(14, 10, -1)),
    *(f"clang++-{major}" for major in range(20, 13, -1)),
)
INSTALL_ADVICE: Final = (
    "install one with 'apt-get install g++' or 'dnf install gcc-c++', "
    "or without administrator rights with \"pip install 'ckprof[zig]'\""
)

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What a search for compilers found, in order of preference."""

    compilers: tuple[Compiler, ...]
    rejections: tuple[Rejection, ...]


def search_compilers(*, store: Path | None = None, first_only: bool = False) -> Search:
    """Look for usable compilers: ``$CXX``, the usual names, then the ``ziglang`` package.

    :param store: folder for the answers of compilers, by default in the cache.
    :param first_only: stop at the first usable one.
    """
    store = store if store is not None else probe_store()
    compilers: list[Compiler] = []
    rejections: list[Rejection] = []
    for command, expected in _candidates():
        answer = probe(command, store)
        if not isinstance(answer, Rejection):
            compilers.append(answer)
            if first_only:
                break
        elif expected or answer.reason != "not found":
            rejections.append(answer)
    return Search(compilers=_distinct(compilers), rejections=tuple(rejections))


def find_compiler(requested: str | None = None, *, store: Path | None = None) -> Compiler:
    """Return the compiler that the user asked for, or the first usable one.

    :param requested: ``--compiler``; may have several words; ``zig`` is the one in the ``ziglang`` package.
    :param store: folder for the answers of compilers, by default in the cache.
    :raises ToolchainError: there is none; the message says what was tried and what to install.
    """
    store = store if store is not None else probe_store()
    if requested is not None:
        command = _split(requested, "--compiler")
        answer = probe(command, store)
        if isinstance(answer, Rejection):
            raise ToolchainError(
                f"the compiler asked for cannot be used: {answer}; "
                "leave out --compiler to take the first usable one"
            )
        return answer
    search = search_compilers(store=store, first_only=True)
    for rejection in search.rejections:
        _log.warning("compiler skipped: %s", rejection)
    if search.compilers:
        return search.compilers[0]
    needed = " or ".join(f"{family.value} {version[0]}" for family, version in MINIMUM_VERSION.items())
    unusable = "".join(f"\n  {rejection}" for rejection in search.rejections)
    raise ToolchainError(
        f"no usable C++ compiler found, {needed} or newer is needed; "
        f"looked for $CXX, {', '.join(_NAMES)} and the ziglang package"
        + (f"; found but unusable:{unusable}" if unusable else "")
        + f"\n{INSTALL_ADVICE}"
    )


def probe_store() -> Path:
    """Return where the answers of compilers are kept."""
    return cache_dir() / "compilers"


def _candidates() -> Iterator[tuple[Sequence[str], bool]]:
    """Yield commands, and whether the user expects that one to be there."""
    from_environment = os.environ.get("CXX", "").strip()
    if from_environment:
        yield _split(from_environment, "$CXX"), True
    for name in _NAMES:
        yield (name,), False
    if (bundled := ziglang_executable()) is not None:
        yield (str(bundled), "c++"), True


def _split(text: str, origin: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as exc:
        raise ToolchainError(f"{origin}: {text!r} cannot be read as a command: {exc}") from exc
    if not words:
        raise ToolchainError(f"{origin} is empty; give the name or the path of a C++ compiler")
    if words == ("zig",) and (bundled := ziglang_executable()) is not None:
        # alone it is no C++ compiler
        return str(bundled), "c++"
    return words


def _distinct(compilers: list[Compiler]) -> tuple[Compiler, ...]:
    """Drop further names of the same compiler."""
    seen: dict[tuple[CompilerFamily, str], Compiler] = {}
    for compiler in compilers:
        seen.setdefault((compiler.family, compiler.identity), compiler)
    return tuple(seen.values())
