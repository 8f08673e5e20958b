"""The child process that loads one kernel library and serves requests: ``python -m ckprof.run.worker``.

Whatever a kernel does - crash, hang, print, exit - happens here and costs one outcome. Requests come as lines
on standard input, replies leave as lines on what was standard output; kernels see neither of them.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.model.outcome import Status
from ckprof.run import messages
from ckprof.run.abi import AbiStatus, Library, LibraryError
from ckprof.run.measure import LoadedProblem, measure_kernel

if TYPE_CHECKING:
    from typing import BinaryIO


class Channel:
    """The line to the parent.

    A thread reads the requests: it notices at once when the parent is gone, even while a kernel hangs, and
    ends the process then.

    :param requests: stream of request lines.
    :param replies: stream for reply lines.
    """

    def __init__(self, requests: BinaryIO, replies: BinaryIO) -> None:
        self._requests = requests
        self._replies = replies
        self._queue: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="requests", daemon=True).start()

    def receive(self) -> messages.Request:
        """Wait for the next request."""
        return messages.decode_request(self._queue.get())

    def send(self, reply: messages.Message) -> None:
        """Send one reply."""
        self._replies.write(messages.encode_line(reply))
        self._replies.flush()

    def _read(self) -> None:
        for line in self._requests:
            self._queue.put(line)
        if os.getpgrp() == os.getpid():
            # As the parent starts it: the group is this process and whatever its library has started.
            os.killpg(os.getpgrp(), signal.SIGKILL)
        os._exit(1)


class Worker:
    """SupportAnswers requests for one library.

    :param channel: the line to the parent.
    :param library: the loaded library.
    """

    def __init__(self, channel: Channel, library: Library) -> None:
        self._channel = channel
        self._library = library
        self._loaded: LoadedProblem | None = None

    def serve(self) -> None:
        """SupportAnswer requests until told to quit."""
        while True:
            request = self._channel.receive()
            match request:
                case messages.LoadProblem():
                    self._channel.send(self._load(request))
                case messages.Measure():
                    self._channel.send(self._measure(request))
                case messages.ReadInstanceStrings():
                    for key in request.keys:
                        self._channel.send(self._instance_text(key))
                case messages.Quit():
                    return
                case messages.Open():
                    raise ValueError("a library is loaded already")

    def _load(self, request: messages.LoadProblem) -> messages.Message:
        if self._loaded is not None:
            self._loaded.release()
            self._loaded = None
        try:
            self._loaded = LoadedProblem(self._library.target, request)
        except MemoryError as exc:
            return messages.ProblemRejected(reason=str(exc))
        return messages.ProblemLoaded()

    def _measure(self, request: messages.Measure) -> messages.Measured:
        kernel = self._library.kernels.get(request.key)
        if kernel is None:
            reason = f"the kernel library has no kernel with key {request.key}"
            return messages.Measured(status=Status.RUN_ERROR, reason=reason)
        if self._loaded is None:
            raise ValueError("no problem is loaded")
        return measure_kernel(
            kernel,
            self._loaded,
            request.split_k,
            request.timing,
            self._channel.send,
        )

    def _instance_text(self, key: str) -> messages.InstanceText:
        kernel = self._library.kernels.get(key)
        if kernel is None:
            return messages.InstanceText(key=key, text="", error=f"the library has no kernel with key {key}")
        status, text = kernel.instance_string()
        if status is AbiStatus.OK:
            return messages.InstanceText(key=key, text=text)
        return messages.InstanceText(key=key, text="", error=text or "the kernel gave no text and no reason")


def open_library(request: messages.Request) -> tuple[Library, messages.Opened]:
    """Load the library and select the device.

    :raises LibraryError: one of them failed.
    """
    if not isinstance(request, messages.Open):
        raise ValueError("the first request must open a library")
    library = Library.load(Path(request.library))
    device = ""
    if request.arch:
        library.target.select_device(request.arch, request.device)
        library.target.set_cpu_threads(request.cpu_threads)
        device = library.target.describe_device()
    keys = tuple(library.kernels)
    return library, messages.Opened(target=library.target.id, device=device, keys=keys)


def main() -> int:
    """Serve until the parent is done."""
    channel = _take_standard_streams()
    _forbid_core_dumps()
    try:
        library, opened = open_library(channel.receive())
    except LibraryError as exc:
        channel.send(messages.OpenFailed(reason=str(exc)))
        return 0
    channel.send(opened)
    Worker(channel, library).serve()
    return 0


def _take_standard_streams() -> Channel:
    """Move the protocol away from descriptors 0 and 1, which belong to the library from now on."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Channel(requests, replies)


def _forbid_core_dumps() -> None:
    """A crash of a kernel is an expected outcome; writing gigabytes about it would only take time."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Nothing is left to do, and static destructors of kernel libraries could still crash or hang.
    os._exit(code)
