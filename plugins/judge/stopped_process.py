"""A candidate's process as the worker has it: stopped unless it is asked for something."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Final

import psutil

from ckprof.python_child import python_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: how files begin, in the folder that a candidate may write, in which sanitizers report
REPORTS: Final = "sanitizer"

_PROGRAM: Final = "ckprof_plugins.judge.served"
_SUMMARY: Final = "SUMMARY: "
#: packets are small; a candidate cannot make the worker read more
_PACKET: Final = 1 << 16
#: scans of the candidate's processes until all are stopped
_MOST_SCANS: Final = 50
#: states of threads that compute nothing: stopped, or ended
_AT_REST: Final = "TtZX"
_SUBREAPER: Final = 36


class Failed(Exception):
    """The candidate failed; the message is the reason."""


class StoppedProcess:
    """A process of its own that serves requests; it runs between :meth:`resume` and :meth:`stop` alone.

    :param config: of :mod:`~ckprof_plugins.judge.served`.
    :param folder: below which it gets a folder that it may write.
    :param variables: environment variables beside those of this process; ``{scratch}`` is that folder.
    """

    def __init__(self, config: Mapping[str, Any], folder: Path, variables: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # processes that outlive their parents become children of this one
        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
        self._scratch = scratch = folder / f"scratch-{SystemRandom().getrandbits(64):x}"
        scratch.mkdir()
        # the C library has semaphores of processes in the first one
        writable = [str(scratch), *(f"/dev/{name}" for name in ("shm", "null"))]
        own = {name: text.format(scratch=scratch) for name, text in variables.items()}
        environment = {**os.environ, **own, "TMPDIR": str(scratch), "HOME": str(scratch)}
        self._process = subprocess.Popen(
            python_command(_PROGRAM, str(theirs.fileno()), json.dumps({**config, "writable": writable})),
            stdin=subprocess.DEVNULL,
            # what it prints is no message of the worker
            stdout=sys.stderr.fileno(),
            cwd=scratch,
            env=environment,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
        theirs.close()
        self._line = ours
        #: processes that it has started, as far as they were seen
        self._helpers: set[int] = set()

    @property
    def has_helpers(self) -> bool:
        """Whether it has started processes that were seen."""
        return bool(self._helpers)

    def launch_of_nothing(self) -> float:
        """Return the seconds of a request that does nothing."""
        start = time.perf_counter()
        self.send(b"n")
        self.resume()
        self.reply()
        self.stop()
        return time.perf_counter() - start

    def send(self, packet: bytes) -> None:
        """Send a request, which it reads as soon as it runs."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._line.send(packet)

    def asked(self, packet: bytes, descriptors: Sequence[int] = ()) -> dict[str, Any]:
        """Have it run until it has answered a request."""
        self.resume()
        with suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._line, [packet], [*descriptors])
        said = self.reply()
        self.stop()
        return said

    def reply(self) -> dict[str, Any]:
        """Return the next answer.

        :raises Failed: the process has ended, or answers something else.
        """
        try:
            packet = self._line.recv(_PACKET)
        except ConnectionResetError:
            packet = b""
        if not packet:
            raise self._ended()
        try:
            said = json.loads(packet)
            if b"\\ud" in packet.lower():
                # halves of characters, which no encoding has
                said = json.loads(json.dumps(said, ensure_ascii=False).encode(errors="replace"))
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            raise Failed("its process answers with what is no message")
        return said

    def _ended(self) -> Failed:
        code = self._process.wait()
        how = f"exited with status {code}"
        if code < 0:
            with suppress(ValueError):
                how = f"was killed by {signal.Signals(-code).name}"
        said = [line for path in self._scratch.glob(f"{REPORTS}*") for line in _lines(path)]
        summary = next((line for line in said if line.startswith(_SUMMARY)), "")
        return Failed(summary.removeprefix(_SUMMARY) or f"its process {how}")

    def resume(self) -> None:
        """Let it go on, with all that it has started."""
        for pid in self._helpers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGCONT)

    def stop(self) -> None:
        """Stop the candidate's process and its group, and wait until it is stopped.

        :raises Failed: it has ended.
        """
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGSTOP)
        state = os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if state is not None and state.si_code != os.CLD_STOPPED:
            raise self._ended()

    def stop_helpers(self) -> None:
        """Stop what it has started and what has left its group.

        :raises Failed: it starts more of them all the time.
        """
        for _ in range(_MOST_SCANS):
            running = []
            for one in psutil.Process().children(recursive=True):
                with suppress(psutil.Error):
                    if one.pid != self._process.pid and _runs(one.pid):
                        running.append(one)
                        one.suspend()
            self._helpers |= {one.pid for one in running}
            if not running:
                return
        raise Failed("it starts processes that cannot be stopped")


def _runs(pid: int) -> bool:
    """Say whether a thread of a process is not at rest: the first one may have ended, and others go on."""
    found = [line for path in Path(f"/proc/{pid}/task").glob("*/stat") for line in _lines(path)]
    return any(line.rpartition(")")[2].split()[0] not in _AT_REST for line in found)


def _lines(path: Path) -> list[str]:
    with suppress(OSError):
        return path.read_text("utf-8", errors="replace").splitlines()
    return []
