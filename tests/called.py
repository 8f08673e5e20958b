"""The commands of ckprof, and what a call gives, see the fixtures ``ckprof`` and ``ckprof_process``."""

from __future__ import annotations

import subprocess
import sys
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

    def ok(self):
        """Assert that the call has done what it was asked for; return it."""
        assert self.code == 0, f"exit code {self.code}\n{self.err[-4000:]}{self.out[-2000:]}"
        return self

    def fails_with(self, code, *parts):
        """Assert the exit code, one message without a traceback, and that it says all ``parts``."""
        text = self.out + self.err
        assert "Traceback" not in text, text
        assert self.code == code, text
        for part in parts:
            assert part in self.err, f"{part!r} is not in:\n{self.err}"


def ckprof_apart(*arguments, **options):
    """Call ``ckprof`` as a process of its own.

    :param options: of :func:`subprocess.run`, such as ``cwd`` and ``env``.
    """
    command = [sys.executable, "-m", "ckprof", *map(str, arguments)]
    usual = {"capture_output": True, "text": True, "errors": "replace", "check": False}
    done = subprocess.run(command, **usual | options)
    return Called(done.returncode, done.stdout, done.stderr)


Ckprof = Callable[..., Called]
