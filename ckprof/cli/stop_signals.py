"""Ends a long command cleanly when it is asked to, from the keyboard or by the system."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """Turns the first signal into a request and the second one into an interruption.

    A context manager. Until :meth:`begin` is called, the first signal interrupts as well: there is nothing to
    end cleanly yet.

    :param say: told once that the end is near.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._graceful = False
        self._handlers: dict[signal.Signals, object] = {}
        #: whether a stop was requested
        self.requested = False

    def begin(self) -> None:
        """From now on, end at the next boundary."""
        self._graceful = True

    def __enter__(self) -> StopSignals:
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
        if self.requested or not self._graceful:
            raise KeyboardInterrupt
        self.requested = True
        name = signal.Signals(number).name
        self._say(f"{name}: ending after the kernel that is measured now; once more to end at once")
