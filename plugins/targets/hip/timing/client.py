"""The parent's end of the process that learns times."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import ToolchainError
from ckprof.python_child import python_command
from ckprof_plugins.targets.hip.timing.child import Answer, Question, Setup

if TYPE_CHECKING:
    from types import TracebackType

_CHILD: Final = "ckprof_plugins.targets.hip.timing.child"
#: characters of the error output that are shown
_TAIL: Final = 400


class LaunchTimes:
    """Asks a library that is linked with the emulated device; a context manager.

    A kernel that brings the process down costs one answer: the next question starts another process.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> LaunchTimes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def ask(self, question: Question) -> Answer:
        """Return what the device does with a kernel and a problem.

        :raises ToolchainError: the library cannot be loaded, or is not linked with the device.
        """
        if self._process is None:
            self._start()
        answer = self._exchange(question)
        if answer is None:
            self.close()
            return Answer(reason="the kernel ended the process that predicts its time")
        return answer

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.kill()
        process.communicate()

    def _start(self) -> None:
        # what the library prints, such as why a kernel rejects a problem, is in the answers
        self._process = subprocess.Popen(
            _command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        answer = self._exchange(self._setup)
        if answer is None or answer.reason:
            self.close()
            reason = answer.reason[:_TAIL] if answer is not None else "its process ended"
            raise ToolchainError(f"{self._setup.library}: times cannot be predicted with it: {reason}")

    def _exchange(self, request: Setup | Question) -> Answer | None:
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            process.stdin.write(msgspec.json.encode(request) + b"\n")
            process.stdin.flush()
            return msgspec.json.decode(process.stdout.readline(), type=Answer)
        except (OSError, msgspec.DecodeError):
            return None


def _command() -> list[str]:
    return python_command(_CHILD)
