"""A build of a library that may run beside other work, and be abandoned."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.events import Level, Message, Progress, ProgressEnded
from ckprof.measure.support import build_checked_library

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.events import Event
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.kernels.requests import BuildOptions
    from ckprof.session import Session

#: seconds that an abandoned build gets to end the compilers that are running
_END_S = 20.0


class _Abandoned(BaseException):
    """Nobody waits for the build any more."""


def listening(session: Session, emit: Callable[[Event], None]) -> Session:
    """Return a session like another one whose events go elsewhere."""
    other: Session = object.__new__(type(session))  # copy() pickles, which a Profiler refuses
    vars(other).update(vars(session))
    other.emit = emit
    return other


def without_counts(session: Session) -> Session:
    """Return a session whose builds are counted with -v alone: kernels are built in batches."""

    def emit(event: Event) -> None:
        if isinstance(event, Message) and event.level is Level.INFO:
            event = replace(event, level=Level.DETAIL)
        session.emit(event)

    return listening(session, emit)


class KernelBuild:
    """One build of a library.

    :param session: plugins and settings. While a build runs in the background, its events are kept until it
        is waited for, and plugins are called in its thread.
    :param selection: what is built.
    """

    def __init__(self, session: Session, selection: Selection, options: BuildOptions) -> None:
        self._session, self._selection, self._options = session, selection, options
        #: seconds that the build took, without waiting for its turn
        self.seconds = 0.0
        self._thread: threading.Thread | None = None
        self._library: Future[BuiltLibrary] = Future()
        self._abandoned = threading.Event()
        self._events: list[Event] = []

    def begin(self) -> None:
        """Run it in the background from now on."""
        self._thread = threading.Thread(target=self._in_thread, name="ckprof-build", daemon=True)
        self._thread.start()

    @property
    def is_over(self) -> bool:
        """Whether waiting for it takes no time; also if it has not begun."""
        return self._thread is None or not self._thread.is_alive()

    def wait(self) -> BuiltLibrary:
        """Return the library; build it now if the build has not begun.

        :raises CkprofError: no toolchain, the build system failed, or the kernels cannot be run here.
        """
        if self._thread is None:
            self._build(self._session)
        else:
            self._thread.join()
            for event in self._events:
                self._session.emit(event)
        return self._library.result()

    def abandon(self, *, wait: bool = True) -> None:
        """End it as soon as the compilers that are running have ended.

        :param wait: do not return before, unless it takes very long.
        """
        self._abandoned.set()
        if self._thread is not None and wait:
            self._thread.join(_END_S)

    def _in_thread(self) -> None:
        self._build(listening(self._session, self._keep))

    def _build(self, session: Session) -> None:
        started = time.monotonic()
        try:
            self._library.set_result(build_checked_library(session, self._selection, self._options))
        except BaseException as error:
            # it is raised where the build is waited for
            self._library.set_exception(error)
        self.seconds = time.monotonic() - started

    def _keep(self, event: Event) -> None:
        if self._abandoned.is_set():
            raise _Abandoned
        # its progress would hide that of measurements
        if not isinstance(event, (Progress, ProgressEnded)):
            self._events.append(event)
