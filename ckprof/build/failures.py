"""Says in a few words why a compiler failed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.build import compile_step

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.build.step import StepResult
    from ckprof.model.outcome import Status

_LINES: Final = 3
_WIDTH: Final = 400
_LOG_BYTES: Final = 4 * 2**20
_ERROR: Final = re.compile(
    r"\b(fatal )?error\b|undefined reference|multiple definition|internal compiler", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildFailure:
    """A kernel that did not compile."""

    #: ``compile_error`` or ``compile_timeout``
    status: Status
    #: the compiler's first errors, and where the rest can be read
    message: str
    #: everything that the compiler printed, behind its command line
    log: Path | None


def explain(result: StepResult | None, log: Path, timeout_s: float) -> str:
    """Return why a step failed, without the path of its log.

    :param result: how it ended; ``None`` if it left no record.
    :param log: command line, working folder and what the compiler printed.
    :param timeout_s: the time that it had.
    """
    if result is None:
        return "the compiler ended without a trace"
    if result.status == compile_step.TIMEOUT:
        return f"not compiled within {timeout_s:g} s"
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
