"""Asking compilers and their tools queries on their command lines."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def ask(command: Sequence[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    """Run a command without input and return what it printed, whatever its exit status.

    :param timeout_s: seconds that the answer may take.
    :raises OSError: the command cannot be run.
    :raises subprocess.TimeoutExpired: there is no answer in time.
    """
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
    )
