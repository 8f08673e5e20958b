"""A build that goes on while kernels are measured, or one that waits until it is waited for."""

from __future__ import annotations

import copy
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.api.building import build_library
from ckprof.api.events import BuildProgress
from ckprof.model.recipe import Purpose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.api.events import Event
    from ckprof.api.requests import BuildOptions
    from ckprof.api.session import Session
    from ckprof.flow.candidates import Candidate
    from ckprof.flow.kernel_library import BuiltLibrary

#: seconds that an abandoned build gets to end the compilers that are running
_END_S = 20.0


class _Abandoned(BaseException):
    """Nobody waits for the build any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildTask:
    """What is built."""

    candidates: Sequence[Candidate]
    options: BuildOptions
    keep_invalid: bool


@dataclass(slots=True)
class KernelBuild:
    """One build of a library.

    :param session: plugins and settings. While a build goes on beside other work, what it says is kept until
        it is waited for, and plugins are called in its thread.
    :param task: what is built.
    """

    session: Session
    task: BuildTask
    #: seconds that the build took, without waiting for its turn
    seconds: float = 0.0
    _thread: threading.Thread | None = None
    _library: BuiltLibrary | None = None
    _error: BaseException | None = None
    _abandoned: threading.Event = field(default_factory=threading.Event)
    _said: list[Event] = field(default_factory=list)

    def begin(self) -> None:
        """Go on with it from now on, beside everything else."""
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
            self._build(self.session)
        else:
            self._thread.join()
            for event in self._said:
                self.session.tell(event)
        if self._error is not None:
            raise self._error
        if self._library is None:
            raise RuntimeError("an abandoned build has no library")
        return self._library

    def abandon(self, *, wait: bool = True) -> None:
        """End it as soon as the compilers that are running have ended.

        :param wait: do not return before, unless it takes very long.
        """
        self._abandoned.set()
        if self._thread is not None and wait:
            self._thread.join(_END_S)

    def _in_thread(self) -> None:
        own = copy.copy(self.session)
        own.tell = self._keep
        try:
            self._build(own)
        except _Abandoned:
            pass
        except BaseException as error:
            # it is raised where the build is waited for
            self._error = error

    def _build(self, session: Session) -> None:
        started = time.monotonic()
        self._library = build_library(
            session,
            self.task.candidates,
            self.task.options,
            Purpose.RUN,
            keep_invalid=self.task.keep_invalid,
        )
        self.seconds = time.monotonic() - started

    def _keep(self, event: Event) -> None:
        if self._abandoned.is_set():
            raise _Abandoned
        # how far it is has no place among what is said of measurements
        if not isinstance(event, BuildProgress):
            self._said.append(event)
