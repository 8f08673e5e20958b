"""What a call of ckprof gives to tests, see the fixtures ``ckprof`` and ``ckprof_process``."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Called(NamedTuple):
    """What one call of ckprof gave."""

    code: int
    out: str
    err: str

    def fails_with(self, code: int, *parts: str) -> None:
        """Assert the exit code, one message without a traceback, and that it says all ``parts``."""
        text = self.out + self.err
        assert "Traceback" not in text, text
        assert self.code == code, text
        for part in parts:
            assert part in self.err, f"{part!r} is not in:\n{self.err}"


Ckprof = Callable[..., Called]
