"""Compilers and flags of the C++ tests of the host model, and how to run programs and their cases."""

import os
import re
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
from tests.places import QUICK_COMPILER

HERE = Path(__file__).parent
CPU_TARGET = HERE.parents[3] / "plugins" / "targets" / "cpu"
VENDORED = HERE.parents[2] / "vendored"
INCLUDES = [f"-I{CPU_TARGET / 'include'}", f"-I{HERE}", "-isystem", str(VENDORED)]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
STANDARD = ["-std=c++20", "-pthread"]

#: leaves out kernels of a test program
FEW = "-DCKPROF_TEST_FEW_KERNELS"

SANITIZERS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}

#: failures of a program that has millions of expectations
ENOUGH = "--abort-after=50"


def find_compilers():
    """Name the C++ compilers of this machine, one per family. Programs say how they are optimised."""
    asked = os.environ.get("CXX")
    if asked and asked != str(QUICK_COMPILER):
        return [asked]
    families = [("g++", "g++-13", "g++-12", "g++-11"), ("clang++", "clang++-19", "clang++-14")]
    found = (next((name for name in names if shutil.which(name)), None) for names in families)
    return [name for name in found if name is not None]


COMPILERS = find_compilers()
#: one in the fast suite
EACH_COMPILER = [*COMPILERS[:1], *(pytest.param(name, marks=pytest.mark.slow) for name in COMPILERS[1:])]


def run(arguments, **environment):
    """Run a program and return what it printed; its failure fails the test."""
    done = subprocess.run(
        [str(argument) for argument in arguments],
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | environment,
        check=False,
    )
    output = done.stdout + done.stderr
    failed = dict.fromkeys(re.findall(r"^TEST CASE:  (.*)", output, re.MULTILINE))
    assert done.returncode == 0, "\n".join([*failed, str(arguments), output[:20_000]])
    return output


def cases_of(program):
    """Return the names of a program's cases, as its source has them."""
    text = program.read_text()
    names = re.findall(r'^TEST_CASE\("(.+?)"\)', text, re.MULTILINE)
    assert names
    assert len({*names}) == text.count("TEST_CASE"), f"{program}: a case without a name of its own"
    return names


def run_case(binary, case, **environment):
    """Run one case of a program."""
    output = run([binary, ENOUGH, f"--test-case={case}"], **environment)
    assert re.search(r"test cases: +1 \| +1 passed", output), f"no case of its own: {case}\n{output}"


def run_cases(binary, rounds, **environment):
    """Run all cases of a program, which draws as many random problems; those that fail are named."""
    run([binary, ENOUGH], CKPROF_TEST_ROUNDS=str(rounds), **environment)


def runtime_sources():
    """Return the sources of the host model's runtime and device table."""
    return [*sorted((CPU_TARGET / "src").glob("host_model_*.cpp")), device_table_source()]


def objects_of_builds():
    """Return the objects of these sources from the cache of compiled objects, where a build has put them."""
    recipe = CpuTarget().recipe(BuildRequest(arch=CpuTarget.default_arch))
    cache = ObjectCache(object_cache_dir())
    keys = Keys(recipe, FolderDigests(cache.folder_digests))
    found = {source.name: cache.find(keys.plain(source)) for source in runtime_sources()}
    objects = [path for path in found.values() if path is not None]
    assert len(objects) == len(found), f"a library for the CPU was not built: {found}"
    return objects


def runtime_objects(folder, compiler, flags):
    """Compile the host model's runtime and device table, which take longer than most programs that need them.

    Once for a compiler and its flags, whatever the number of test processes.

    :param folder: where they are kept, the same for all processes.
    """
    common = [compiler, *STANDARD, *WARNINGS, *flags, *INCLUDES, "-c"]
    return [compile_once(folder, f"{source.stem}.o", [*common, source]) for source in runtime_sources()]


def case_runner(folder, compiler):
    """Compile what runs the cases of programs: once for a compiler, as it takes longer than most programs.

    It has no code that sanitizers watch, and leaves signals to them.
    """
    flags = ["-O1", "-DDOCTEST_CONFIG_IMPLEMENT_WITH_MAIN", "-DDOCTEST_CONFIG_NO_POSIX_SIGNALS"]
    source = VENDORED / "doctest" / "doctest.h"
    return compile_once(folder, "doctest.o", [compiler, *STANDARD, *flags, "-x", "c++", "-c", source])


def compile_once(folder, name, command):
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
