"""The parent's end of a worker process: start it, ask it with time limits, end it.

Kernels share the process with the worker's own code and can write wherever it can. So nothing counts that
does not repeat the nonce of the request, and a worker that says anything without being asked is discarded.
"""

from __future__ import annotations

import errno
import os
import secrets
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

import psutil

from ckprof.measure.worker.guards import memory_of, new_memory
from ckprof.orphans import MARK, kill_marked
from ckprof.python_child import python_command, start_failure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import IO

_MODULE: Final = "ckprof.measure.worker.child"


#: bytes of the worker's error output that are kept
_TAIL_BYTES = 16384
#: lines of it that are shown
_TAIL_LINES = 4
#: characters of a line that is no message that are shown
_EXCERPT_CHARS = 80
#: a reply without an end beyond this many bytes is none
_LONGEST_LINE = 2**26
_READ_BYTES = 65536
#: pieces of error output that are read at once: a process may write faster than they are read
_MOST_PIECES = 64
#: seconds between looks at whether the process is still there, in case something else keeps its pipes open
_LOOK_S = 0.5
#: seconds that a process which closed its pipes gets to end by itself
_GRACE_S = 2.0


class WorkerFailure(Exception):
    """The worker is of no use any more; the message says what happened."""

    #: the device or its runtime may be at fault
    of_device = False


class WorkerAborted(WorkerFailure):
    """The worker ended by SIGABRT, as runtimes of devices do where they know no other way."""

    of_device = True


class WorkerNotStarted(WorkerFailure):
    """This machine cannot start a worker now, which has nothing to do with kernels or devices."""


class WorkerTimeout(WorkerFailure):
    """No reply came in time."""


class WorkerStopped(WorkerTimeout):
    """A signal stopped the worker for as long as a reply may take; its kernel may have sent it."""


class UnexpectedReply(WorkerFailure):
    """Something arrived that the worker's own code did not send."""


class WorkerProcess:
    """A running worker.

    :param folder: working directory, so that whatever a kernel drops stays there.
    :param variables: environment variables beside those of this process.
    :param launcher: command that starts the worker, whose own command is its last arguments. Both write to
        the error output of this process.
    :raises WorkerNotStarted: the system has no process, descriptor or memory for it.
    """

    def __init__(
        self,
        folder: Path,
        variables: Mapping[str, str] | None = None,
        launcher: tuple[str, ...] = (),
    ) -> None:
        try:
            descriptor = new_memory()
        except OSError as exc:
            hint = "; 'ulimit -f' limits it" if exc.errno == errno.EFBIG else ""
            raise WorkerNotStarted(f"no memory can be shared with a worker: {exc.strerror}{hint}") from exc
        # Its other end is closed when this process ends, however that happens.
        try:
            watched, self._alive = os.pipe()
        except OSError as exc:
            os.close(descriptor)
            raise WorkerNotStarted(start_failure(exc)) from exc
        self._mark = f"{os.getpid()}-{secrets.token_hex(16)}"
        environment = {**os.environ, **(variables or {}), MARK: self._mark}
        #: what the worker opens that a launcher starts, until it has
        self._offered: list[int] = []
        try:
            #: memory into which the worker copies tensors
            self.shared = memory_of(descriptor)
            if launcher:
                self._launch(launcher, folder, environment, descriptor, watched)
            else:
                self._start(folder, environment, descriptor, watched)
        except BaseException as exc:
            os.close(self._alive)
            if isinstance(exc, OSError):
                raise WorkerNotStarted(start_failure(exc, launcher)) from exc
            raise
        finally:
            if not self._offered:
                os.close(descriptor)
                os.close(watched)
        #: seconds in which replies were waited for, and neither this process nor the worker was stopped
        self.waited_s = 0.0
        self._replies = bytearray()
        self._errors = b""
        self._selector = selectors.DefaultSelector()
        for stream in filter(None, (self._stdout, self._process.stderr)):
            os.set_blocking(stream.fileno(), False)
            self._selector.register(stream, selectors.EVENT_READ)

    def _start(self, folder: Path, environment: Mapping[str, str], shared: int, watched: int) -> None:
        """Start a worker that is asked on its standard input and answers on its standard output."""
        self._process = subprocess.Popen(
            python_command(_MODULE, str(shared), str(watched)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
            bufsize=0,
            pass_fds=(shared, watched),
            # A group of its own: everything it starts can be killed, and Ctrl-C reaches the parent alone.
            start_new_session=True,
        )
        self._stdin = cast("IO[bytes]", self._process.stdin)
        self._stdout = cast("IO[bytes]", self._process.stdout)

    def _launch(
        self,
        launcher: tuple[str, ...],
        folder: Path,
        environment: Mapping[str, str],
        shared: int,
        watched: int,
    ) -> None:
        """Start a worker by a command that gets the worker's as its last arguments.

        Tools write to standard output, and close descriptors that they know nothing of: the worker opens by
        their paths what it is asked through.
        """
        asked, ask = os.pipe()
        answer, answered = os.pipe()
        offered = [shared, watched, asked, answered]
        paths = (f"/proc/{os.getpid()}/fd/{descriptor}" for descriptor in offered)
        try:
            self._process = subprocess.Popen(
                [*launcher, *python_command(_MODULE, *paths)],
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except BaseException:
            for descriptor in (asked, ask, answer, answered):
                os.close(descriptor)
            raise
        self._offered = offered
        self._stdin, self._stdout = os.fdopen(ask, "wb", buffering=0), os.fdopen(answer, "rb", buffering=0)

    def ask(self, request: bytes, limit_s: float) -> bytes:
        """Send a request and wait for its reply, both without the nonce.

        Error output from before it is forgotten: it has nothing to do with what follows.

        :raises WorkerTimeout: none came within ``limit_s`` seconds in which neither this process nor the
            worker was stopped; the worker still runs.
        :raises WorkerStopped: the worker was stopped for as long.
        :raises UnexpectedReply: what came is no reply to this request, or came before it.
        :raises WorkerFailure: the process ended.
        """
        self.check_silence()
        self._drain_errors()
        self._errors = b""
        nonce, begun = secrets.token_hex(16), time.monotonic()
        self._send(b"%b %b\n" % (nonce.encode(), request))
        line = self._receive(limit_s, begun)
        self._withdraw()
        return reply_in(line, nonce)

    def check_silence(self) -> None:
        """Make sure that nothing has arrived since the last reply.

        :raises UnexpectedReply: something has.
        :raises WorkerFailure: the process ended.
        """
        self._read(0)
        if self._replies:
            raise UnexpectedReply(f"the worker sent {excerpt(self._replies)}, for which nobody has asked")

    def quit(self) -> None:
        """Ask the worker to end and make sure that it does."""
        with suppress(WorkerFailure, OSError):
            self._send(b"\n")
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
        self.kill()

    def kill(self) -> None:
        """End the process, everything in its group, and what has left that group, at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        kill_marked(self._mark)
        self._selector.close()
        for stream in filter(None, (self._stdin, self._stdout, self._process.stderr)):
            with suppress(OSError):
                stream.close()
        self._withdraw()
        if self._alive >= 0:
            os.close(self._alive)
            self._alive = -1

    def _withdraw(self) -> None:
        """Close what a worker has opened that a launcher started."""
        for descriptor in self._offered:
            os.close(descriptor)
        self._offered.clear()

    def _send(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[self._stdin.write(rest) :]
        except BrokenPipeError:
            raise self._ended() from None

    def _receive(self, limit_s: float, begun: float) -> bytes:
        """Return the next line.

        :param begun: when it was asked for: the worker may have answered before this process waits.
        """
        remaining = stoppable = limit_s
        searched = 0
        while True:
            end = self._replies.find(b"\n", searched)
            if end >= 0:
                line = bytes(self._replies[:end])
                del self._replies[: end + 1]
                return line
            searched = len(self._replies)
            if searched > _LONGEST_LINE:
                raise UnexpectedReply("the worker sent an endless line")
            if remaining <= 0:
                raise WorkerTimeout(f"no reply within {limit_s:g} s")
            if stoppable <= 0:
                raise WorkerStopped(f"stopped by a signal for {limit_s:g} s")
            ended = self._process.poll() is not None
            seen = self._read(0 if ended else min(remaining, _LOOK_S))
            if ended and not seen:
                raise self._ended()
            # much more time than was waited for has passed only where this process was stopped
            now = time.monotonic()
            took_s, begun = min(now - begun, 2 * _LOOK_S), now
            if not seen and self._is_stopped():
                stoppable -= took_s
            else:
                remaining -= took_s
                self.waited_s += took_s

    def _is_stopped(self) -> bool:
        with suppress(psutil.Error):
            return psutil.Process(self._process.pid).status() == psutil.STATUS_STOPPED
        return False

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
                raise self._ended()
        return seen

    def _ended(self) -> WorkerFailure:
        """Return what to raise when the process is gone."""
        code = None
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_GRACE_S)
        text = "the worker closed its connection" if code is None else _describe_exit(code)
        self._drain_errors()
        lines = [line.strip() for line in self._errors.decode(errors="replace").splitlines() if line.strip()]
        if lines:
            text += f"; last output: {' | '.join(lines[-_TAIL_LINES:])}"
        return (WorkerAborted if code == -signal.SIGABRT else WorkerFailure)(text)

    def _drain_errors(self) -> None:
        stream = self._process.stderr
        if stream is None:
            return
        # Ends with an empty read, or with an error where nothing more is there yet.
        with suppress(OSError):
            for _ in range(_MOST_PIECES):
                data = os.read(stream.fileno(), _READ_BYTES)
                if not data:
                    return
                self._errors = (self._errors + data)[-_TAIL_BYTES:]


def reply_in(line: bytes, nonce: str) -> bytes:
    """Return the reply in a line.

    :raises UnexpectedReply: it is not the one to the request with this nonce.
    """
    answered, _, reply = line.partition(b" ")
    if answered != nonce.encode():
        raise UnexpectedReply(
            f"the worker sent {excerpt(line)}, which is not a message (it does not answer the request)"
        )
    return reply


def excerpt(data: bytes | bytearray) -> str:
    """Return the beginning of what a worker has sent, for messages."""
    return repr(bytes(data[:_EXCERPT_CHARS]).partition(b"\n")[0].decode(errors="replace"))


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"the worker exited with status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"the worker was killed by signal {-code}"
    hint = ", perhaps because memory ran out" if -code == signal.SIGKILL else ""
    return f"the worker was killed by {name} ({signal.strsignal(-code)}{hint})"
