"""Asks the kernels of a library whether they support problems, in a process of its own.

``python -m ckprof.run.support_queries LIBRARY ARCH`` reads one JSON object with problems from standard input
and writes one with all answers to standard output. Nothing is run, so one process serves them all.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import ToolchainError
from ckprof.model.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMEOUT_S: Final = 600.0


class SupportQuery(msgspec.Struct, frozen=True):
    """A problem with a number of splits of its reduction."""

    problem: ConvProblem
    split_k: int


class SupportAnswer(msgspec.Struct, frozen=True):
    """What one kernel says to one query."""

    supported: bool
    #: why not, the condition that decides; empty if it is supported
    reason: str = ""


class SupportAnswers(msgspec.Struct, frozen=True):
    """Content key of a kernel -> its answers, in the order of the queries."""

    kernels: dict[str, tuple[SupportAnswer, ...]]


def query_library(library: Path, arch: str, queries: Sequence[SupportQuery]) -> SupportAnswers:
    """Return the answers of all kernels of a library.

    :param library: its path.
    :param arch: device to select or to model.
    :param queries: what to ask.
    :raises ToolchainError: the library cannot be loaded, or a kernel brings its process down.
    """
    # standard error: CK Tile prints a line for each rejection, which the answers tell as well
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(library), arch],
        input=msgspec.json.encode(tuple(queries)),
        capture_output=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        why = next((line for line in reversed(lines) if line.startswith("ckprof: ")), "")
        raise ToolchainError(
            f"{library}: cannot be asked: {why.removeprefix('ckprof: ') or f'exit status {done.returncode}'}"
        )
    return msgspec.json.decode(done.stdout, type=SupportAnswers)


def answer(library: Path, arch: str, queries: Sequence[SupportQuery]) -> SupportAnswers:
    """Load a library and ask its kernels. Only for the process that exists for it."""
    from ckprof.run.abi import AbiStatus, CProblem, Library

    loaded = Library.load(library)
    loaded.target.select_device(arch, 0)
    asked = [CProblem.of(query.problem, query.split_k) for query in queries]
    kernels: dict[str, tuple[SupportAnswer, ...]] = {}
    for key, kernel in loaded.kernels.items():
        found = (kernel.is_supported(problem) for problem in asked)
        kernels[key] = tuple(
            SupportAnswer(
                supported=support.status is AbiStatus.OK,
                reason=support.unmet_requirements[0].message if support.unmet_requirements else "",
            )
            for support in found
        )
    return SupportAnswers(kernels=kernels)


def main() -> int:
    """SupportAnswer the queries on standard input."""
    from ckprof.run.abi import LibraryError

    queries = msgspec.json.decode(sys.stdin.buffer.read(), type=tuple[SupportQuery, ...])
    # a library may print to standard output
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        answers = answer(Path(sys.argv[1]), sys.argv[2], queries)
    except LibraryError as exc:
        sys.stderr.write(f"ckprof: {exc}\n")
        return 1
    with os.fdopen(out, "wb") as stream:
        stream.write(msgspec.json.encode(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
