"""A candidate's process as the worker has it: stopped unless it is asked for something."""

from __future__ import annotations

import ctypes
import json
import os
import re
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
from ckprof_plugins.judge.cuda_driver import written_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: how files begin, in the folder that a candidate may write, in which sanitizers report
REPORTS: Final = "sanitizer"

#: where Python says in which line a signal has hit it
_FAULT_FILE: Final = "fault"

#: what any process may write; the C library has semaphores of processes in the first one
ALWAYS_WRITABLE: Final = tuple(f"/dev/{name}" for name in ("shm", "null"))
_PROGRAM: Final = "ckprof_plugins.judge.served"
_FRAME: Final = re.compile(r'^  File "(?P<path>.*)", line (?P<line>\d+) in ')
_FAULTS: Final = (signal.SIGSEGV, signal.SIGBUS)
_SUMMARY: Final = "SUMMARY: "
#: packets are small; a candidate cannot make the worker read more
_PACKET: Final = 1 << 16
#: scans of the candidate's processes until all are stopped
_MOST_SCANS: Final = 50
#: states of threads that compute nothing: stopped, or ended
_AT_REST: Final = "TtZX"
_SUBREAPER: Final = 36


#: processes of candidates that this one has, which are not what a candidate has started
_served: set[int] = set()


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
        writable = [str(scratch), *ALWAYS_WRITABLE]
        if config.get("gpu") is not None:
            writable += written_files()
        own = {name: text.format(scratch=scratch) for name, text in variables.items()}
        environment = {**os.environ, **own, "TMPDIR": str(scratch), "HOME": str(scratch)}
        self._process = subprocess.Popen(
            python_command(_PROGRAM, str(theirs.fileno())),
            stdin=subprocess.DEVNULL,
            # what it prints is no message of the worker
            stdout=sys.stderr.fileno(),
            cwd=scratch,
            env=environment,
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
        _served.add(self._process.pid)
        theirs.close()
        self._line = ours
        told = {**config, "writable": writable, "fault": str(scratch / _FAULT_FILE)}
        self.send(json.dumps(told).encode())
        #: processes that it has started, as far as they were seen
        self._helpers: set[int] = set()
        #: number of the system's latest process when they were last looked for
        self._latest = ""

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

    def asked(
        self, packet: bytes, descriptors: Sequence[int] = (), within_s: float | None = None
    ) -> dict[str, Any]:
        """Have it run until it has answered a request; then it is stopped with all that it has started.

        :param within_s: seconds that it gets; ``None``: as many as it takes.
        :raises TimeoutError: it has not answered.
        """
        self.resume()
        with suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._line, [packet], [*descriptors])
        self._line.settimeout(within_s)
        said = self.reply()
        self._line.settimeout(None)
        self.stop()
        self.stop_helpers()
        return said

    def rest(self, seconds: float) -> None:
        """Let it run without a request: threads that spin until they are needed go to sleep."""
        self.resume()
        time.sleep(seconds)
        self.stop()
        self.stop_helpers()

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
            raise Failed("its process answers with what is not a message")
        return said

    def _ended(self) -> Failed:
        code = self._process.wait()
        how = f"exited with status {code}"
        if code < 0:
            with suppress(ValueError):
                how = f"was killed by {signal.Signals(-code).name}"
        said = [line for path in self._scratch.glob(f"{REPORTS}*") for line in _lines(path)]
        summary = next((line for line in said if line.startswith(_SUMMARY)), "")
        if summary or -code not in _FAULTS:
            return Failed(summary.removeprefix(_SUMMARY) or f"its process {how}")
        frames = (_FRAME.search(line) for line in _lines(self._scratch / _FAULT_FILE))
        place = next(
            (f" at {one['path']}:{one['line']}" for one in frames if one and _is_its(one["path"])), ""
        )
        return Failed(f"its process {how}{place}: it used memory outside of its tensors, or wrote an operand")

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

    def stop_helpers(self) -> bool:
        """Stop what it has started and what has left its group; say whether any of that was running.

        :raises Failed: it starts more of them all the time.
        """
        if not self._helpers and self._latest == (latest := _latest_process()):
            return False  # nobody has started anything since
        was_running = False
        for _ in range(_MOST_SCANS):
            latest, running = _latest_process(), []
            for one in psutil.Process().children(recursive=True):
                if one.pid in _served:
                    continue
                # also what is stopped with the group: it may leave that later
                self._helpers.add(one.pid)
                with suppress(psutil.Error):
                    if _runs(one.pid):
                        running.append(one)
                        one.suspend()
                        was_running |= os.getpgid(one.pid) != self._process.pid
            if not running:
                self._latest = latest
                return was_running
        raise Failed("it starts processes that cannot be stopped")


def _latest_process() -> str:
    """Return the number that the system has given to a process or thread last."""
    return next(iter(_lines(Path("/proc/loadavg"))), "").rpartition(" ")[2] or str(time.monotonic_ns())


def _runs(pid: int) -> bool:
    """Say whether a thread of a process is not at rest: the first one may have ended, and others go on."""
    found = [line for path in Path(f"/proc/{pid}/task").glob("*/stat") for line in _lines(path)]
    return any(line.rpartition(")")[2].split()[0] not in _AT_REST for line in found)


def _is_its(path: str) -> bool:
    """Say whether a line is the candidate's, and not that of the program which calls it."""
    return path[:1] != "<" and Path(path).parent != Path(__file__).parent


def _lines(path: Path) -> list[str]:
    with suppress(OSError):
        return path.read_text("utf-8", errors="replace").splitlines()
    return []
