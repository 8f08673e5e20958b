"""Compiles the library's own sources with a header that prints instances, and runs what comes of it.

The factory of a list is compiled first. Which functions it calls is read from its object, and their sources
are compiled next, as they are. On the host alone: neither a GPU nor device code has a part in it.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import psutil

from ckprof.errors import ToolchainError
from ckprof.files import write_atomically
from ckprof.kernels.build_systems import ninja_command, run_steps
from ckprof.kernels.keys import digest_parts
from ckprof.paths import cache_dir
from ckprof.private_folders import lock_file
from ckprof_converters.library_lists import chosen_lists, known_lists
from ckprof_converters.reflection.factories import (
    annotation,
    factory_source,
    is_of,
    prelude_of,
    prelude_source,
    template_source,
)
from ckprof_converters.reflection.tree import ARCHS, SET, TEMPLATE, find_tree
from ckprof_plugins.targets.hip.recipe import HOST_CODE_FOR, host_flags
from ckprof_plugins.targets.hip.rocm import find_hip_root
from ckprof_plugins.targets.hip.toolchain import find_hip_compiler

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ckprof.model.parity import PrintedLists
    from ckprof.model.recipe import Compiler
    from ckprof_converters.library_lists import ListKey
    from ckprof_converters.reflection.tree import BuilderTree


_HERE: Final = Path(__file__).parent
#: folders with names that older HIP headers lack, and with the configuration of a tree that has none
NAMES_DIR: Final = _HERE / "include"
CONFIG_DIR: Final = _HERE / "config"
_FLAGS: Final = (
    *("-std=c++20", "-O0"),
    # with modules, overloads of host and device in a precompiled header count as two definitions
    *("-Xclang", "-fno-cxx-modules"),
)
#: peak of one compiler process, measured with clang 19 and the tree of November 2025
_COMPILE_MEMORY: Final = 600 * 2**20
_RUN_TIMEOUT_S: Final = 60.0
#: a function's name as mangled names have it, behind its length
_CALLED: Final = re.compile(rb"(\d+)(add_device_\w+)")
_OWN_TRAITS: Final = "__hip_internal"


class PrintedTuple(NamedTuple):
    """A tuple of instances that a function handed over."""

    function: str
    #: strings of its instances
    strings: tuple[str, ...]
    #: classes of instances that the tree's Builder does not describe
    silent: tuple[str, ...]


def host_compilation(
    tree: BuilderTree, includes: Iterable[Path], macros: Iterable[str], compiler: str | None = None
) -> tuple[Compiler, tuple[str, ...]]:
    """Return compiler and flags by which sources of a tree are compiled without device code.

    :param includes: folders that are searched before those of the tree.
    :param compiler: the one asked for, if any.
    :raises ToolchainError: no compiler, or no HIP headers.
    """
    hip, root = find_hip_compiler(HOST_CODE_FOR, compiler), find_hip_root()
    flags = (
        *host_flags(hip, root, HOST_CODE_FOR),
        *_FLAGS,
        *(f"-D{macro}" for macro in (*macros, "CK_USE_GFX94", "CK_USE_FNUZ_FP8")),
        *name_flags(root),
        *(("-I", str(CONFIG_DIR)) if not tree.is_configured else ()),
        *(word for folder in (*includes, *tree.includes) for word in ("-I", str(folder))),
        *("-include", str(NAMES_DIR / "ckprof_hip_names.hpp")),
    )
    return hip.compiler, flags


class Reflector:
    """Prints the instances of lists through a tree's Builder.

    :param tree: the sources.
    :param archs: the devices that factories are told of, one after the other: what any of them has counts.
    :param macros: what switches the wanted kind of matrix instructions on.
    :param compiler: the one asked for, if any.
    :raises ToolchainError: no compiler, HIP headers or ninja.
    """

    def __init__(
        self, tree: BuilderTree, archs: Sequence[str], macros: Sequence[str], compiler: str | None = None
    ) -> None:
        self._tree = tree
        self._archs = archs
        found, flags = host_compilation(tree, (NAMES_DIR,), macros, compiler)
        self._command = found.command
        self._flags = (*flags, "-DCK_EXPERIMENTAL_BUILDER")
        identity = digest_parts(str(tree.root), found.identity, *self._flags)
        self._folder = cache_dir() / "ck-builder" / identity
        self._ninja = ninja_command()

    def reflect(self, keys: Sequence[ListKey]) -> dict[ListKey, tuple[PrintedTuple, ...]]:
        """Return what each list's factory has.

        :raises ToolchainError: something does not compile, no source of the tree defines what a factory
            calls, or the cache cannot be written.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise ToolchainError(f"{self._folder}: cannot be made: {exc.strerror}") from exc
        with lock_file(self._folder / "lock"):
            called = self._compile_factories(keys)
            self._link(called)
            with ThreadPoolExecutor(_jobs()) as pool:
                return dict(zip(keys, pool.map(self._run, keys), strict=True))

    def _compile_factories(self, keys: Sequence[ListKey]) -> dict[ListKey, tuple[str, ...]]:
        """Compile the factories, and return which functions each of them calls."""
        for prelude in {prelude_of(key) for key in keys}:
            existing = tuple(
                line
                for line in prelude_source(prelude, self._tree.traits).splitlines(keepends=True)
                if any(
                    (folder / line.split('"')[1]).is_file() for folder in (NAMES_DIR, *self._tree.includes)
                )
            )
            self._write(f"{prelude}.hpp", "".join(existing))
        for key in keys:
            self._write(f"{_name(key)}.cpp", factory_source(key))
        self._build([*self._preludes(keys), *(self._factory(key) for key in keys)])
        return {key: _called((self._folder / f"{_name(key)}.o").read_bytes()) for key in keys}

    def _link(self, called: dict[ListKey, tuple[str, ...]]) -> None:
        edges = [*self._preludes(called), _edge("device.o", "object", _HERE / "src" / "device.cpp")]
        objects: dict[str, str] = {}
        for key, names in called.items():
            sources = {
                source: f"{prelude_of(key)}-{source.stem}.o"
                for source in (self._source(name, key) for name in names)
            }
            for source, object_name in sources.items():
                objects.setdefault(object_name, _edge(object_name, "unit", source, prelude=prelude_of(key)))
            inputs = " ".join((f"{_name(key)}.o", "device.o", *sources.values()))
            edges += [self._factory(key), f"build {_name(key)}: link {inputs}\n"]
        self._build([*edges, *objects.values()])

    def _source(self, function: str, key: ListKey) -> Path:
        """Return the source that defines a function."""
        path = self._tree.sources.get(function)
        if path is None:
            raise ToolchainError(
                f"{self._tree.root}: no source defines {function}, which the factory of {key} calls"
            )
        if path.suffix != TEMPLATE:
            return path
        self._write(f"{path.stem}.cpp", template_source(function, path))
        return self._folder / f"{path.stem}.cpp"

    def _preludes(self, keys: Iterable[ListKey]) -> list[str]:
        return [
            _edge(f"{prelude}.pch", "prelude", self._folder / f"{prelude}.hpp")
            for prelude in dict.fromkeys(map(prelude_of, keys))
        ]

    def _factory(self, key: ListKey) -> str:
        return _edge(f"{_name(key)}.o", "unit", self._folder / f"{_name(key)}.cpp", prelude=prelude_of(key))

    def _build(self, edges: Sequence[str]) -> None:
        """Build everything that has changed.

        :raises ToolchainError: something does not compile.
        """
        compiler = _escaped(shlex.join((*self._command, *self._flags)))
        # without an id of its own, each object of host code defines the same symbol
        unit = "-Xclang -cuid=$id -MD -MF $out.d -c $in -o $out\n"
        depfile = "  depfile = $out.d\n  deps = gcc\n"
        rules = (
            f"rule prelude\n  command = {compiler} -fsyntax-only -MD -MF $out.d -MT $out "
            f"-Xclang -emit-pch -Xclang -o -Xclang $out $in\n{depfile}",
            f"rule object\n  command = {compiler} {unit}{depfile}",
            # the driver puts a header of its own in front, which the precompiled header holds already
            f"rule unit\n  command = {compiler} -nogpuinc -Xclang -include-pch -Xclang $prelude "
            f"{unit}{depfile}",
            f"rule link\n  command = {_escaped(shlex.join(self._command))} $in -o $out -no-hip-rt\n",
        )
        self._write(
            "build.ninja", "ninja_required_version = 1.10\nbuilddir = .\n" + "".join((*rules, *edges))
        )
        status, tail = run_steps(
            (*self._ninja, "-j", str(_jobs())),
            None,
            cwd=self._folder,
            env={**os.environ, "NINJA_STATUS": "[%f/%t] "},
        )
        if status:
            errors = [line for line in tail if "error:" in line or "undefined reference" in line] or tail
            raise ToolchainError(
                f"{self._tree.root}: its reflection does not compile (log: {self._folder}):\n  "
                + "\n  ".join(errors[:5])
            )

    def _run(self, key: ListKey) -> tuple[PrintedTuple, ...]:
        # a dictionary for its order; the n-th of equal tuples is the same one on every device
        tuples: dict[tuple[PrintedTuple, int], None] = {}
        for arch in self._archs:
            seen: Counter[PrintedTuple] = Counter()
            for item in self._run_on(key, arch):
                tuples[item, seen[item]] = None
                seen[item] += 1
        order = {name: place for place, name in enumerate(dict.fromkeys(item.function for item, _ in tuples))}
        return tuple(sorted((item for item, _ in tuples), key=lambda item: order[item.function]))

    def _run_on(self, key: ListKey, arch: str) -> Iterator[PrintedTuple]:
        done = subprocess.run(
            (str(self._folder / _name(key)),),
            env={**os.environ, "CKPROF_REFLECTED_ARCH": arch},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_RUN_TIMEOUT_S,
            check=False,
        )
        if done.returncode:
            raise ToolchainError(
                f"{key}: the factory ended with status {done.returncode}: {done.stderr.strip()}"
            )
        for text in done.stdout.split("tuple\t")[1:]:
            function, *lines = text.splitlines()
            named = [line.split("\t") for line in lines]
            yield PrintedTuple(
                function,
                strings=tuple(text for what, text in named if what == "string"),
                silent=tuple(text for what, text in named if what == "silent"),
            )

    def _write(self, name: str, text: str) -> None:
        """Write a file of the build unless it says the same already: what is newer is compiled again."""
        path = self._folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            write_atomically(path, text)


def _name(key: ListKey) -> str:
    return "-".join(filter(None, (key.direction, key.fused, key.layout, key.dtype)))


def _edge(output: str, rule: str, source: Path, prelude: str = "") -> str:
    after = f" | {prelude}.pch\n  prelude = {prelude}.pch" if prelude else ""
    return f"build {output}: {rule} {_escaped(str(source))}{after}\n  id = {digest_parts(output)}\n"


def _escaped(text: str) -> str:
    return text.replace("$", "$$")


def _called(code: bytes) -> tuple[str, ...]:
    """Return the functions that an object asks others for: its table of strings has their mangled names."""
    names = (match[2][: int(match[1])].decode() for match in _CALLED.finditer(code))
    return tuple(dict.fromkeys(names))


def name_flags(root: Path) -> tuple[str, ...]:
    """Return the flags by which ``ckprof_hip_names.hpp`` has what HIP's headers lack.

    :param root: where HIP is installed.
    """
    for path in (root / "include" / "hip" / "amd_detail").glob("*.h"):
        if _OWN_TRAITS in path.read_text(encoding="utf-8", errors="replace"):
            return ()
    return ("-DCKPROF_OLD_HIP",)


def _jobs() -> int:
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, psutil.virtual_memory().available // _COMPILE_MEMORY))


def silent_classes(printed: Mapping[ListKey, Sequence[PrintedTuple]]) -> Counter[str]:
    """Return which classes a tree's Builder has no string for -> instances."""
    return Counter(name for tuples in printed.values() for item in tuples for name in item.silent)


def notes_on(silent: Mapping[str, int]) -> tuple[str, ...]:
    """Say which classes a tree's Builder does not describe, and how many instances it leaves out."""
    return tuple(
        f"this tree's CK Builder has no string for {name}: {count} instances are excluded"
        for name, count in sorted(silent.items())
    )


def print_keys(
    source: Path | None,
    keys: Sequence[ListKey],
    instructions: str = "xdl",
    archs: Sequence[str] = ARCHS,
    compiler: str | None = None,
) -> tuple[BuilderTree, dict[ListKey, tuple[PrintedTuple, ...]]]:
    """Compile the reflection of a tree; return the tree and what it prints for lists.

    :param source: the tree; ``None`` for ``$CK_ROOT``.
    :param instructions: the kind of matrix instructions of the instances.
    :param archs: what factories that depend on the device are told it is, one after the other.
    :param compiler: the one asked for, if any.
    :raises InputError: there is no such folder.
    :raises ToolchainError: no tree with CK Builder, no compiler, or something does not compile.
    """
    tree = find_tree(source)
    macros = known_lists().engines[instructions].macros
    return tree, Reflector(tree, archs, macros, compiler).reflect(keys)


def lines_of(key: ListKey, printed: Sequence[PrintedTuple]) -> list[tuple[str, str]]:
    """Return line and function of each instance of a list that has a string."""
    remark = annotation(key)
    return [(text + remark, item.function) for item in printed for text in item.strings]


def place_of(key: ListKey) -> str:
    """Return the path of a list below the folder of all lists."""
    return f"{key.folder}/{SET}/{key.file_name}"


def print_lists(
    tree: Path,
    direction: str,
    *,
    layouts: Sequence[str],
    dtypes: Sequence[str],
    lines: Sequence[str],
    compiler: str | None,
) -> PrintedLists:
    """Print the lists that lines of other lists could stand in.

    :raises InputError: there is no such folder.
    :raises ToolchainError: no tree with CK Builder, no compiler, or something does not compile.
    """
    every = chosen_lists((direction,), layouts, (), "all")
    keys = [key for key in every if any(is_of(line, key) for line in lines)]
    # short spellings say neither types nor operations
    keys = keys or chosen_lists((direction,), layouts, dtypes)
    _, printed = print_keys(tree, keys, compiler=compiler)
    silent = silent_classes(printed)
    texts = {
        place_of(key): "".join(f"{line}\n" for line, _ in lines_of(key, tuples))
        for key, tuples in printed.items()
    }
    return texts, frozenset(silent), notes_on(silent)
