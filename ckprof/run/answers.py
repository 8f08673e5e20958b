"""Asks the kernels of a library whether they support problems, in a process of its own.

``python -m ckprof.run.answers LIBRARY ARCH`` reads one JSON object with problems from standard input and
writes one with all answers to standard output. Nothing is run, so one process serves them all.
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


class Question(msgspec.Struct, frozen=True):
    """A problem with a number of splits of its reduction."""

    problem: ConvProblem
    split_k: int


class Answer(msgspec.Struct, frozen=True):
    """What one kernel says to one question."""

    supported: bool
    #: why not, the condition that decides; empty if it is supported
    reason: str = ""


class Answers(msgspec.Struct, frozen=True):
    """Content key of a kernel -> its answers, in the order of the questions."""

    kernels: dict[str, tuple[Answer, ...]]


def ask_library(library: Path, arch: str, questions: Sequence[Question]) -> Answers:
    """Return the answers of all kernels of a library.

    :param library: its path.
    :param arch: device to select or to model.
    :param questions: what to ask.
    :raises ToolchainError: the library cannot be loaded, or a kernel brings its process down.
    """
    # standard error: CK Tile prints a line for each refusal, which the answers tell as well
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(library), arch],
        input=msgspec.json.encode(tuple(questions)),
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
    return msgspec.json.decode(done.stdout, type=Answers)


def answer(library: Path, arch: str, questions: Sequence[Question]) -> Answers:
    """Load a library and ask its kernels. Only for the process that exists for it."""
    from ckprof.run.library import AbiStatus, CProblem, Library

    loaded = Library.load(library)
    loaded.target.select_device(arch, 0)
    asked = [CProblem.of(question.problem, question.split_k) for question in questions]
    kernels: dict[str, tuple[Answer, ...]] = {}
    for key, kernel in loaded.kernels.items():
        found = (kernel.is_supported(problem) for problem in asked)
        kernels[key] = tuple(
            Answer(
                supported=support.status is AbiStatus.OK,
                reason=support.refusals[0].message if support.refusals else "",
            )
            for support in found
        )
    return Answers(kernels=kernels)


def main() -> int:
    """Answer the questions on standard input."""
    from ckprof.run.library import LibraryError

    questions = msgspec.json.decode(sys.stdin.buffer.read(), type=tuple[Question, ...])
    # a library may print to standard output
    out = os.dup(1)
    os.dup2(2, 1)
    try:
        answers = answer(Path(sys.argv[1]), sys.argv[2], questions)
    except LibraryError as exc:
        sys.stderr.write(f"ckprof: {exc}\n")
        return 1
    with os.fdopen(out, "wb") as stream:
        stream.write(msgspec.json.encode(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
