"""A worker with one library: :class:`~ckprof.measure.worker.messages.WorkerMethods` for its parent."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import msgspec

from ckprof.measure.worker.messages import (
    BaselineSource,
    DeviceChoice,
    Fault,
    ProblemValues,
    WorkerMethods,
    decode_answer,
    encode_call,
)
from ckprof.measure.worker.process import UnexpectedReply, WorkerFailure, excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.measure.worker.messages import Opened, Support, SupportQuery
    from ckprof.measure.worker.process import WorkerProcess

_P = ParamSpec("_P")
_R = TypeVar("_R")

#: seconds that a worker gets to start, load the library and select the device
START_LIMIT_S = 120.0


class CallFailed(WorkerFailure):
    """The worker could not do what it was called for."""

    def __init__(self, reason: str, fault: Fault) -> None:
        super().__init__(reason)
        self.fault = fault
        self.of_device = fault is Fault.DEVICE


def _remote(
    method: Callable[Concatenate[WorkerMethods, _P], _R],
) -> Callable[Concatenate[RemoteLibrary, float, _P], _R]:
    """Return what calls a method of the worker, with the seconds that it may take as its first argument."""

    @wraps(method)
    def call(library: RemoteLibrary, limit_s: float, /, *args: _P.args, **keywords: _P.kwargs) -> _R:
        result: _R = library.call(method.__name__, limit_s, args, keywords)
        return result

    return call


class RemoteLibrary:
    """A library in a worker process.

    All methods raise :class:`~ckprof.measure.worker.process.WorkerFailure` when the worker is lost, and
    :class:`CallFailed` when it cannot do what is asked.

    :param line: to the worker.
    """

    def __init__(self, line: WorkerProcess) -> None:
        self._line = line
        self.check_silence = line.check_silence

    @property
    def waited_s(self) -> float:
        """Seconds in which answers were waited for, without those in which the worker was stopped."""
        return self._line.waited_s

    def call(
        self, method: str, limit_s: float, args: Sequence[object], keywords: Mapping[str, object]
    ) -> Any:
        """Have the worker do what a method says, and return its result."""
        line = self._line.ask(encode_call(method, args, keywords), limit_s)
        try:
            answer = decode_answer(method, line)
        except msgspec.DecodeError as exc:
            raise UnexpectedReply(f"the worker sent {excerpt(line)}, which is not a message ({exc})") from exc
        if answer.fault is not None:
            raise CallFailed(answer.reason, answer.fault)
        return answer.result

    describe = _remote(WorkerMethods.describe)
    load = _remote(WorkerMethods.load)
    set_operands = _remote(WorkerMethods.set_operands)
    run = _remote(WorkerMethods.run)
    sample = _remote(WorkerMethods.sample)
    sample_again = _remote(WorkerMethods.sample_again)
    check = _remote(WorkerMethods.check)
    instance_string = _remote(WorkerMethods.instance_string)
    measure_peak = _remote(WorkerMethods.measure_peak)
    measure_canaries = _remote(WorkerMethods.measure_canaries)
    _open = _remote(WorkerMethods.open)
    _open_baseline = _remote(WorkerMethods.open_baseline)
    _support = _remote(WorkerMethods.support)
    _copy_out = _remote(WorkerMethods.copy_out)

    def open(self, library: Path | BaselineSource, device: DeviceChoice | None) -> Opened:
        """Load a library, and select a device unless it is ``None``; or make the engine of a baseline."""
        if isinstance(library, BaselineSource):
            return self._open_baseline(START_LIMIT_S, library, device or DeviceChoice())
        return self._open(START_LIMIT_S, str(library.resolve()), device)

    def support(self, limit_s: float, key: str, queries: Sequence[SupportQuery]) -> tuple[Support, ...]:
        """Return a kernel's verdicts on problems."""
        wanted = tuple((ProblemValues.of(query.problem), query.split_k) for query in queries)
        answers = self._support(limit_s, key, wanted)
        if len(answers) != len(wanted):
            raise UnexpectedReply(f"the worker sent {len(answers)} answers to {len(wanted)} queries")
        return answers

    def copy_out(
        self, limit_s: float, tensor: str, start: int, size: int, kept: int = -1
    ) -> NDArray[np.uint8]:
        """Return bytes of a tensor, or of a result that sampling has kept, valid until the next call."""
        self._copy_out(limit_s, tensor, start, size, kept)
        return self._line.shared[:size]
