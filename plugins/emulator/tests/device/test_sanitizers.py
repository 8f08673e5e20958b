"""The emulated device with sanitizers in it: instructions, the runtime, a whole kernel on four threads."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plugins.emulator.tests.device.tested_library import FLAGS

pytestmark = [pytest.mark.amd, pytest.mark.slow, pytest.mark.timeout(3600)]

HERE = Path(__file__).parent
#: flags, libraries, and options of processes, of sanitizers of addresses and of undefined behaviour
ADDRESSES = (
    (
        "-O1",
        "-g1",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
        "-fno-omit-frame-pointer",
    ),
    ("asan", "ubsan"),
    # leaks are Python's; its own allocator's memory is none that the sanitizer knows
    {"ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1", "UBSAN_OPTIONS": "print_stacktrace=1"},
)
#: what has threads
THREADS = (
    "test_whole_kernel.py",
    "test_runtime_state.py",
    "test_runtime_faults.py",
    "test_modules.py",
    "test_global_definedness.py",
)


def preloaded(libraries):
    """Return the libraries of sanitizers that a process loads first; skip the test where g++ has none."""
    compiler = os.environ.get("CXX") or shutil.which("g++")
    if compiler is None or "clang" in compiler:
        pytest.skip("no g++, whose sanitizers can be loaded into another program")
    found = [
        subprocess.run(
            [*shlex.split(compiler), f"-print-file-name=lib{name}.so"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for name in (*libraries, "stdc++")
    ]
    if not all(map(os.path.isabs, found)):
        pytest.skip(f"g++ has no library of a sanitizer: {', '.join(found)}")
    return " ".join(found)


def run(libraries, flags, files, *, left_out="", **options):
    """Run tests in a process that a sanitizer's libraries are loaded into first.

    :param left_out: a part of the names of tests that are not run.
    """
    environment = {**os.environ, "LD_PRELOAD": preloaded(libraries), FLAGS: shlex.join(flags), **options}
    # addresses that are drawn from all of the memory are too many for some
    fixed = (shutil.which("setarch") or "", "-R")
    done = subprocess.run(
        [
            *(fixed if fixed[0] else ()),
            *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", "amd and not slow"),
            *("-k", f"not ({left_out})" if left_out else ""),
            # the first test makes the library, which takes minutes where much else is done
            *("--timeout", "1800"),
            *map(str, files),
        ],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    assert " passed" in done.stdout


def test_addresses_and_undefined_behaviour():
    flags, libraries, options = ADDRESSES
    run(libraries, flags, sorted(set(HERE.glob("test_*.py")) - {Path(__file__)}), **options)


def test_threads():
    options = {"TSAN_OPTIONS": "halt_on_error=1:exitcode=66"}
    # kernels that wait for what others store use plain accesses for that, as the device has no others
    waiting = "wait_for_later"
    flags = ("-O1", "-g1", "-fsanitize=thread")
    run(("tsan",), flags, [HERE / name for name in THREADS], left_out=waiting, **options)
