"""The commands of ckprof, and what a call gives, see the fixtures ``ckprof`` and ``ckprof_process``."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ckprof.cli.commands import command_table

#: the commands that ship with ckprof
COMMANDS = tuple(command for command in command_table() if command.is_built_in)


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
