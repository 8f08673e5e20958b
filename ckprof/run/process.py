"""The parent's end of a worker process: start it, talk to it with time limits, end it."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

import ckprof
from ckprof.run import messages

if TYPE_CHECKING:
    from typing import IO

#: bytes of the worker's error output that are kept
_TAIL_BYTES = 16384
#: lines of it that are shown
_TAIL_LINES = 4
#: characters of a line that is no message that are shown
_EXCERPT_CHARS = 80
#: a reply without an end beyond this many bytes is none
_LONGEST_LINE = 2**28
_READ_BYTES = 65536
#: seconds between looks at whether the process is still there, in case something else keeps its pipes open
_LOOK_S = 0.5
#: seconds that a process which closed its pipes gets to end by itself
_GRACE_S = 2.0


class WorkerFailure(Exception):
    """The worker is of no use any more; the message says what happened."""


class WorkerTimeout(WorkerFailure):
    """No reply came in time."""


class WorkerProcess:
    """A running worker.

    :param folder: working directory, so that whatever a kernel drops stays there.
    """

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "ckprof.run.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=_environment(),
            bufsize=0,
            # A group of its own: everything it starts can be killed, and Ctrl-C reaches the parent alone.
            start_new_session=True,
        )
        self._stdin = cast("IO[bytes]", self._process.stdin)
        self._stdout = cast("IO[bytes]", self._process.stdout)
        self._stderr = cast("IO[bytes]", self._process.stderr)
        self._replies = b""
        self._errors = b""
        self._selector = selectors.DefaultSelector()
        for stream in (self._stdout, self._stderr):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)

    @property
    def pid(self) -> int:
        """Process id, which is also that of its group."""
        return self._process.pid

    def send(self, request: messages.Message) -> None:
        """Send a request. Error output from before it is forgotten: it has nothing to do with what follows.

        :raises WorkerFailure: the process is gone.
        """
        self._drain_errors()
        self._errors = b""
        rest = memoryview(messages.encode_line(request))
        try:
            while rest:
                rest = rest[self._stdin.write(rest) :]
        except BrokenPipeError:
            raise WorkerFailure(self._how_it_ended()) from None

    def receive(self, limit_s: float) -> messages.Reply:
        """Wait for the next reply.

        :raises WorkerTimeout: none came within ``limit_s`` seconds; the process still runs.
        :raises WorkerFailure: the process ended, or sent something that is no message.
        """
        deadline = time.monotonic() + limit_s
        while True:
            line, separator, rest = self._replies.partition(b"\n")
            if separator:
                self._replies = rest
                return _decode(line)
            if len(self._replies) > _LONGEST_LINE:
                raise WorkerFailure("the worker sent an endless line")
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise WorkerTimeout(f"no reply within {limit_s:g} s")
            ended = self._process.poll() is not None
            if not self._read(0 if ended else min(remaining, _LOOK_S)) and ended:
                raise WorkerFailure(self._how_it_ended())

    def quit(self) -> None:
        """Ask the worker to end and make sure that it does."""
        with suppress(WorkerFailure):
            self.send(messages.Quit())
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
        self.kill()

    def kill(self) -> None:
        """End the process and everything in its group, at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._selector.close()
        for stream in (self._stdin, self._stdout, self._stderr):
            with suppress(OSError):
                stream.close()

    def _read(self, timeout_s: float) -> bool:
        """Take what the pipes hold; return false if there was nothing.

        A stream at its end is left out from then on: without replies the process is as good as gone.
        """
        seen = False
        for key, _ in self._selector.select(timeout_s):
            data = os.read(key.fd, _READ_BYTES)
            if key.fileobj is self._stdout:
                self._replies += data
            else:
                self._errors = (self._errors + data)[-_TAIL_BYTES:]
            if data:
                seen = True
                continue
            self._selector.unregister(key.fileobj)
            if key.fileobj is self._stdout:
                raise WorkerFailure(self._how_it_ended())
        return seen

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            ended = "the worker closed its connection"
        else:
            ended = _describe_exit(code)
        self._drain_errors()
        lines = [line.strip() for line in self._errors.decode(errors="replace").splitlines() if line.strip()]
        if not lines:
            return ended
        return f"{ended}; last output: {' | '.join(lines[-_TAIL_LINES:])}"

    def _drain_errors(self) -> None:
        # Ends with an empty read, or with an error where nothing more is there yet.
        with suppress(OSError):
            while data := os.read(self._stderr.fileno(), _READ_BYTES):
                self._errors = (self._errors + data)[-_TAIL_BYTES:]


def _decode(line: bytes) -> messages.Reply:
    try:
        return messages.decode_reply(line)
    except msgspec.DecodeError as exc:
        excerpt = line[:_EXCERPT_CHARS].decode(errors="replace")
        raise WorkerFailure(f"the worker sent {excerpt!r}, which is no message ({exc})") from exc


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"the worker exited with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"the worker was killed by signal {-code}"
    hint = ", perhaps because memory ran out" if -code == signal.SIGKILL else ""
    return f"the worker was killed by {name} ({signal.strsignal(-code)}{hint})"


def _environment() -> dict[str, str]:
    """Return the environment in which a child finds this very package, whatever its working directory."""
    environment = dict(os.environ)
    paths = [str(Path(ckprof.__file__).resolve().parents[1])]
    paths += filter(None, [environment.get("PYTHONPATH", "")])
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    # The working directory must not come first: a stray ``queue.py`` there would be imported.
    environment["PYTHONSAFEPATH"] = "1"
    return environment
