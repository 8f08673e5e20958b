"""Helpers that call ckprof as a user does, in a folder and with a cache of their own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ckprof.errors import ToolchainError
from ckprof.kernels.build.toolchain import find_compiler
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof_plugins.targets.hip.target import DEFAULT_ARCH, HipTarget
from tests.e2e.forked_calls import ForkedCalls

ROOT = Path(__file__).parent.parent.parent
LISTS = ROOT / "conf"
#: upstream's own lists, whose lines tests name by number
SHIPPED = ROOT / "tests" / "data" / "shipped"


@dataclass(frozen=True)
class Called:
    """What one call of ckprof gave."""

    code: int
    out: str
    err: str

    def fails_with(self, code: int, *parts: str) -> None:
        """Assert the exit code, one message without a traceback, and that it says all ``parts``."""
        text = self.out + self.err
        assert "Traceback" not in text, text
        assert self.code == code, text
        for part in parts:
            assert part in self.err, f"{part!r} is not in:\n{self.err}"


Ckprof = Callable[..., Called]


@pytest.fixture(scope="session")
def forked_calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkedCalls]:
    """A process that has imported ckprof."""
    calls = ForkedCalls(tmp_path_factory.mktemp("forked-calls"))
    yield calls
    calls.end()


@pytest.fixture
def ckprof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked_calls: ForkedCalls) -> Ckprof:
    """Call ``ckprof`` as a process, in ``tmp_path``, with a cache that the session shares."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path, env: dict[str, str] | None = None, timeout: float = 240) -> Called:
        words = [*map(str, arguments)]
        environment = {**os.environ, "NO_COLOR": "1", **(env or {})}
        if forked_calls.serves(environment):
            return Called(*forked_calls.call(words, tmp_path, environment, timeout))
        done = subprocess.run(
            [sys.executable, "-m", "ckprof", *words],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            cwd=tmp_path,
            env=environment,
        )
        return Called(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture
def short_list(tmp_path: Path) -> Path:
    """Four forward instances: one for fp16 3x3 problems of each kind, and one that needs C == 1."""
    lines = (SHIPPED / "forward" / "tests" / "nhwgc_fp16.conf").read_text().splitlines()
    path = tmp_path / "short.conf"
    path.write_text("\n".join(["# a comment", lines[0], lines[13], lines[28], lines[59]]) + "\n")
    return path


@pytest.fixture
def hasty_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile without optimising, where a test begins with an empty cache: in a third of the time.

    Keys of objects hold the words of a command: none is taken for one of the compiler's own.
    """
    path = tmp_path / "hasty" / "c++"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nexec {shlex.join(find_compiler().command)} "$@" -O0\n')
    path.chmod(0o755)
    monkeypatch.setenv("CXX", f"{shlex.quote(str(path))} -DUNOPTIMISED")


@pytest.fixture(scope="module")
def amd_toolchain() -> None:
    """Skip what needs a compiler for AMD GPUs and CK Tile headers in ``$CK_ROOT`` where one is missing."""
    if not os.environ.get("CK_ROOT"):
        pytest.skip("CK_ROOT names no CK Tile headers")
    try:
        HipTarget().recipe(BuildRequest(arch=DEFAULT_ARCH, purpose=Purpose.INSPECT))
    except ToolchainError as exc:
        pytest.skip(str(exc).splitlines()[0])
