"""Names to the coordinator what hangs in a worker, while it does."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final

from ckprof_plugins.cluster.folder import HangFolder

if TYPE_CHECKING:
    from ckprof.measure.rounds import KernelConfiguration


#: seconds between looks for attempts that hang
_LOOK_S: Final = 0.2


class HangWatch:
    """Names to the coordinator a kernel that runs for suspiciously long, by a thread that looks now and then.

    :param after_s: seconds that an attempt may take unsuspected.
    """

    def __init__(self, after_s: float) -> None:
        self._after_s = after_s
        #: what is measured now, of which task, and since when; a new one for each attempt
        self._attempt: tuple[HangFolder, str, KernelConfiguration, float] | None = None
        #: the attempt that was named
        self._named: object = None
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, folder: HangFolder, task: str, cell: KernelConfiguration) -> None:
        """Watch an attempt."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="hang watch", daemon=True)
            self._thread.start()
        self._attempt = folder, task, cell, time.monotonic()

    def end(self) -> bool:
        """Say whether the coordinator has others do what waits behind the attempt that is over."""
        with self._lock:
            attempt, self._attempt = self._attempt, None
        return attempt is not None and attempt is self._named and not attempt[0].end(attempt[1])

    def close(self) -> None:
        """End the thread."""
        self._closed.set()

    def _run(self) -> None:
        while not self._closed.wait(min(_LOOK_S, self._after_s)):
            with self._lock:
                attempt = self._attempt
                late = attempt is not None and time.monotonic() - attempt[3] > self._after_s
                if attempt is not None and late and attempt is not self._named:
                    attempt[0].name(attempt[1], attempt[2])
                    self._named = attempt
