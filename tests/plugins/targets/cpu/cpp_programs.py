"""Compilers and flags of the C++ tests of the host model, and how to run programs."""

from __future__ import annotations

import os
import shutil
import subprocess
from hashlib import blake2b
from pathlib import Path

import pytest
from filelock import FileLock

from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.keys import FolderDigests, Keys
from ckprof.model.recipe import BuildRequest
from ckprof.paths import object_cache_dir
from ckprof_plugins.targets.cpu.recipe import device_table_source
from ckprof_plugins.targets.cpu.target import CpuTarget

HERE = Path(__file__).parent
CPU_TARGET = HERE.parents[3] / "plugins" / "targets" / "cpu"
INCLUDES = [f"-I{CPU_TARGET / 'include'}", f"-I{HERE}"]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
STANDARD = ["-std=c++20", "-pthread"]

SANITIZERS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}


def find_compilers() -> list[str]:
    """Name the C++ compilers of this machine, one per family."""
    asked = os.environ.get("CXX")
    if asked:
        return [asked]
    families = [("g++", "g++-13", "g++-12", "g++-11"), ("clang++", "clang++-19", "clang++-14")]
    found = (next((name for name in names if shutil.which(name)), None) for names in families)
    return [name for name in found if name is not None]


COMPILERS = find_compilers()
#: one in the fast suite
EACH_COMPILER = [*COMPILERS[:1], *(pytest.param(name, marks=pytest.mark.slow) for name in COMPILERS[1:])]


def run(arguments: list[str | Path], **environment: str) -> str:
    """Run a program and return what it printed; its failure fails the test."""
    done = subprocess.run(
        [str(argument) for argument in arguments],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | environment,
        check=False,
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def runtime_sources() -> list[Path]:
    """Return the sources of the host model's runtime and device table."""
    return [*sorted((CPU_TARGET / "src").glob("host_model_*.cpp")), device_table_source()]


def objects_of_builds() -> list[Path]:
    """Return the objects of these sources from the cache of compiled objects, where a build has put them."""
    recipe = CpuTarget().recipe(BuildRequest(arch=CpuTarget.default_arch))
    cache = ObjectCache(object_cache_dir())
    keys = Keys(recipe, FolderDigests(cache.folder_digests))
    found = {source.name: cache.find(keys.plain(source)) for source in runtime_sources()}
    objects = [path for path in found.values() if path is not None]
    assert len(objects) == len(found), f"a library for the CPU was not built: {found}"
    return objects


def runtime_objects(folder: Path, compiler: str, flags: list[str]) -> list[Path]:
    """Compile the host model's runtime and device table, which take longer than most programs that need them.

    Once for a compiler and its flags, whatever the number of test processes.

    :param folder: where they are kept, the same for all processes.
    """
    common = [compiler, *STANDARD, *WARNINGS, *flags, *INCLUDES, "-c"]
    return [compile_once(folder, f"{source.stem}.o", [*common, source]) for source in runtime_sources()]


def compile_once(folder: Path, name: str, command: list[str | Path]) -> Path:
    """Return what a compiler makes, by this command called once, whatever the number of test processes.

    :param folder: where it is kept, the same for all processes.
    :param command: without where it writes.
    """
    place = folder / blake2b(repr(list(map(str, command))).encode(), digest_size=8).hexdigest()
    place.mkdir(parents=True, exist_ok=True)
    made = place / name
    with FileLock(f"{made}.lock"):
        if not made.exists():
            part = made.with_suffix(".part")
            run([*command, "-o", part])
            part.rename(made)
    return made
