"""Wall seconds of the stages of a run."""

from __future__ import annotations

import time


class Stages:
    """A clock that counts each second for one stage."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self.seconds: dict[str, float] = {}

    def done(self, name: str) -> None:
        """Count the time since the last stage as that of this one."""
        self.seconds[name] = time.monotonic() - self._started - sum(self.seconds.values())
