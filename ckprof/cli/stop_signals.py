"""Ends a command cleanly when it is asked to, from the keyboard or by the system."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Final

from ckprof.errors import ExitCode, Interrupted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def _say_nothing(_: str) -> None:
    pass


class StopSignals:
    """Turns signals into :class:`~ckprof.errors.Interrupted`, or into a request where that is better.

    A context manager. While the program ends because of a signal, further ones change nothing, since a closed
    terminal sends several; but Ctrl-C ends it at once.
    """

    def __init__(self) -> None:
        self._say: Callable[[str], None] = _say_nothing
        #: signals that are only noted
        self._noted_only = 0
        self._handlers: dict[signal.Signals, object] = {}
        self._finished = False
        #: the first signal that came
        self.received: signal.Signals | None = None

    @property
    def requested(self) -> bool:
        """Whether a stop was requested."""
        return self.received is not None

    @property
    def exit_code(self) -> ExitCode:
        """What the command returns because of the signal; ``OK`` if there was none."""
        return ExitCode.OK if self.received is None else Interrupted(self.received).exit_code

    def check(self) -> None:
        """End the command if a signal came that has not done so.

        :raises Interrupted: there was one.
        """
        if self.received is not None:
            raise Interrupted(self.received)

    def begin(self, say: Callable[[str], None]) -> None:
        """From now on the first signal is a request to end at the next boundary, the second one interrupts.

        :param say: told once that the end is near.
        """
        if self._say is _say_nothing:
            self._say = say
            self._noted_only = 1

    def finish(self) -> None:
        """From now on signals change nothing: the program is about to end anyway."""
        self._finished = True

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Only note a signal that comes inside: for what must be done as a whole and takes no time.

        A second one interrupts, in case it takes time after all.
        """
        before, self._noted_only = self._noted_only, 1
        try:
            yield
        finally:
            self._noted_only = before

    def __enter__(self) -> StopSignals:
        # Python calls handlers in its main thread alone, and lets no other one set them.
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                # A shell that starts commands in the background, or nohup, has them ignore some.
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._handlers[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        first = self.received is None
        if first:
            self.received = signal.Signals(number)
        if self._finished:
            return
        if self._noted_only:
            self._noted_only -= 1
            # the terminal may be gone, or just be written to
            with suppress(OSError, RuntimeError):
                name = signal.Signals(number).name
                self._say(f"{name}: ending after the kernel that is measured now; once more to end at once")
        elif first or self._say is not _say_nothing or number == signal.SIGINT:
            raise Interrupted(number)
