"""A worker with one library: the requests of :mod:`~ckprof.measure.worker.messages` as methods.

Each checks that the reply is one to its question and speaks of the kernel that was asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from ckprof.measure.worker import messages
from ckprof.measure.worker.process import UnexpectedReply, WorkerFailure
from ckprof.measure.worker.sampling import Sample, Sampled, WorkerMessage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import Protocol

    import numpy as np
    from numpy.typing import NDArray

    class Line(Protocol):
        """Whatever carries requests to a worker."""

        @property
        def shared(self) -> NDArray[np.uint8]:
            """Memory into which the worker copies tensors."""

        def ask(self, request: WorkerMessage, limit_s: float) -> messages.Reply:
            """Send a request and wait for its reply."""

        def check_silence(self) -> None:
            """Make sure that nothing has arrived since the last reply."""


#: seconds that a worker gets to start, load the library and select the device
START_LIMIT_S = 120.0

_Reply = TypeVar("_Reply", bound=WorkerMessage)


class LibraryUnusable(WorkerFailure):
    """The library cannot be loaded, or its target rejects the device.

    :param loaded: whether the device is at fault.
    """

    def __init__(self, reason: str, *, loaded: bool) -> None:
        super().__init__(reason)
        self.loaded = loaded


class RequestFailed(WorkerFailure):
    """The worker could not serve a request.

    :param device: its device or the runtime of that is at fault.
    """

    def __init__(self, reason: str, *, device: bool = False) -> None:
        super().__init__(reason)
        self.of_device = device


class RemoteLibrary:
    """A library in a worker process.

    All methods raise :class:`~ckprof.measure.worker.process.WorkerFailure` when the worker is lost.

    :param line: to the worker.
    """

    def __init__(self, line: Line) -> None:
        self._line = line

    def open(self, library: Path, device: messages.DeviceChoice | None) -> messages.Opened:
        """Load the library, and select a device unless it is ``None``.

        :raises LibraryUnusable: one of them failed.
        """
        request = messages.Open(library=str(library.resolve()), device=device)
        return self._opened(request)

    def open_baseline(self, request: messages.OpenBaseline) -> messages.Opened:
        """Make the engine of a baseline.

        :raises LibraryUnusable: it cannot be used.
        """
        return self._opened(request)

    def _opened(self, request: WorkerMessage) -> messages.Opened:
        reply = self._line.ask(request, START_LIMIT_S)
        if isinstance(reply, messages.OpenFailed):
            raise LibraryUnusable(reply.reason, loaded=reply.loaded)
        return _expect(messages.Opened, reply)

    def describe(self, limit_s: float) -> messages.Described:
        """Return what the library says about itself."""
        return _expect(messages.Described, self._line.ask(messages.Describe(), limit_s))

    def load(
        self, problem: messages.LoadProblem, limit_s: float
    ) -> messages.ProblemLoaded | messages.ProblemRejected:
        """Put a problem into target memory, if it fits."""
        return self._fitting(problem, limit_s)

    def _fitting(
        self, request: WorkerMessage, limit_s: float
    ) -> messages.ProblemLoaded | messages.ProblemRejected:
        reply = self._line.ask(request, limit_s)
        if isinstance(reply, messages.ProblemRejected):
            return reply
        return _expect(messages.ProblemLoaded, reply)

    def set_operands(
        self, operands: tuple[messages.TensorFile, ...], limit_s: float
    ) -> messages.ProblemLoaded | messages.ProblemRejected:
        """Give the operands of the loaded problem other values, if there is memory for their reference.

        Without it they have some values, and no reference.
        """
        return self._fitting(messages.SetOperands(operands=operands), limit_s)

    def check(self, request: messages.Check, limit_s: float) -> messages.Checked:
        """Have the device compare the result with its reference."""
        return _expect(messages.Checked, self._line.ask(request, limit_s))

    def support(
        self, key: str, queries: Sequence[messages.SupportQuery], limit_s: float
    ) -> tuple[messages.Support, ...]:
        """Return a kernel's verdicts on problems.

        :raises RequestFailed: there is no such kernel.
        """
        questions = tuple(
            messages.SupportQuestion(problem=messages.ProblemValues.of(query.problem), split_k=query.split_k)
            for query in queries
        )
        reply = self._line.ask(messages.QuerySupport(key=key, queries=questions), limit_s)
        answers = _expect(messages.SupportAnswers, reply, key).answers
        if len(answers) != len(queries):
            raise UnexpectedReply(f"the worker sent {len(answers)} answers to {len(queries)} queries")
        return answers

    def run(self, request: messages.RunOnce, limit_s: float) -> messages.Ran:
        """Poison the result and run a kernel once."""
        return _expect(messages.Ran, self._line.ask(request, limit_s), request.key)

    def sample(self, request: Sample, limit_s: float) -> Sampled | messages.Ran:
        """Poison the result and time a kernel; a run that failed is returned instead."""
        reply = self._line.ask(request, limit_s)
        if isinstance(reply, messages.Ran):
            return _expect(messages.Ran, reply, request.key)
        return _expect(Sampled, reply, request.key)

    def copy_out(self, tensor: str, start: int, size: int, limit_s: float) -> NDArray[np.uint8]:
        """Return bytes of a tensor, valid until the next call."""
        reply = self._line.ask(messages.CopyOut(tensor=tensor, start=start, size=size), limit_s)
        if _expect(messages.CopiedOut, reply).size != size:
            raise UnexpectedReply(f"the worker copied another number of bytes than {size}")
        return self._line.shared[:size]

    def copy_kept(self, number: int, start: int, size: int, limit_s: float) -> NDArray[np.uint8]:
        """Return bytes of a result that the last sampling has kept, valid until the next call."""
        reply = self._line.ask(messages.CopyOut(tensor="", start=start, size=size, kept=number), limit_s)
        if _expect(messages.CopiedOut, reply).size != size:
            raise UnexpectedReply(f"the worker copied another number of bytes than {size}")
        return self._line.shared[:size]

    def instance_string(self, key: str, limit_s: float) -> messages.InstanceText:
        """Ask a kernel for CK Builder's text."""
        reply = self._line.ask(messages.ReadInstanceString(key=key), limit_s)
        return _expect(messages.InstanceText, reply, key)

    def measure_roof(self, request: messages.MeasureRoof, limit_s: float) -> float:
        """Return what the device reaches per second; 0 where its target does not measure it."""
        return _expect(messages.RoofMeasured, self._line.ask(request, limit_s)).rate

    def release(self, limit_s: float) -> None:
        """Give the memory of the loaded problem back."""
        _expect(messages.Released, self._line.ask(messages.Release(), limit_s))

    def check_silence(self) -> None:
        """Make sure that nothing has arrived since the last reply."""
        self._line.check_silence()


def _expect(kind: type[_Reply], reply: messages.Reply, key: str | None = None) -> _Reply:
    if isinstance(reply, messages.Failed):
        raise RequestFailed(reply.reason, device=reply.device)
    if not isinstance(reply, kind) or (key is not None and getattr(reply, "key", None) != key):
        raise UnexpectedReply(f"the worker sent an unexpected reply: {reply}")
    return reply
