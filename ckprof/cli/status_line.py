"""One line that says how far something is: rewritten on a terminal, written now and then elsewhere."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TextIO

from ckprof.plain_text import one_line
from ckprof.wording import duration

if TYPE_CHECKING:
    from collections.abc import Callable

#: seconds between two lines where none is rewritten, at first; later a tenth of the time that has passed
_FIRST_INTERVAL_S: Final = 5.0
#: seconds between two lines at most
_LAST_INTERVAL_S: Final = 300.0
_BAR_WIDTH: Final = 24
#: fewest characters of a name that say anything
_LEAST_NAME: Final = 12
#: where the terminal does not say
_USUAL_WIDTH: Final = 80


class StatusLine:
    """The line.

    :param stream: where it is shown.
    :param rewritten: as on terminals; elsewhere lines follow each other, the less often the longer it takes.
    :param clock: seconds that pass.
    """

    def __init__(
        self, stream: TextIO, *, rewritten: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream
        self._rewritten = rewritten
        self._clock = clock
        self._began = clock()
        self._due = self._began
        self._shown = False

    def begin(self, *, at_once: bool) -> None:
        """Begin something.

        :param at_once: its first line is worth it; otherwise it may be over before.
        """
        self._began = self._clock()
        self._due = self._began + (0 if at_once else _FIRST_INTERVAL_S)

    def show(self, text: str, name: str = "") -> None:
        """Say how far it is.

        :param name: stands behind the text; whole where there is room.
        """
        if not self._rewritten:
            self._add(f"{text} {name}".rstrip())
            return
        from ckprof.report.short_names import WHOLE_NAMES, display_width, shortened

        # one less: some terminals begin the next line after the last character
        width = terminal_width(self._stream) - 1
        text = one_line(text)
        room = width - display_width(text) - 1
        if name and room >= _LEAST_NAME:
            text = f"{text} {WHOLE_NAMES.short(one_line(name), room)}"
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
        self._due = now + min(max(_FIRST_INTERVAL_S, (now - self._began) / 10), _LAST_INTERVAL_S)
        with suppress(OSError):
            self._stream.write(f"{one_line(text)}\n")
            self._stream.flush()


def terminal_width(stream: TextIO) -> int:
    """Return how many characters a line of a terminal has."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    except (OSError, ValueError):
        return _USUAL_WIDTH
