"""The parent's side of measuring: one worker at a time, replaced whenever a kernel spoils it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ckprof.errors import ToolchainError
from ckprof.model.outcome import Outcome, Status
from ckprof.model.requirement import UnmetRequirement
from ckprof.run import messages
from ckprof.run.events import KernelStarted, KernelTimed, WorkerLost, WorkerReady, ignore_event
from ckprof.run.options import CacheMode
from ckprof.run.process import WorkerFailure, WorkerProcess, WorkerTimeout

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from ckprof.run.events import RunEvent
    from ckprof.run.options import RunOptions

#: seconds that a worker gets to start, load the library and select the device
_START_LIMIT_S = 120.0
#: workers in a row that may fail to start, after one has started, before the run is given up
_START_ATTEMPTS = 3
#: seconds that verification and copying get: a fixed part and one per million elements
_OWN_WORK_LIMIT_S = 60.0
_OWN_WORK_S_PER_ELEMENT = 1e-6
#: the flush must not fit into the last-level cache together with what it evicts
_FLUSH_FACTOR = 2

#: what a stage of a measurement is called in a reason
_STAGES = {
    "support": "in the support test",
    "run": "in the first run",
    "verify": "while its result was verified",
    "time": "while it was timed",
}


class Executor:
    """Measures kernels of one library in worker processes.

    A context manager: leaving it ends the worker, on Ctrl-C as well. The library is never loaded into this
    process.

    :param library: the kernel library.
    :param arch: architecture to select.
    :param options: how to run, verify and time.
    :param work_dir: working directory of the workers; must exist.
    :param on_event: told what happens.
    """

    def __init__(
        self,
        library: Path,
        *,
        arch: str,
        options: RunOptions,
        work_dir: Path,
        on_event: Callable[[RunEvent], None] = ignore_event,
    ) -> None:
        self._library = library
        self._arch = arch
        self._options = options
        self._work_dir = work_dir
        self._on_event = on_event
        self._timing = timing_settings(options)
        self._worker: WorkerProcess | None = None
        self._problem: messages.LoadProblem | None = None
        self._loaded = False
        #: why no kernel can be measured on the current problem
        self._blocking_failure: messages.Measured | None = None

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._worker is None:
            return
        if kind is None:
            self._worker.quit()
        else:
            self._worker.kill()
        self._worker = None

    def open(self) -> messages.Opened:
        """Start the first worker.

        :returns: target, device and the keys of all kernels.
        :raises ToolchainError: the library cannot be loaded or its target rejects the device.
        """
        try:
            opened = self._start()
        except WorkerFailure as failure:
            raise ToolchainError(f"kernel library {self._library} cannot be used: {failure}") from failure
        self._on_event(WorkerReady(target=opened.target, device=opened.device, kernels=len(opened.keys)))
        return opened

    def set_problem(self, problem: messages.LoadProblem) -> None:
        """Make this the problem of all following measurements. Every worker loads it when it needs it."""
        self._problem = problem
        self._loaded = False
        self._blocking_failure = None

    def measure(self, key: str, problem_index: int, split_k: int = 1) -> Outcome:
        """Measure one kernel on the current problem.

        :param key: content key of the instance.
        :param split_k: splits of the reduction; less than 1 lets the kernel choose.
        :raises ToolchainError: workers do not start any more.
        """
        self._on_event(KernelStarted(key=key, problem_index=problem_index))
        blocking_failure = self._prepare_worker()
        if blocking_failure is not None:
            return self._outcome(key, problem_index, split_k, blocking_failure)
        measured = self._request_measurement(key, split_k)
        if measured.tainted:
            self._discard(f"kernel {key} {measured.reason}")
        if measured.measurement is not None:
            self._on_event(
                KernelTimed(
                    key=key,
                    problem_index=problem_index,
                    timing_s=measured.timing_s,
                    flush_s=measured.flush_s,
                )
            )
        return self._outcome(key, problem_index, split_k, measured)

    def _outcome(self, key: str, problem_index: int, split_k: int, measured: messages.Measured) -> Outcome:
        return Outcome(
            key=key,
            problem_index=problem_index,
            status=measured.status,
            reason=measured.reason,
            unmet_requirements=measured.unmet_requirements,
            split_k=split_k if measured.split_k is None else measured.split_k,
            split_k_deduced=split_k < 1,
            measurement=measured.measurement,
            verification=measured.verification,
        )

    def _prepare_worker(self) -> messages.Measured | None:
        """Have a worker with the problem loaded, or say what to report instead."""
        if self._blocking_failure is not None:
            return self._blocking_failure
        if self._worker is None:
            self._restart()
        if self._loaded:
            return None
        if self._problem is None:
            raise ValueError("no problem is set")
        try:
            reply = self._ask(self._problem, self._own_work_limit_s())
        except WorkerFailure as failure:
            self._discard(str(failure))
            reason = f"the problem could not be loaded: {failure}"
            self._blocking_failure = messages.Measured(status=Status.RUN_ERROR, reason=reason)
            return self._blocking_failure
        if isinstance(reply, messages.ProblemRejected):
            reason = f"not enough memory: {reply.reason}"
            self._blocking_failure = messages.Measured(
                status=Status.UNSUPPORTED,
                reason=reason,
                unmet_requirements=(UnmetRequirement(rule="memory", message=reason),),
            )
            return self._blocking_failure
        self._loaded = True
        return None

    def _request_measurement(self, key: str, split_k: int) -> messages.Measured:
        """Have the kernel measured; a worker that does not survive it makes the outcome."""
        stage = "support"
        planned_splits: int | None = None
        remaining_s = self._options.timeout_s
        worker = self._current()
        try:
            worker.send(messages.Measure(key=key, split_k=split_k, timing=self._timing))
            while True:
                start = time.monotonic()
                # Verification is our own work: the kernel does not pay for it.
                own = stage == "verify"
                reply = worker.receive(self._own_work_limit_s() if own else remaining_s)
                if not own:
                    remaining_s = max(0.0, remaining_s - (time.monotonic() - start))
                if isinstance(reply, messages.Measured):
                    return reply
                if not isinstance(reply, messages.Progress):
                    raise WorkerFailure(f"the worker sent an unexpected reply: {reply}")
                stage = reply.stage
                planned_splits = reply.split_k
        except WorkerTimeout:
            status = Status.RUN_TIMEOUT
            reason = f"not done within {self._options.timeout_s:g} s, killed {_STAGES.get(stage, stage)}"
        except WorkerFailure as failure:
            status = Status.RUN_ERROR
            reason = f"{_STAGES.get(stage, stage)}: {failure}"
        self._discard(f"kernel {key}: {reason}")
        return messages.Measured(status=status, reason=reason, split_k=planned_splits)

    def _restart(self) -> None:
        for attempt in range(_START_ATTEMPTS):
            try:
                self._start()
            except WorkerFailure as failure:
                if attempt == _START_ATTEMPTS - 1:
                    message = f"kernel library {self._library} cannot be used any more: {failure}"
                    raise ToolchainError(message) from failure
            else:
                return

    def _start(self) -> messages.Opened:
        self._worker = WorkerProcess(self._work_dir)
        self._loaded = False
        request = messages.Open(
            library=str(self._library.resolve()),
            arch=self._arch,
            device=self._options.device,
            cpu_threads=self._options.cpu_threads,
        )
        try:
            reply = self._ask(request, _START_LIMIT_S)
            if isinstance(reply, messages.Opened):
                return reply
            if isinstance(reply, messages.OpenFailed):
                raise WorkerFailure(reply.reason)
            raise WorkerFailure(f"the worker sent an unexpected reply: {reply}")
        except WorkerFailure:
            self._drop()
            raise

    def _ask(self, request: messages.Message, limit_s: float) -> messages.Reply:
        worker = self._current()
        worker.send(request)
        return worker.receive(limit_s)

    def _current(self) -> WorkerProcess:
        if self._worker is None:
            raise ValueError("no worker is running")
        return self._worker

    def _discard(self, reason: str) -> None:
        self._drop()
        self._on_event(WorkerLost(reason=reason))

    def _drop(self) -> None:
        if self._worker is not None:
            self._worker.kill()
            self._worker = None
        self._loaded = False

    def _own_work_limit_s(self) -> float:
        if self._problem is None:
            return _OWN_WORK_LIMIT_S
        problem = self._problem.problem
        elements = problem.input_elements + problem.weight_elements + problem.output_elements
        return _OWN_WORK_LIMIT_S + elements * _OWN_WORK_S_PER_ELEMENT


def timing_settings(options: RunOptions) -> messages.TimingSettings:
    """Return what the worker needs to know about sampling."""
    flush_bytes = 0
    if options.cache is CacheMode.COLD:
        if options.flush_bytes is None:
            from ckprof.run.host import last_level_cache_bytes

            flush_bytes = _FLUSH_FACTOR * (options.last_level_cache_bytes or last_level_cache_bytes())
        else:
            flush_bytes = options.flush_bytes
    return messages.TimingSettings(
        warmup=options.warmup,
        min_samples=options.min_samples,
        min_time_s=options.min_time_s,
        max_time_s=options.max_time_s,
        timeout_s=options.timeout_s,
        criterion=options.criterion,
        criterion_parameters=dict(options.criterion_parameters),
        flush_bytes=flush_bytes,
        keep_samples=options.keep_samples,
    )
