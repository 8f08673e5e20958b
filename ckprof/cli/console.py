"""Where text goes: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TextIO

from ckprof.errors import InputError
from ckprof.plain_text import duration, one_line, plain

if TYPE_CHECKING:
    from types import TracebackType

    from ckprof.report.document import Document
    from ckprof.report.table import Table, Terminal

#: seconds between two progress lines when standard error is no terminal
_LINE_INTERVAL_S: Final = 5.0
_BAR_WIDTH: Final = 24


class Console:
    """Prints results, messages and progress.

    :param verbosity: -1 silent but for errors, 0 normal, 1 and more: details.
    """

    def __init__(self, verbosity: int = 0, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.verbosity = verbosity
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self.interactive = self._err.isatty() and _understands_escapes()
        self._bar_shown = False

    @property
    def terminal(self) -> Terminal | None:
        """The terminal that results go to; ``None`` for a file or a pipe."""
        if not self._out.isatty():
            return None
        from ckprof.report.table import Terminal

        return Terminal(width=shutil.get_terminal_size().columns, colour=_understands_escapes())

    def result(self, content: str | Table[Any] | Document) -> None:
        """Print a part of the command's result; tables are fitted to the terminal, if it goes to one."""
        self.clear_bar()
        text = plain(content) if isinstance(content, str) else content.text(self.terminal)
        self.exact(text if text.endswith("\n") else f"{text}\n")

    def table(self, table: Table[Any], form: str) -> None:
        """Print a table; of the form ``json`` its rows with their raw values."""
        self.result(json.dumps(table.records(), indent=2) if form == "json" else table)

    def exact(self, text: str) -> None:
        """Print a file's content as the result, byte for byte.

        :raises InputError: standard output takes no more, e.g. because the disk is full.
        """
        try:
            self._out.write(text)
            self._out.flush()
        except BrokenPipeError:
            raise
        except OSError as exc:
            # What is still buffered would fail again when the process ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())
            raise InputError(f"cannot write: {exc.strerror}", "standard output") from None

    def info(self, text: str) -> None:
        """Say what is going on."""
        if self.verbosity >= 0:
            self._message(text)

    def detail(self, text: str) -> None:
        """Say what only ``-v`` shows."""
        if self.verbosity >= 1:
            self._message(text)

    def warning(self, text: str) -> None:
        """Say what the user should know even with ``-q``."""
        self._message(f"warning: {text}")

    def error(self, text: str) -> None:
        """Say why the command failed."""
        self._message(f"ckprof: {text}")

    def progress(self, title: str) -> Progress:
        """Return a progress display; use it in a ``with`` block."""
        return Progress(self, title)

    def show_bar(self, text: str) -> None:
        """Replace the current line of the terminal."""
        with suppress(OSError):
            self._err.write(f"\r\x1b[K{one_line(text)}")
            self._err.flush()
        self._bar_shown = True

    def clear_bar(self) -> None:
        """Remove the progress bar, if one is shown."""
        if self._bar_shown:
            self._bar_shown = False
            with suppress(OSError):
                self._err.write("\r\x1b[K")
                self._err.flush()

    def _message(self, text: str) -> None:
        # A terminal that is gone, or a full disk behind a redirection, must not cost the results.
        with suppress(OSError):
            self.clear_bar()
            self._err.write(f"{plain(text)}\n")
            self._err.flush()


class Progress:
    """A bar on a terminal, a plain line every few seconds otherwise."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._last_line = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._console.clear_bar()

    def update(self, done: int, total: int, name: str = "", *, eta_s: float | None = None) -> None:
        """Show that ``done`` of ``total`` steps are over.

        :param name: the latest one.
        :param eta_s: seconds that the others take at most, if that is known.
        """
        if self._console.verbosity < 0:
            return
        left = f", at most {duration(eta_s)} left" if eta_s is not None and done < total else ""
        if self._console.interactive:
            filled = _BAR_WIDTH * done // total if total else _BAR_WIDTH
            bar = "#" * filled + "." * (_BAR_WIDTH - filled)
            self._console.show_bar(f"{self._title} [{bar}] {done}/{total}{left} {name}"[: _terminal_width()])
        elif time.monotonic() - self._last_line >= _LINE_INTERVAL_S and done < total:
            self._last_line = time.monotonic()
            self._console.info(f"{self._title}: {done}/{total}{left}")


def _understands_escapes() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _terminal_width() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns - 1
    except (OSError, ValueError):
        return 79
