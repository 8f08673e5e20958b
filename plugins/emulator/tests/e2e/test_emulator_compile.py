"""The emulated device is compiled on first use: what users see, and what is left where that ends early.

Compilers are scripts that do what a compiler does at such a moment; kernels are only written, not compiled.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from ckprof_plugins.emulator.library import emulator_library
from tests.e2e.catalogs import write_catalog

pytestmark = [pytest.mark.amd, pytest.mark.usefixtures("amd_toolchain"), pytest.mark.timeout(300)]

#: what a script does in place of compiling
MAKES_FILES = 'while [ "$1" != -o ]; do shift; done; : > "$2"'
KNOWS_NO_CPP20 = 'exec "$REAL" $(echo "$@" | sed s/-std=c++20/-std=c++17/)'
FULL_DISK = 'echo "fatal error: when writing output to x.o: No space left on device" >&2; exit 1'
HANGS = "sleep 100"


@pytest.fixture
def command(tmp_path, monkeypatch):
    """Return a function that gives a call which compiles the device by a script, in an empty cache."""
    real = shutil.which("g++") or shutil.which("clang++")
    assert real is not None
    catalog = write_catalog(tmp_path / "one.json", "forward", [{"pipeline": "compv1"}])
    cache = tmp_path / "cache"
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(cache))
    monkeypatch.setenv("REAL", real)
    monkeypatch.chdir(tmp_path)

    def with_script(does):
        # it is usable for anything else
        script = tmp_path / "g++"
        script.write_text(
            f'#!/bin/sh\ncase " $* " in *emulator*|*" -fsyntax-only "*) {does} ;; '
            f'*) exec {real} "$@" ;; esac\n'
        )
        script.chmod(0o755)
        monkeypatch.setenv("CXX", str(script))
        target = ("--target", "hip", "--arch", "gfx942", "--device", "emulated")
        return [
            *(sys.executable, "-m", "ckprof", "generate", "fwd", "--conf", str(catalog)),
            *(*target, "--build-dir", str(tmp_path / "tree")),
        ]

    return with_script


def call(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)


def emulator_folder(tmp_path):
    (folder,) = (tmp_path / "cache" / "emulator").iterdir()
    return folder


def test_it_is_said_once(command, tmp_path):
    compiling = command(MAKES_FILES)
    first = call(compiling)
    assert first.returncode == 0, first.stderr
    folder = emulator_folder(tmp_path)
    assert "compiling the emulated device, once on this machine: about " in first.stderr
    assert f"s of CPU time; kept in {folder}" in " ".join(first.stderr.split())
    assert (folder / "libamdhip64.so").exists()
    second = call(compiling)
    assert second.returncode == 0, second.stderr
    assert "compiling" not in second.stderr


def errors(done):
    """Return what stands below the lines of progress, as one text per message."""
    assert "Traceback" not in done.stderr
    return [line for line in done.stderr.splitlines() if line.startswith("ckprof: ")]


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("family", ["g++", "clang++"])
def test_both_families_of_compilers(family, monkeypatch, tmp_path):
    """The real ones, and the whole device."""
    compiler = shutil.which(family if family == "g++" else os.environ.get("HIPCXX", family))
    if compiler is None:
        pytest.skip(f"no {family}")
    monkeypatch.setenv("CXX", compiler)
    monkeypatch.setenv("CKPROF_CACHE_DIR", str(tmp_path))
    library = ctypes.CDLL(str(emulator_library()))
    count = ctypes.c_int()
    assert library.hipGetDeviceCount(ctypes.byref(count)) == 0
    assert count.value == 1


def test_a_full_disk(command, tmp_path):
    done = call(command(FULL_DISK))
    assert done.returncode == 5
    (error,) = errors(done)
    assert "the emulated device cannot be kept there: No space left on device; make room" in error
    assert not list(emulator_folder(tmp_path).glob("*.so*"))


def test_a_compiler_of_another_age(command):
    done = call(command(KNOWS_NO_CPP20))
    assert done.returncode == 5
    (error,) = errors(done)
    assert (
        "does not know the C++20 that the emulated device is written in; install g++ 12, clang++ 16" in error
    )


def test_no_compiler(command, monkeypatch, tmp_path):
    called = command(MAKES_FILES)
    monkeypatch.delenv("CXX")
    clang = shutil.which(os.environ.get("HIPCXX", "clang++"))
    assert clang is not None
    monkeypatch.setenv("HIPCXX", clang)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    done = call(called)
    assert done.returncode == 5
    (error,) = errors(done)
    assert "no usable C++ compiler found" in error


def test_ctrl_c(command, tmp_path):
    process = subprocess.Popen(command(HANGS), stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not list((tmp_path / "cache").glob("emulator/*/build.ninja")) and time.monotonic() < end:
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in printed
    assert not list(emulator_folder(tmp_path).glob("*.so*"))
    assert not list(emulator_folder(tmp_path).glob("*.o"))
    # the compilers have ended, too
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path / "g++") not in running
    # and the next call is not kept waiting by a lock
    assert call(command(MAKES_FILES)).returncode == 0
