"""How a worker's process is started: by itself, or by a tool that shall see what it does."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.python_child import python_command

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import IO

_MODULE: Final = "ckprof.measure.worker.child"


@dataclass(frozen=True, slots=True)
class Start:
    """What every worker's process is started with."""

    #: its working directory
    folder: Path
    environment: Mapping[str, str]
    #: descriptors of the memory that is shared with it, and of what ends when this process does
    shared: int
    watched: int

    def direct(self) -> subprocess.Popen[bytes]:
        """Start a worker that is asked on its standard input and answers on its standard output."""
        return subprocess.Popen(
            python_command(_MODULE, str(self.shared), str(self.watched)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env=self.environment,
            bufsize=0,
            pass_fds=(self.shared, self.watched),
            # A group of its own: everything it starts can be killed, and Ctrl-C reaches the parent alone.
            start_new_session=True,
        )

    def launched(
        self, launcher: tuple[str, ...]
    ) -> tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes], list[int]]:
        """Start a worker by a command that gets the worker's as its last arguments.

        Tools write to standard output, and close descriptors that they know nothing of: the worker opens by
        their paths what it is asked through.

        :returns: the process of the command, the ends of the pipes to and from the worker, and what has to
            stay open until the worker has opened it.
        """
        asked, ask = os.pipe()
        answer, answered = os.pipe()
        offered = [self.shared, self.watched, asked, answered]
        paths = (f"/proc/{os.getpid()}/fd/{descriptor}" for descriptor in offered)
        try:
            process = subprocess.Popen(
                [*launcher, *python_command(_MODULE, *paths)],
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),
                cwd=self.folder,
                env=self.environment,
                start_new_session=True,
            )
        except BaseException:
            for descriptor in (asked, ask, answer, answered):
                os.close(descriptor)
            raise
        return process, os.fdopen(ask, "wb", buffering=0), os.fdopen(answer, "rb", buffering=0), offered
