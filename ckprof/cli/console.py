"""Where text goes: results to standard output, everything else to standard error."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TextIO

from ckprof.errors import InputError
from ckprof.formatting import duration
from ckprof.sanitize import one_line, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ckprof.report.document import Document
    from ckprof.report.table import Table, Terminal


#: seconds before the first line where none is rewritten, and between two
_FIRST_S: Final = 5.0
_INTERVAL_S: Final = 10.0
#: seconds between two looks whether what is shown is to be repeated, with the time that has passed
_BEAT_S: Final = 1.0
_BAR_WIDTH: Final = 24
#: fewest characters of a name that say anything
_LEAST_NAME: Final = 12
#: where the terminal does not say
_USUAL_WIDTH: Final = 80


class ProgressLine:
    """The line.

    :param stream: where it is shown.
    :param rewritten: as on terminals; elsewhere lines follow each other, the less often the longer it takes.
    :param silent: nothing is shown.
    :param clock: seconds that pass.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        rewritten: bool,
        silent: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._silent = silent
        self._rewritten = rewritten
        self._clock = clock
        self._began = clock()
        self._due = self._began
        self._shown = False
        self._text = ""
        self._ended = threading.Event()
        #: held by whoever writes to the stream: a thread repeats what is shown
        self.lock = threading.RLock()

    def begin(self, text: str, *, at_once: bool = False) -> None:
        """Begin something that :meth:`end` ends.

        :param text: what it is.
        :param at_once: its first line is worth it; otherwise it may be over before.
        """
        self.end()
        self._began, self._text, self._ended = self._clock(), text, threading.Event()
        self._due = self._began + (0 if at_once else _FIRST_S)
        threading.Thread(target=self._repeat, args=[self._ended], daemon=True).start()

    def end(self) -> None:
        """Remove the line, and show nothing more of what has begun."""
        self._ended.set()
        self.clear()

    def _repeat(self, ended: threading.Event) -> None:
        """Say that something still goes on where no step of it ends, such as a long compilation."""
        while not ended.wait(_BEAT_S):
            with self.lock, suppress(ValueError):  # the stream may be closed
                if not ended.is_set() and self._clock() >= self._due:
                    text = self._text
                    self.show(f"{text} ({duration(self._clock() - self._began)})")
                    self._text = text

    def show(self, text: str, name: str = "") -> None:
        """Say how far it is.

        :param name: stands behind the text; whole where there is room.
        """
        if self._silent:
            return
        self._text = text
        if not self._rewritten:
            self._add(f"{text} {name}".rstrip())
            return
        self._due = self._clock() + _INTERVAL_S
        from ckprof.report.short_names import WHOLE_NAMES
        from ckprof.report.text_width import display_width, shortened

        # one less: some terminals begin the next line after the last character
        width = terminal_width(self._stream) - 1
        text = one_line(text)
        room = width - display_width(text) - 1
        if name and room >= _LEAST_NAME:
            text = f"{text} {one_line(WHOLE_NAMES.short(name, room))}"
        with suppress(OSError):
            self._stream.write(f"\r\x1b[K{shortened(text, width)}")
            self._stream.flush()
        self._shown = True

    def show_bar(
        self, title: str, done: int, total: int, name: str = "", *, eta_s: float | None = None
    ) -> None:
        """Say that ``done`` of ``total`` steps are over.

        :param name: the latest one.
        :param eta_s: seconds that the others take at most, if that is known.
        """
        left = f", at most {duration(eta_s)} left" if eta_s is not None and done < total else ""
        if self._rewritten:
            filled = _BAR_WIDTH * done // total if total else _BAR_WIDTH
            bar = "#" * filled + "." * (_BAR_WIDTH - filled)
            self.show(f"{title} [{bar}] {done}/{total}{left}", name)
        elif done < total:
            self.show(f"{title}: {done}/{total}{left}")

    def clear(self) -> None:
        """Remove the line from the terminal, if it is shown."""
        if self._shown:
            self._shown = False
            with suppress(OSError):
                self._stream.write("\r\x1b[K")
                self._stream.flush()

    def _add(self, text: str) -> None:
        now = self._clock()
        if now < self._due:
            return
        self._due = now + _INTERVAL_S
        with suppress(OSError):
            self._stream.write(f"{one_line(text)}\n")
            self._stream.flush()


def terminal_width(stream: TextIO) -> int:
    """Return how many characters a line of a terminal has."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    except (OSError, ValueError):
        return _USUAL_WIDTH


class Console:
    """Prints results, messages and progress.

    :param verbosity: -1 silent but for errors, 0 normal, 1 and more: details.
    """

    def __init__(self, verbosity: int = 0, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.verbosity = verbosity
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._collecting = False
        #: how far something is, in one line
        self.progress = ProgressLine(
            self._err, rewritten=self._err.isatty() and _understands_escapes(), silent=verbosity < 0
        )

    @property
    def terminal(self) -> Terminal | None:
        """What results are fitted to; ``None`` for a file, or a pipe without ``COLUMNS``."""
        from ckprof.report.table import Terminal, output_width

        width = None if self._collecting else output_width(self._out)
        colour = self._out.isatty() and _understands_escapes()
        return None if width is None else Terminal(width=width, colour=colour)

    def result(self, content: str | Table[Any] | Document) -> None:
        """Print a part of the command's result; tables are fitted to the terminal, if it goes to one."""
        self.progress.clear()
        text = plain(content) if isinstance(content, str) else content.text(self.terminal)
        self.exact(text if text.endswith("\n") else f"{text}\n")

    def result_in(self, format_: str, values: object, shown: str | Document) -> None:
        """Print a result as JSON, if ``format_`` asks for it, else as it is shown to people."""
        self.result(json.dumps(values, indent=1) if format_ == "json" else shown)

    @contextmanager
    def collected(self) -> Iterator[io.StringIO]:
        """Collect the parts of the result in place of printing them."""
        before, self._out, self._collecting = self._out, io.StringIO(), True
        try:
            yield self._out
        finally:
            self._out, self._collecting = before, False

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

    def _message(self, text: str) -> None:
        # A terminal that is gone, or a full disk behind a redirection, must not cost the results.
        with suppress(OSError), self.progress.lock:
            self.progress.clear()
            self._err.write(f"{self._fitted(plain(text))}\n")
            self._err.flush()

    def _fitted(self, text: str) -> str:
        """Return a message that a terminal need not break within words; files and pipes get whole lines."""
        if not self._err.isatty():
            return text
        from ckprof.report.layout import wrapped_text

        return wrapped_text(text, terminal_width(self._err))


def _understands_escapes() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
