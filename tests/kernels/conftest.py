"""A tiny source tree, recipes for it and scripted compilers."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import stat
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ckprof.errors import ToolchainError
from ckprof.files import write_if_changed
from ckprof.kernels.builder import build_tree
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.keys import KernelFolder, KernelSources
from ckprof.kernels.toolchain import find_compiler
from ckprof.model.recipe import BuildRecipe, Compiler, CompilerFamily


class TinyTree(KernelFolder):
    def write_library_source(self, symbols):
        path = self.root / "library.cpp"
        declared = "".join(f'extern "C" int {symbol}();\n' for symbol in symbols)
        total = " + ".join(f"{symbol}()" for symbol in symbols)
        exported = 'extern "C" __attribute__((visibility("default")))'
        write_if_changed(path, f"{declared}{exported} int total() {{ return {total}; }}\n")
        return path

    def text(self, position, body):
        """Give a kernel's function another body."""
        kernel = self.kernels[position]
        kernel.header.write_text(f"inline int {kernel.name}_value() {{ {body} }}\n")


@pytest.fixture
def make_tree(tmp_path):
    def make(count=3, folder="tree"):
        root = tmp_path / folder
        (root / "kernels").mkdir(parents=True)
        kernels = []
        for position in range(count):
            name = f"kernel_{position}"
            key = hashlib.blake2b(name.encode(), digest_size=16).hexdigest()
            kernel = KernelSources(
                key=key,
                name=name,
                header=root / "kernels" / f"{name}.hpp",
                entry=root / "kernels" / f"{name}.cpp",
                symbol=f"symbol_{position}",
            )
            kernel.entry.write_text(
                f'#include "{name}.hpp"\nextern "C" int {kernel.symbol}();\n'
                f'extern "C" int {kernel.symbol}() {{ return {name}_value(); }}\n'
            )
            kernels.append(kernel)
        tree = TinyTree(root=root, library_name="tiny", kernels=tuple(kernels))
        for position in range(count):
            tree.text(position, f"return prefix_value() * {10**position};")
        return tree

    return make


@pytest.fixture(scope="session")
def compiler():
    try:
        return find_compiler()
    except ToolchainError as exc:
        pytest.skip(str(exc))


@pytest.fixture
def make_recipe(tmp_path):
    headers = tmp_path / "headers"
    headers.mkdir()
    (headers / "prefix_part.hpp").write_text("#pragma once\ninline int prefix_value() { return 1; }\n")

    def make(compiler, **changes):
        recipe = BuildRecipe(
            target="tiny",
            arch="none",
            api_level="1",
            compiler=compiler,
            compile_flags=("-std=c++20", "-O1", "-fPIC", "-fvisibility=hidden"),
            link_flags=("-fPIC",),
            include_dirs=(headers,),
            prefix_header='#include "prefix_part.hpp"\n',
            support_sources=(),
            machine_identity="any",
            compile_memory_bytes=100 * 2**20,
        )
        return replace(recipe, **changes)

    return make


@pytest.fixture
def cache(tmp_path):
    return ObjectCache(tmp_path / "cache")


@dataclass
class Builder:
    """Builds with a set of defaults."""

    cache: ObjectCache
    work_dir: Path

    def __call__(self, tree, recipe, **options):
        usual = {"work_dir": self.work_dir, "cache": self.cache, "jobs": 2, "timeout_s": 60.0}
        return build_tree(tree, recipe, **usual | options)


@pytest.fixture
def build(tmp_path, cache):
    return Builder(cache=cache, work_dir=tmp_path / "work")


@pytest.fixture
def total():
    def load(library):
        # a loader keeps a library by its path, so each state of the file is loaded from a path of its own
        copy = library.with_name(
            f"{library.stem}-{hashlib.blake2b(library.read_bytes()).hexdigest()[:12]}.so"
        )
        if not copy.exists():
            shutil.copy(library, copy)
        return int(ctypes.CDLL(str(copy)).total())

    return load


def script(path, body):
    """Write an executable Python script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable} -IS\nimport os, sys, time\nargs = sys.argv[1:]\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


#: behaves like a compiler and linker, without compiling anything
FAKE_COMPILER = """
if "--version" in args:
    print("fake (Fake 12.1.0) 12.1.0\\nCopyright (C) Free Software Foundation, Inc."); sys.exit(0)
if "-dumpmachine" in args:
    print("fake-none"); sys.exit(0)
with open(os.path.join(os.path.dirname(__file__), "calls"), "a") as stream:
    stream.write(" ".join(args) + "\\n")
BEHAVIOUR
with open(args[args.index("-o") + 1], "w") as stream:
    stream.write("object " + " ".join(a for a in args if a.endswith((".cpp", ".hpp"))))
"""


@pytest.fixture
def fake_compiler(tmp_path):
    """Make a compiler whose behaviour is a piece of Python that sees ``args``."""

    def make(behaviour="pass"):
        path = script(tmp_path / "fake" / "fake++", FAKE_COMPILER.replace("BEHAVIOUR", behaviour))
        return Compiler(
            command=(str(path),),
            family=CompilerFamily.GCC,
            version=(12, 1, 0),
            description="fake",
            identity="fake",
        )

    return make


@pytest.fixture
def calls(tmp_path):
    """Return the command lines that the scripted compiler has got since the last time."""

    def read():
        path = tmp_path / "fake" / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    return read


#: writes what ninja builds: a library, or nothing
FAKE_CMAKE = """
folder = os.path.dirname(__file__)
with open(os.path.join(folder, "asked"), "w") as stream:
    stream.write("\\n".join(args))
BEHAVIOUR
out = args[args.index("-B") + 1]
os.makedirs(out, exist_ok=True)
with open(os.path.join(out, "build.ninja"), "w") as stream:
    stream.write("rule make\\n command = MADE\\n description = making $out\\nbuild NAME: make\\n")
"""


@pytest.fixture
def fake_cmake(tmp_path, monkeypatch):
    """Make a CMake whose build files make a library by a command; return what tells its arguments."""

    def make(name, made="touch $out", behaviour="pass"):
        body = FAKE_CMAKE.replace("BEHAVIOUR", behaviour).replace("MADE", made).replace("NAME", name)
        path = script(tmp_path / "cmake" / "cmake", body)
        monkeypatch.setenv("PATH", f"{path.parent}:{os.environ['PATH']}")
        return lambda: (path.parent / "asked").read_text().splitlines()

    return make
