"""Finds C++ compilers, and asks each command whether it is one that ckprof can use.

Answers are kept on disk, keyed by what would change them: the executables that the command runs.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shlex
import shutil
import subprocess
from contextlib import suppress
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import ToolchainError
from ckprof.files import read_own, scratch_folder, write_atomically
from ckprof.model.recipe import Compiler, CompilerFamily
from ckprof.paths import cache_dir

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


#: oldest versions with the C++20 that generated sources need
MINIMUM_VERSION: Final = {CompilerFamily.GCC: (11, 0, 0), CompilerFamily.CLANG: (14, 0, 0)}

_SCHEMA: Final = 1
_TIMEOUT_S: Final = 60.0
#: names of zig's executable
_ZIG: Final = ("zig", "zig.exe")
#: fails where the compiler is there but its standard library is not
_SAMPLE: Final = """\
#include <concepts>
#include <cstddef>
#include <version>
template <std::integral T> T twice(T value) { return value + value; }
std::size_t use() { return twice(sizeof(int)); }
"""


#: why a command cannot be used that is not there
NOT_FOUND: Final = "not found"


class _UnusableError(Exception):
    """Why a command cannot be used.

    :param reason: a few words.
    :param lasting: whether the answer stays the same until an executable changes.
    """

    def __init__(self, reason: str, *, lasting: bool) -> None:
        super().__init__(reason)
        self.lasting = lasting


def probe(command: Sequence[str], store: Path | None) -> Compiler | str:
    """Ask a command for its version and let it check a small source; say why it cannot be used if it cannot.

    :param command: how to call the compiler.
    :param store: folder for answers, ``None`` to ask every time.
    """
    words = tuple(command)
    executables = _executables(words)
    if not executables:
        return NOT_FOUND
    memo = store / f"{_digest(words, *executables)}.json" if store is not None else None
    answer = _recall(memo) if memo is not None else None
    if answer is None:
        try:
            answer = _ask(words, executables)
        except _UnusableError as exc:
            answer = str(exc)
            if not exc.lasting:
                return answer
        if memo is not None:
            _remember(memo, answer)
    return replace(answer, added_words=added_words(words)) if isinstance(answer, Compiler) else answer


def added_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command from the first one on that is a flag, or sets a variable."""
    rest = words[words.index("ziglang") + 1 :] if "ziglang" in words else words[1:]
    return tuple(dropwhile(lambda word: not word.startswith("-") and "=" not in word, rest))


def _executables(words: tuple[str, ...]) -> list[tuple[str, int, int]]:
    """Return path, size and time of change of the executables of a command; empty if the first is missing."""
    properties: list[tuple[str, int, int]] = []
    for position, word in enumerate(words):
        executable = shutil.which(word)
        if executable is None:
            if position == 0:
                return []
            continue
        properties.append(_stamp(Path(executable)))
    if "ziglang" in words:
        bundled = ziglang_executable()
        if bundled is None:
            return []
        properties.append(_stamp(bundled))
    return properties


def ziglang_executable() -> Path | None:
    """Return the compiler inside the ``ziglang`` package, without importing it."""
    from importlib.util import find_spec

    spec = find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    for name in _ZIG:
        if (folder / name).is_file():
            return folder / name
    return None


def _stamp(path: Path) -> tuple[str, int, int]:
    resolved = path.resolve()
    status = resolved.stat()
    return str(resolved), status.st_size, status.st_mtime_ns


def _digest(*parts: object) -> str:
    return hashlib.blake2b(repr((_SCHEMA, *parts)).encode(), digest_size=16).hexdigest()


def _ask(words: tuple[str, ...], executables: list[tuple[str, int, int]]) -> Compiler:
    banner = _output((*words, "--version"))
    family, version = parse_version(banner)
    minimum = MINIMUM_VERSION[family]
    if version < minimum:
        have = ".".join(map(str, version))
        raise _UnusableError(
            f"version {have} is too old, {family.value} {minimum[0]} is needed", lasting=True
        )
    triple = _output((*words, "-dumpmachine")).strip()
    _compile_sample(words)
    sizes = [(size, changed) for _, size, changed in executables]
    return Compiler(
        command=words,
        family=family,
        version=version,
        description=_first_line(banner),
        identity=_digest(_without_name(banner), triple, sizes),
        # zig hides the compiler's own driver, which is what finds a precompiled header
        precompiles=not is_zig(words),
    )


def _without_name(banner: str) -> str:
    """Drop the name by which GCC was called from its banner: a link is no other compiler."""
    return banner.split(maxsplit=1)[-1] if "Free Software Foundation" in banner else banner


def _compile_sample(words: tuple[str, ...]) -> None:
    with scratch_folder() as folder:
        source = Path(folder, "sample.cpp")
        source.write_text(_SAMPLE)
        _output(
            (*words, "-std=c++20", "-c", str(source), "-o", str(source.with_suffix(".o"))),
            "a C++20 test source",
        )


def _output(command: tuple[str, ...], label: str = "") -> str:
    label = label or command[-1]
    try:
        done = ask(command, _TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise _UnusableError(f"{label}: no answer within {_TIMEOUT_S:g} s", lasting=False) from None
    except OSError as exc:
        raise _UnusableError(f"cannot be run: {exc.strerror or exc}", lasting=False) from exc
    if done.returncode != 0:
        why = _first_line(done.stderr) or _first_line(done.stdout) or "no message"
        # a failing compile may be cured by installing headers, which changes no executable
        raise _UnusableError(f"{label} fails with exit status {done.returncode}: {why}", lasting=False)
    return done.stdout


def _first_line(text: str) -> str:
    for line in text.splitlines():
        if line.strip():
            return line.strip()[:200]
    return ""


def parse_version(banner: str) -> tuple[CompilerFamily, tuple[int, int, int]]:
    """Return family and version from the output of ``--version``.

    :param banner: the whole output.
    """
    clang = re.search(r"clang version (\d+)\.(\d+)(?:\.(\d+))?", banner)
    if clang:
        return CompilerFamily.CLANG, (int(clang[1]), int(clang[2]), int(clang[3] or 0))
    if "Free Software Foundation" in banner:
        # the package version in parentheses comes first and may differ
        plain = re.sub(r"\([^()]*\)", " ", _first_line(banner))
        gcc = re.search(r"\b(\d+)\.(\d+)(?:\.(\d+))?", plain)
        if gcc:
            return CompilerFamily.GCC, (int(gcc[1]), int(gcc[2]), int(gcc[3] or 0))
    shown = _first_line(banner) or "nothing"
    raise _UnusableError(f"not a known compiler, --version says: {shown}", lasting=True)


def _remember(memo: Path, answer: Compiler | str) -> None:
    with suppress(OSError):  # only costs time: the next run asks again
        write_atomically(memo, msgspec.json.encode(answer).decode())


_ANSWERS: Final[msgspec.json.Decoder[Compiler | str]] = msgspec.json.Decoder(Compiler | str)


def _recall(memo: Path) -> Compiler | str | None:
    try:
        return _ANSWERS.decode(read_own(memo))
    except (OSError, ValueError):
        return None


def is_zig(words: tuple[str, ...]) -> bool:
    """Say whether a command calls zig."""
    return "ziglang" in words or Path(words[0]).name in _ZIG


def ask(command: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a command without input and return what it printed, whatever its exit status.

    :param timeout_s: seconds that the answer may take.
    :raises OSError: the command cannot be run.
    :raises subprocess.TimeoutExpired: there is no answer in time.
    """
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
    )


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


def search_compilers(
    *, store: Path | None = None, first_only: bool = False, variable: bool = True
) -> tuple[tuple[Compiler, ...], tuple[str, ...]]:
    """Look for usable compilers: ``$CXX``, the usual names, then the ``ziglang`` package.

    :param store: folder for the answers of compilers, by default in the cache.
    :param first_only: stop at the first usable one.
    :param variable: look at ``$CXX`` as well.
    :returns: them in order of preference, and commands that are none, with the reason.
    """
    store = store if store is not None else probe_store()
    # further names of a compiler are dropped
    compilers: dict[tuple[CompilerFamily, str], Compiler] = {}
    rejections: list[str] = []
    for command, expected in _candidates(variable):
        answer = probe(command, store)
        if isinstance(answer, Compiler):
            compilers.setdefault((answer.family, answer.identity), answer)
            if first_only:
                break
        elif expected or answer != NOT_FOUND:
            rejections.append(f"{' '.join(command)}: {answer}")
    return tuple(compilers.values()), tuple(rejections)


def find_compiler(requested: str | None = None, *, store: Path | None = None) -> Compiler:
    """Return the compiler that the user asked for, or the first usable one.

    :param requested: ``--compiler``; may have several words; ``zig`` is the one in the ``ziglang`` package.
    :param store: folder for the answers of compilers, by default in the cache.
    :raises ToolchainError: there is none; the message says what was tried and what to install.
    """
    store = store if store is not None else probe_store()
    if requested is not None:
        command = words_of(requested, "--compiler")
        answer = probe(command, store)
        if isinstance(answer, Compiler):
            return answer
        raise ToolchainError(
            f"the compiler asked for cannot be used: {' '.join(command)}: {answer}; "
            "omit --compiler to take the first usable one"
        )
    compilers, rejections = search_compilers(store=store, first_only=True)
    for rejection in rejections:
        _log.warning("compiler skipped: %s", rejection)
    if compilers:
        return compilers[0]
    needed = " or ".join(f"{family.value} {version[0]}" for family, version in MINIMUM_VERSION.items())
    unusable = "".join(f"\n  {rejection}" for rejection in rejections)
    raise ToolchainError(
        f"no usable C++ compiler found, {needed} or newer is needed; "
        f"looked for $CXX, {', '.join(_NAMES)} and the ziglang package"
        + (f"; found but unusable:{unusable}" if unusable else "")
        + f"\n{INSTALL_ADVICE}"
    )


def probe_store() -> Path:
    """Return where the answers of compilers are kept."""
    return cache_dir() / "compilers"


def _candidates(variable: bool) -> Iterator[tuple[Sequence[str], bool]]:
    """Yield commands, and whether the user expects that one to be there."""
    from_environment = os.environ.get("CXX", "").strip() if variable else ""
    if from_environment:
        yield words_of(from_environment, "$CXX"), True
    for name in _NAMES:
        yield (name,), False
    if (bundled := ziglang_executable()) is not None:
        yield (str(bundled), "c++"), True


def words_of(text: str, origin: str) -> tuple[str, ...]:
    """Return the words of a compiler's command, with its path from anywhere.

    :param origin: what names it, for messages.
    :raises ToolchainError: it cannot be read, or there is nothing.
    """
    try:
        words = tuple(shlex.split(text))
    except ValueError as exc:
        raise ToolchainError(f"{origin}: {text!r} cannot be read as a command: {exc}") from exc
    if not words:
        raise ToolchainError(f"{origin} is empty; give the name or the path of a compiler")
    if words == ("zig",) and (bundled := ziglang_executable()) is not None:
        # alone it is no C++ compiler
        return str(bundled), "c++"
    # compilers are started in other folders
    return tuple(str(Path(word).absolute()) if "/" in word and shutil.which(word) else word for word in words)
