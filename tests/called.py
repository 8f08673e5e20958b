"""The commands of ckprof, and what a call gives, see the fixtures ``ckprof`` and ``ckprof_process``."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

from ckprof.cli.commands import command_table
from ckprof_plugins import FEATURE_PACKAGES

#: the commands that ship with ckprof, but for those that need what is not installed
COMMANDS = tuple(command for command in command_table() if command.is_built_in and not command.missing)
#: no feature package was left out
EVERY_PACKAGE = all(find_spec(f"ckprof_plugins.{name}") for name in FEATURE_PACKAGES)


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
