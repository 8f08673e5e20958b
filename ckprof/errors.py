"""The exception tree and the exit codes of ``ckprof``.

Every error that a user can cause is a :class:`CkprofError`: the command line prints its message without a
traceback and exits with its code. Anything else that escapes is a bug of ours and keeps its traceback.
A kernel that fails to compile, crashes or computes wrong numbers is no exception but an
:class:`~ckprof.model.outcome.Outcome`.
"""

from __future__ import annotations

import signal
from enum import IntEnum
from pathlib import Path
from typing import ClassVar

from ckprof.plain_text import one_line


class ExitCode(IntEnum):
    """What ``ckprof`` returns to the shell."""

    #: everything asked for succeeded
    OK = 0
    #: some outcome failed, nothing could be ranked, or a comparison differs
    FAILED = 1
    #: wrong flag, unknown id, contradictory options
    USAGE = 2
    #: an input file or a problem line cannot be used
    INPUT = 3
    #: a plugin cannot be loaded or breaks its contract
    PLUGIN = 4
    #: no usable compiler, or the build system itself failed
    TOOLCHAIN = 5
    #: SIGHUP: the terminal is gone
    HANGUP = 129
    #: SIGINT: Ctrl-C
    INTERRUPTED = 130
    #: SIGTERM
    TERMINATED = 143


class Interrupted(KeyboardInterrupt):
    """A signal asked the program to end.

    :param number: the signal.
    """

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = signal.Signals(number)

    @property
    def exit_code(self) -> ExitCode:
        """128 and the number of the signal, as shells have it."""
        return ExitCode(128 + self.number)


class CkprofError(Exception):
    """Base of all errors that are shown to the user as one message."""

    exit_code: ClassVar[ExitCode] = ExitCode.FAILED


class NothingLeftError(CkprofError):
    """There is no instance to work with: none was given, or rules and filters left none."""


class UsageError(CkprofError):
    """A flag, an id or a combination of flags is wrong."""

    exit_code = ExitCode.USAGE


class InputError(CkprofError):
    """An input cannot be used.

    :param message: what is wrong, what was expected, what was found.
    :param path: the file, or a name for the source such as ``--problem``.
    :param line: one-based line.
    :param column: one-based column.
    """

    exit_code = ExitCode.INPUT

    def __init__(
        self, message: str, path: Path | str | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        self.message = message
        self.path = path
        self.line = line
        self.column = column
        where = ":".join(one_line(str(part)) for part in (path, line, column) if part is not None)
        super().__init__(f"{where}: {message}" if where else message)


class PluginError(CkprofError):
    """A plugin cannot be loaded, clashes with another one or breaks its contract."""

    exit_code = ExitCode.PLUGIN


class ToolchainError(CkprofError):
    """A compiler, its headers or the build system is missing or unusable."""

    exit_code = ExitCode.TOOLCHAIN
