"""The engine that ships with ckprof: several devices of this machine, one process for each."""

from __future__ import annotations

import os
import queue
import subprocess
import tempfile
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

from ckprof.errors import ToolchainError
from ckprof.python_child import python_command, start_failure
from ckprof.sanitize import one_line
from ckprof_plugins.cluster.child import FAILURE, read_frame, write_frame
from ckprof_plugins.cluster.engines import Pool, Slot, WorkerLost

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import IO, BinaryIO

    from ckprof_plugins.cluster.engines import EngineRequest

#: seconds that a worker gets to end by itself
_GRACE_S: Final = 5.0
#: bytes of what a lost worker has printed that are looked at
_TAIL_BYTES: Final = 2**14

_Order = tuple[bytes, "Future[bytes]"]


class LocalEngine:
    """Runs each payload in one of some processes, of which each has a device for itself."""

    id = "local"
    label = "several devices of this machine, a process for each"

    def pools(self, request: EngineRequest) -> Mapping[Pool, int]:
        """Return one worker per device; kernels are built by the process that calls."""
        return {Pool.BUILD: 0, Pool.RUN: len(_slots(request))}

    def open(self, request: EngineRequest) -> LocalSession:
        """Return the workers, which start with their first payload."""
        return LocalSession(request.handler, _slots(request))


def _slots(request: EngineRequest) -> list[Slot]:
    devices = request.devices or (0,)
    if not request.embedded:
        return [Slot(device=index, label=str(index)) for index in devices]
    # kernels compute on the host, which is one device: each worker gets its share of the CPUs
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    slots = []
    for position, index in enumerate(devices):
        count = cpus_per_worker(len(cpus), len(devices))
        share = [cpus[(position * count + index) % len(cpus)] for index in range(count)] if cpus else []
        slots.append(Slot(device=0, label=str(index), cpus=tuple(share)))
    return slots


def cpus_per_worker(cpus: int, workers: int) -> int:
    """Return how many CPUs each worker is bound to: as many as every other one, so that times compare."""
    return max(1, cpus // max(1, workers))


class LocalSession:
    """Workers on this machine. One that is lost is replaced with the next payload.

    :param handler: what workers run.
    :param slots: one per worker.
    :raises ToolchainError: the system has no thread for one of them.
    """

    outlives_coordinator = False
    shares_files = True

    def __init__(self, handler: str, slots: Sequence[Slot]) -> None:
        self._orders: queue.SimpleQueue[_Order | None] = queue.SimpleQueue()
        self._lanes = [_Lane(handler, slot, self._orders) for slot in slots]
        for number, lane in enumerate(self._lanes):
            try:
                lane.start()
            except RuntimeError as exc:
                for _ in range(number):
                    self._orders.put(None)
                self._lanes = self._lanes[:number]
                raise ToolchainError(
                    f"engine local: {exc}; end other processes, or raise 'ulimit -u'"
                ) from None

    def slots(self, pool: Pool) -> int:
        """Return how many workers there are."""
        return len(self._lanes) if pool is Pool.RUN else 0

    def submit(self, pool: Pool, payload: bytes) -> Future[bytes]:
        """Have the next worker that is free run a payload.

        :raises ValueError: there are no workers of that pool.
        """
        if pool is not Pool.RUN:
            raise ValueError(f"there is no pool for {pool.value}")
        future: Future[bytes] = Future()
        self._orders.put((payload, future))
        return future

    def close(self, *, now: bool) -> None:
        """End the workers; what waits is cancelled."""
        with suppress(queue.Empty):
            while True:
                order = self._orders.get_nowait()
                if order is not None:
                    order[1].cancel()
        for _ in self._lanes:
            self._orders.put(None)
        if now:
            for lane in self._lanes:
                lane.kill()
        for lane in self._lanes:
            # not for ever: one may wait for a device that hangs
            lane.join(3 * _GRACE_S if now else None)


class _Lane(threading.Thread):
    """A thread that serves one slot with one process after the other."""

    def __init__(self, handler: str, slot: Slot, orders: queue.SimpleQueue[_Order | None]) -> None:
        super().__init__(name=f"device {slot.label}", daemon=True)
        self._handler = handler
        self._slot = slot
        self._orders = orders
        self._process: subprocess.Popen[bytes] | None = None
        #: what the process prints
        self._errors: IO[bytes] | None = None

    def run(self) -> None:
        try:
            while (order := self._orders.get()) is not None:
                payload, future = order
                if not future.set_running_or_notify_cancel():
                    continue
                try:
                    answer = self._serve(payload)
                except Exception as exc:
                    # whatever it is: nobody else would ever answer
                    self._end()
                    said = f"the worker of device {self._slot.label}: {str(exc) or type(exc).__name__}"
                    future.set_exception(exc if isinstance(exc, WorkerLost) else WorkerLost(said))
                else:
                    future.set_result(answer)
        finally:
            self._end()

    def kill(self) -> None:
        """End the process at once."""
        process = self._process
        if process is not None:
            with suppress(OSError):
                process.kill()

    def _serve(self, payload: bytes) -> bytes:
        if self._process is None:
            self._process = self._start()
        process = self._process
        with suppress(BrokenPipeError):
            # how it ended shows below
            write_frame(cast("BinaryIO", process.stdin), payload)
        frame = read_frame(cast("BinaryIO", process.stdout))
        if frame is None:
            raise WorkerLost(f"the worker of device {self._slot.label} {self._how_it_ended(process)}")
        kind, answer = frame
        if kind == FAILURE:
            raise WorkerLost(answer.decode(errors="replace"))
        return answer

    def _how_it_ended(self, process: subprocess.Popen[bytes]) -> str:
        try:
            code = process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            how = "has closed its connection"
        else:
            how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        last = self._last_output()
        return f"{how}; last output: {last}" if last else how

    def _last_output(self) -> str:
        """Return the last line that the worker has printed; empty if there is none."""
        if self._errors is None:
            return ""
        try:
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - _TAIL_BYTES))
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return one_line(lines[-1].strip()) if lines else ""

    def _start(self) -> subprocess.Popen[bytes]:
        """Start a process.

        :raises WorkerLost: the system has none for it.
        """
        slot = self._slot
        cpus = [",".join(map(str, slot.cpus))] if slot.cpus else []
        try:
            # a file, not a pipe: nobody reads it unless the process is lost
            self._errors = tempfile.TemporaryFile()
            return subprocess.Popen(
                python_command(
                    "ckprof_plugins.cluster.child", self._handler, str(slot.device), slot.label, *cpus
                ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                # Ctrl-C is for the coordinator, which asks its workers to stop.
                start_new_session=True,
            )
        except OSError as exc:
            raise WorkerLost(f"device {slot.label}: {start_failure(exc)}") from exc

    def _end(self) -> None:
        process, self._process = self._process, None
        errors, self._errors = self._errors, None
        if errors is not None:
            errors.close()
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                cast("IO[bytes]", stream).close()
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            with suppress(subprocess.TimeoutExpired):
                # one that waits for a device that hangs cannot even be killed
                process.wait(_GRACE_S)
