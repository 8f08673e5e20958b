"""The exception tree and the exit codes of ``ckprof``.

Every error that a user can cause is a :class:`CkprofError`: the command line prints its message without a
traceback and exits with its code. Anything else that escapes is a bug of ours and keeps its traceback.
A kernel that fails to compile, crashes or computes wrong numbers is no exception but an
:class:`~ckprof.model.outcome.Outcome`.
"""

from __future__ import annotations

import signal
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from ckprof.sanitize import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


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
    #: no usable compiler, the build system itself failed, or the device cannot be used any more
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
        first = Diagnostic(path=path or "", message=message, line=line, column=column)
        #: all that is wrong, and where
        self.diagnostics: tuple[Diagnostic, ...] = (first,)
        super().__init__(str(first))


@contextmanager
def system_errors(
    kind: Callable[[str, Path | str], CkprofError], what: str, path: Path | str
) -> Iterator[None]:
    """Raise an error of ``kind`` that says what cannot be done with ``path`` where the system refuses it."""
    try:
        yield
    except OSError as exc:
        raise kind(f"{what}: {exc.strerror or exc}", path) from None


@contextmanager
def input_errors(
    caught: type[Exception] | tuple[type[Exception], ...], what: str, path: Path | str
) -> Iterator[None]:
    """Raise an error of the input ``path`` that says what is wrong, and why, where one of these is raised."""
    try:
        yield
    except caught as exc:
        # what Python says of depth is about itself
        why = "nested too deeply" if isinstance(exc, RecursionError) else exc
        raise InputError(f"{what}: {why}", path) from None


class PluginError(CkprofError):
    """A plugin cannot be loaded, clashes with another one or breaks its contract."""

    exit_code = ExitCode.PLUGIN


class ToolchainError(CkprofError):
    """A compiler, its headers, the build system or the device is missing or unusable.

    :param path: the file or folder that it is about, if the message does not name it.
    """

    exit_code = ExitCode.TOOLCHAIN

    def __init__(self, message: str, path: Path | str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)


#: diagnostics that are spelled out in the message of a :class:`ListError`
SHOWN: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One thing that is wrong with an input, and where."""

    #: empty if it is not known
    path: Path | str
    message: str
    #: one-based; ``None`` if the whole file is meant
    line: int | None = None
    #: one-based, in characters; ``None`` if the whole line is meant
    column: int | None = None

    def __str__(self) -> str:
        where = one_line(":".join(str(part) for part in (self.path, self.line, self.column) if part))
        return f"{where}: {self.message}" if where else self.message


class ListError(InputError):
    """An instance list is wrong in one or more places.

    The text names each place on a line of its own, at most :data:`SHOWN` of them; ``diagnostics`` holds all.
    ``path``, ``line`` and ``column`` are those of the first one.

    :param diagnostics: what is wrong, in the order of the file; not empty.
    :param advice: what helps with wrong lines; ``None``: explaining the first.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic], advice: str | None = None) -> None:
        first = diagnostics[0]
        self.advice = f"see 'ckprof explain {first.path}:{first.line}'" if advice is None else advice
        super().__init__(first.message, first.path, first.line, first.column)
        self.diagnostics = tuple(diagnostics)
        lines = [str(diagnostic) for diagnostic in self.diagnostics[:SHOWN]]
        hidden = len(self.diagnostics) - SHOWN
        if hidden > 0:
            lines.append(f"... and {hidden} more")
        self.args = ("\n".join(lines),)
