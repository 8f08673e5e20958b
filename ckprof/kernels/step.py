"""One compiler process: how the build plans it, how it ended, and why it failed in a few words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import ToolchainError
from ckprof.kernels import compile_step

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A command, its product and where that belongs. Paths are absolute."""

    #: names the step's files; unique in a build
    id: str
    #: for people
    name: str
    command: tuple[str, ...]
    cwd: Path
    #: what the command writes
    output: Path
    #: the folder of ``output`` becomes this entry of the cache
    entry: Path | None = None
    #: or: ``output`` becomes this file
    final: Path | None = None
    #: name of the content record in the entry, or its path beside ``final``
    stamp: str
    #: the build goes on without the product
    optional: bool = False
    #: steps that must have ended before
    after: tuple[str, ...] = ()
    #: how many times the time of one kernel it may take
    time_share: int = 1

    def spec(self, *, timeout_s: float, log: Path, record: Path) -> str:
        """Return the text that :mod:`ckprof.kernels.compile_step` reads.

        :raises ToolchainError: a word holds a line break.
        """
        values: list[tuple[str, str]] = [
            ("cwd", str(self.cwd)),
            ("timeout", repr(float(timeout_s))),
            ("log", str(log)),
            ("record", str(record)),
            ("output", str(self.output)),
            ("stamp", self.stamp),
        ]
        if self.entry is not None:
            values.append(("entry", str(self.entry)))
        if self.final is not None:
            values.append(("final", str(self.final)))
        if self.optional:
            values.append(("optional", "1"))
        values += [("arg", word) for word in self.command]
        for _, value in values:
            if "\n" in value:
                raise ToolchainError(f"{value!r}: a flag or path with a line break cannot be used")
        return "".join(f"{name}={value}\n" for name, value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """How a step ended and what it cost."""

    status: str
    #: exit status of the command, negative for a signal
    code: int
    wall_s: float
    cpu_s: float
    peak_memory_bytes: int

    @property
    def ok(self) -> bool:
        """True when the product is in place."""
        return self.status == compile_step.OK


class StepFiles:
    """Where the files of steps lie.

    :param root: a folder of one build.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        #: the folder of all of them
        self.folder = root / "steps"

    def spec(self, step_id: str) -> Path:
        """Return the file that tells a step what to do."""
        return self.folder / f"{step_id}.spec"

    def record(self, step_id: str) -> Path:
        """Return the file that a step writes when it has succeeded."""
        return self.folder / f"{step_id}.json"

    def log(self, step_id: str) -> Path:
        """Return the file with all that a step's command printed."""
        return self.folder / f"{step_id}.log"

    def write(self, steps: Sequence[Step], timeout_s: float) -> None:
        """Write what every step has to do."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for step in steps:
            text = step.spec(
                timeout_s=timeout_s * step.time_share, log=self.log(step.id), record=self.record(step.id)
            )
            self.spec(step.id).write_text(text, encoding="utf-8")

    def result(self, step_id: str) -> StepResult | None:
        """Return how a step ended, ``None`` if it was not run to its end."""
        record = self.record(step_id)
        for path in (record, record.with_name(record.name + ".failed")):
            try:
                return msgspec.json.decode(path.read_bytes(), type=StepResult)
            except FileNotFoundError:
                continue
            except (OSError, ValueError):
                return None
        return None


_LINES: Final = 3
_WIDTH: Final = 400
_LOG_BYTES: Final = 4 * 2**20
_ERROR: Final = re.compile(
    r"\b(fatal )?error\b|undefined reference|multiple definition|internal compiler", re.I
)


def explain(result: StepResult | None, log: Path, timeout_s: float) -> str:
    """Return why a step failed, without the path of its log.

    :param result: how it ended; ``None`` if it left no record.
    :param log: command line, working folder and what the compiler printed.
    :param timeout_s: the time that it had.
    """
    if result is None:
        return "the compiler ended without a trace"
    if result.status == compile_step.TIMEOUT:
        return f"not compiled within {timeout_s:g} s, not counting what it waited for a CPU"
    lines = error_lines(log)
    if result.status == compile_step.KILLED:
        lines = [f"the compiler was ended by signal {-result.code}", *lines[: _LINES - 1]]
        if result.code == -9:
            lines[0] += ", probably for want of memory; try fewer --jobs"
    return "\n".join(lines) or f"the compiler failed with exit status {result.code} and no message"


def error_lines(log: Path) -> list[str]:
    """Return the first lines with an error, or the first lines if none says so."""
    try:
        with log.open(encoding="utf-8", errors="replace") as stream:
            text = stream.read(_LOG_BYTES)
    except OSError:
        return []
    # the step wrote the first two: command line and working folder
    printed = [line.strip()[:_WIDTH] for line in text.splitlines()[2:] if line.strip()]
    return ([line for line in printed if _ERROR.search(line)] or printed)[:_LINES]
