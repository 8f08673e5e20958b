"""Made-up canaries for tests."""

import subprocess

import pytest

from ckprof.plugin.protocols import CanarySource

from .fakes import find_compiler

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")


def canary_source(folder, body, name="canary", *, function="ckprof_canary_ms"):
    """Return a source whose function has that body, and how it is compiled."""
    path = folder / f"{name}.cpp"
    path.write_text(
        '#include <csignal>\nextern "C" '
        f"int {function}([[maybe_unused]] int which, [[maybe_unused]] int device, "
        f"[[maybe_unused]] int threads, [[maybe_unused]] double* ms)\n{{ {body} }}\n"
    )
    return CanarySource(
        files=(path,), compiler=(find_compiler() or "g++",), flags=("-shared", "-fPIC"), machine=""
    )


def compiled_canary(folder, body, name="canary", **how):
    """Return the object of such a source."""
    source, path = canary_source(folder, body, name, **how), folder / f"{name}.so"
    subprocess.run(
        [*source.compiler, str(source.files[0]), "-o", str(path), *source.flags],
        check=True,
        capture_output=True,
    )
    return path
