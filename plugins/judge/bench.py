"""Launches of a candidate: one worker process, which serves the candidate's own, and one verdict per launch.

Operands and reference are made in this process, and results are compared in it. Every launch on a problem is
a trial with operands of its own.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from ckprof.errors import InputError
from ckprof.measure.kernel_measurement import KernelMeasurement, KernelRequest
from ckprof.measure.options import RunOptions, timing_settings
from ckprof.measure.verify.storage import decode, storage_type
from ckprof.measure.worker.guards import read_tensor
from ckprof.measure.worker.messages import BaselineSource, DeviceChoice, Fault
from ckprof.measure.worker.process import WorkerFailure, WorkerTimeout
from ckprof.measure.worker.remote import CallFailed
from ckprof.measure.workers import ReplacedWorker, WorkerState
from ckprof.model.outcome import Outcome, Status
from ckprof.model.requirement import NOT_ASKED, UnmetRequirement
from ckprof.session import ignore
from ckprof_plugins.judge.operands import Operands, Place, Task, exchanges, prepared
from ckprof_plugins.judge.python_candidate import OURS
from ckprof_plugins.judge.told import CANDIDATE_FILE, SEEN_FILE, VARIABLE, WORK_FILE, Seen, Work

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ckprof.measure.prepare import PreparedProblem
    from ckprof.measure.worker.sampling import TimingSettings
    from ckprof_plugins.judge.candidate import Candidate

#: what makes the engine
ENTRY: Final = "ckprof_plugins.judge.engine:make_engine"
#: of the candidate among the keys of kernels
KEY: Final = "candidate"
#: how the reason of a failure begins that is none, see ``ckprof_judged_source.hpp``
_REJECTED: Final = "rejected by the candidate: "
#: seconds for copies and comparisons of one launch
_OWN_S: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedBaseline:
    """A library of others that runs as a candidate does: in a process of its own, in the same memory."""

    baseline: BaselineSource
    #: index of an NVIDIA GPU; ``None`` for the CPU
    gpu: int | None = None
    cpu_threads: int = 0

    def config(self) -> dict[str, Any]:
        """Return what its process is told."""
        told: dict[str, Any] = {"file": "", "shown": [], "gpu": self.gpu, "cpu_threads": self.cpu_threads}
        return {**told, "entry": self.baseline.entry}


class Bench:
    """Runs one candidate, or a baseline, in one worker process after the other.

    A context manager: leaving it ends the worker.

    :param source: the candidate, or what makes the engine of a baseline.
    :param task: what it is judged by.
    :param folder: where files for workers lie; must exist.
    :param options: how it is run and timed.
    :param variables: further environment variables of the candidate.
    :param load_s: seconds that it may take to be loaded.
    """

    def __init__(
        self,
        source: Candidate | BaselineSource | PairedBaseline,
        task: Task,
        folder: Path,
        options: RunOptions,
        variables: Mapping[str, str] | None = None,
        load_s: float | None = None,
    ) -> None:
        self._folder = Path(mkdtemp(prefix="bench-", dir=folder))
        self._options, self._task = options, task
        self.key, environment = KEY, {VARIABLE: str(self._folder)}
        engine: BaselineSource | Path = BaselineSource(id=KEY, entry=ENTRY, on_host=True)
        self._path: Path | None = None
        #: whether launches are those of a process of their own, each of which is timed
        self.is_served = True
        arch = ""
        if isinstance(source, BaselineSource):
            self.is_served, self.key, engine, environment = False, source.id, source, {}
        elif isinstance(source, PairedBaseline):
            self.key = source.baseline.id
            engine = BaselineSource(id=self.key, entry=ENTRY, on_host=True)
            self._write(source.config(), "baseline", source.baseline.id, variables, load_s, [])
        elif source.on_device:
            # memory of a device is that of the process which launches
            self.is_served, self.key, engine, arch = False, source.key, source.loaded, source.arch
            environment = {**source.variables}
        else:
            self._path = source.path
            config = {
                "file": str(source.loaded),
                "function": source.function,
                "arch": source.arch,
                "host": source.host,
                "key": source.key,
                "shown": [str(source.path.resolve().parent), sys.prefix, sys.base_prefix],
                "gpu": source.gpu,
            }
            hidden = [*_reference_folders(), *([str(task.folder)] if task.folder else [])]
            given = {**source.variables, **(variables or {})}
            self._write(config, source.kind, source.title, given, load_s, hidden)
        device = DeviceChoice(arch=arch, index=options.device_index, cpu_threads=options.cpu_threads)
        self._worker = ReplacedWorker(engine, device, self._folder, ignore, environment, ())
        self._held: PreparedProblem | None = None
        #: launches in the running process
        self.launches = 0

    def _write(
        self,
        config: Mapping[str, Any],
        kind: str,
        title: str,
        variables: Mapping[str, str] | None,
        load_s: float | None,
        hidden: Sequence[str],
    ) -> None:
        """Write what the engine reads."""
        told = {
            "names": self._task.names,
            "operation": self._task.operation.id,
            "kind": kind,
            "title": title,
            "variables": {**(variables or {})},
            "load_s": load_s,
            "hidden": hidden,
            **config,
        }
        (self._folder / CANDIDATE_FILE).write_bytes(msgspec.json.encode(told))

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *error: object) -> None:
        self._worker.leave(at_once=True)

    def open(self) -> str:
        """Start a worker; return what it says of its device.

        :raises InputError: the candidate cannot be loaded.
        :raises WorkerFailure: the worker does not come up.
        """
        try:
            return self._worker.start().device
        except CallFailed as failure:
            if failure.fault is Fault.LIBRARY:
                raise InputError(f"cannot be loaded: {failure}", self._path) from failure
            raise

    def new_process(self) -> None:
        """Have what follows run in a new process."""
        self._worker.leave(at_once=True)
        self._held, self.launches = None, 0

    @property
    def seen(self) -> Seen:
        """What the engine tells of the candidate."""
        if not self.is_served:
            return Seen(isolation="the worker's process", splits=True)
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.json.decode((self._folder / SEEN_FILE).read_bytes(), type=Seen)
        return Seen()

    def result(self, given: PreparedProblem) -> NDArray[np.float64] | None:
        """Return the last launch's result as it lies in memory; ``None`` if the worker is lost.

        :param given: what it was launched on. Bytes that were not written are NaN in floating-point types.
        """
        if self._worker.process is None:
            return None
        dtype = given.types.result
        read = partial(self._worker.remote.copy_out, _OWN_S)
        try:
            chunks = [
                decode(raw.view(storage_type(dtype)), dtype, ocp=given.types.ocp)
                for raw in read_tensor(read, given.tensors[-1])
            ]
        except WorkerFailure:
            self.new_process()
            return None
        return np.concatenate(chunks)

    def trial(
        self,
        given: PreparedProblem,
        split_k: int = 1,
        timing: TimingSettings | None = None,
        *,
        flush_bytes: int = 0,
    ) -> Outcome:
        """Run it once on operands, or have it timed, and verify.

        A worker that does not survive it makes the outcome; what follows has a new one.

        :param timing: how it is sampled; ``None``: it is launched once.
        :param flush_bytes: that are touched before, if its memory is shared with the worker.
        """
        request = KernelRequest(
            key=self.key,
            split_k=split_k,
            split_sum=self._task.split_sum,
            timing=timing or timing_settings(self._options),
            own_limit_s=_OWN_S,
            # every launch is looked at, as far as there is time
            suspected=True,
        )
        work = Work(
            ndim=given.problem.ndim,
            values=given.problem.values(),
            split_k=split_k,
            signs=given.request.signs,
            exchanges=() if given.request.signs else exchanges(self._task, given.problem),
            flush_bytes=flush_bytes,
        )
        (self._folder / WORK_FILE).write_bytes(msgspec.json.encode(work))
        measurement = None
        try:
            if self._worker.process is None:
                self.new_process()
                self.open()
            library = self._worker.remote
            if self._held is not given:
                self._held = None
                made = library.load(_OWN_S, given.request)
                if isinstance(made, UnmetRequirement):
                    return request.not_met(made, NOT_ASKED)
                self._held = given
            self._worker.state = WorkerState.USED
            measurement = KernelMeasurement(library, given, request)
            outcome = measurement.measure()
        except WorkerFailure as failure:
            stage = measurement.stage if measurement is not None else "before the first run"
            self.new_process()
            status = Status.RUN_TIMEOUT if isinstance(failure, WorkerTimeout) else Status.RUN_ERROR
            return request.outcome(status, f"{stage}: {failure}")
        if measurement.tainted:
            self.new_process()
        else:
            self.launches += 1
        if outcome.status is Status.RUN_ERROR and outcome.reason.startswith(_REJECTED):
            return replace(outcome, status=Status.UNSUPPORTED, reason=outcome.reason.removeprefix(_REJECTED))
        return outcome


def _reference_folders() -> list[str]:
    """Return where the packages are that hold references, and the rest of the tree that they come from."""
    packages = [
        Path(folder).resolve() for one in OURS if one in sys.modules for folder in sys.modules[one].__path__
    ]
    trees = [path.parent for path in packages if (path.parent / "pyproject.toml").is_file()]
    return [str(path) for path in dict.fromkeys((*packages, *trees))]


def outcome_of(
    bench: Bench, task: Task, place: Place, operands: Operands, options: RunOptions, **how: Any
) -> Outcome:
    """Run a candidate once on operands that are made for it.

    :raises NoRoomError: they do not fit.
    """
    with prepared(task, place, operands, options) as given:
        return bench.trial(given, place.split_k, **how)
