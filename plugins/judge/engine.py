"""The candidate as a worker sees it: an engine whose computations are those of another process.

The worker has the clock, fills and poisons memory, and never runs a line of the candidate. Between launches
every process of the candidate is stopped by a signal. Its operands are copied into memory that it maps while
it is stopped, and wiped before it is asked for anything else: nothing can be computed of them in time that
is not measured. In each launch random slices of an operand are negated along an axis that the result has too,
or exchanged where signs do not do that.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import statistics
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import psutil

from ckprof.measure.verify.storage import storage_type
from ckprof.measure.worker.audit import word_type
from ckprof.measure.worker.baseline_session import BaselineRejection, BaselineUnusable
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.messages import AbiStatus
from ckprof.model.requirement import UnmetRequirement
from ckprof_plugins.judge.changes import Changes, chance
from ckprof_plugins.judge.gpu_stage import GpuStage, gpu_of
from ckprof_plugins.judge.stage import Stage
from ckprof_plugins.judge.stopped_process import Failed, StoppedProcess
from ckprof_plugins.judge.told import (
    CANDIDATE_FILE,
    SEEN_FILE,
    VARIABLE,
    WORK_FILE,
    Seen,
    Work,
    described,
    stored_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from ckprof.measure.worker.messages import DeviceChoice
    from ckprof.model.computation import Computation


#: latest launches of nothing, the shortest of which is taken off the time of a launch, and seconds that are
#: left at least
_EMPTY_LAUNCHES: Final = 15
_LEAST_S: Final = 1e-7
#: how threads of OpenMP wait, if the user does not say: all of those that spin go on at once with their
#: process, and each holds up one that has work
_WAITING: Final = "OMP_WAIT_POLICY"
#: seconds that the candidate may run before a launch that is timed, while it has no operands
_REST_S: Final = 5e-3
#: of launches that get the memory of the launch before
_SAME_MEMORY: Final = 0.8
#: launches after which late writes are looked for: the first one, and this share of the others
_LATE_SHARE: Final = 0.1
_LEAST_WAIT_S, _MOST_WAIT_S = 2e-3, 5e-3
#: seconds that the clocks of two processes may differ by, and the time of day
_CLOCK_S: Final = 1e-3
_DAY_S: Final = 0.5


class Dishonest(Exception):
    """The candidate did what only a candidate does that wants to seem better; the message is the evidence."""


def make_engine(device: DeviceChoice, on_host: bool) -> CandidateEngine:
    """Return the engine of the candidate that a file of :data:`VARIABLE`'s folder describes.

    :raises BaselineUnusable: the candidate cannot be loaded.
    """
    return CandidateEngine(Path(os.environ[VARIABLE]), device.cpu_threads)


class CandidateEngine:
    """A :class:`~ckprof.measure.worker.baseline_session.BaselineEngine`.

    :param folder: with :data:`CANDIDATE_FILE`.
    :param cpu_threads: that the candidate is asked to use; 0 leaves it alone.
    :raises BaselineUnusable: the candidate cannot be loaded.
    """

    def __init__(self, folder: Path, cpu_threads: int) -> None:
        self._folder, self._seen = folder, Seen()
        self._config = json.loads((folder / CANDIDATE_FILE).read_text("utf-8"))
        self._blocks: dict[int, mmap.mmap] = {}
        self._flush: NDArray[np.uint8] | None = None
        self._work: Work | None = None
        #: what the candidate maps, by name, and what it was told of it
        self._stages: dict[str, Stage | GpuStage] = {}
        self._told: dict[str, Any] = {}
        #: nothing has been launched yet
        self._is_new = True
        self._gpu = gpu_of(self._config)
        self._is_baseline, self._roundings = self._config["kind"] == "baseline", 0
        #: seconds that copies of operands and result within the GPU took on the present problem
        self._published: deque[float] = deque(maxlen=_EMPTY_LAUNCHES)
        self._taken: deque[float] = deque(maxlen=_EMPTY_LAUNCHES)
        waits = {_WAITING: os.environ.get(_WAITING, "passive")}
        variables: dict[str, str] = {**waits, **self._config.pop("variables"), VARIABLE: ""}
        if cpu_threads:
            names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
            variables |= dict.fromkeys(names, str(cpu_threads))
        self._own = StoppedProcess(self._config, folder, variables)
        #: loads no candidate: what it takes is what a launch takes besides the candidate's own work
        self._empty = StoppedProcess(self._config, folder, {})
        try:
            said = self._own.asked(b"l", within_s=self._config.get("load_s"))
        except TimeoutError:
            limit_s = self._config["load_s"]
            raise BaselineUnusable(f"it took longer than {limit_s:.0f} s, see --budget") from None
        except Failed as failed:
            raise BaselineUnusable(str(failed)) from None
        if "error" in said:
            raise BaselineUnusable(str(said["error"]))
        self._said = str(said.get("description", ""))
        self._seen.isolation = str(said.get("isolation", ""))
        self._seen.splits = bool(said.get("splits"))
        self._seen.arrays = str(said.get("arrays", ""))
        self._hand_overs = deque(
            (self._empty.launch_of_nothing() for _ in range(_EMPTY_LAUNCHES)), _EMPTY_LAUNCHES
        )
        with suppress(Dishonest):  # the judge reads it
            self._look_for_evidence()
        self._emit()

    # --- memory -------------------------------------------------------------------------------------------

    @property
    def description(self) -> str:
        """The candidate, and what it runs on."""
        if self._is_baseline:
            return self._said
        device = f"{os.cpu_count()} CPUs" if self._gpu is None else self._gpu.name
        return f"candidate {self._config['title']} on {device}"

    def allocate(self, size_bytes: int) -> int:
        """Return the address of new memory of this process, which the candidate does not see."""
        try:
            block = mmap.mmap(-1, max(1, size_bytes))
        except OSError as exc:
            raise MemoryError(f"{size_bytes} bytes: {exc.strerror}") from exc
        address = ctypes.addressof(ctypes.c_char.from_buffer(block))
        self._blocks[address] = block
        return address

    def release(self, address: int) -> None:
        """Give a piece of memory back."""
        with suppress(BufferError):  # a view is left: the memory goes with it
            self._blocks.pop(address).close()

    def copy_to_device(self, device: int, host: int, size_bytes: int) -> None:
        """Copy to memory of this process."""
        ctypes.memmove(device, host, size_bytes)

    def copy_to_host(self, host: int, device: int, size_bytes: int) -> None:
        """Copy from memory of this process."""
        ctypes.memmove(host, device, size_bytes)

    def flush_cache(self, size_bytes: int) -> None:
        """Evict the caches of the CPU by writing that many bytes."""
        if self._flush is None or self._flush.size != size_bytes:
            self._flush = np.zeros(size_bytes, np.uint8) if size_bytes else None
        if self._flush is not None:
            self._flush += 1

    def available_bytes(self) -> int | None:
        """Return the free memory of the host."""
        return int(psutil.virtual_memory().available)

    # --- what it computes ---------------------------------------------------------------------------------

    @property
    def operations(self) -> tuple[str, ...]:
        """Id of the operation that it is judged by."""
        return (str(self._config["operation"]),)

    def unmet_requirements(self, work: Computation) -> list[UnmetRequirement]:
        """Take note of the problem; a candidate says what it does not support when it runs."""
        self._work = msgspec.json.decode((self._folder / WORK_FILE).read_bytes(), type=Work)
        if not self._is_baseline:
            return []
        said = self._own.asked(b"s" + msgspec.json.encode(work))
        self._roundings = int(said["roundings"])
        return [UnmetRequirement(rule=one["rule"], message=one["message"]) for one in said["unmet"]]

    def roundings(self, work: Computation) -> int:
        """Return how often a baseline rounds a sum; 0: as often as the operation says."""
        return self._roundings

    def run(self, work: Computation, addresses: Mapping[str, int]) -> float:
        """Launch it once, with operands that no launch before had.

        :raises BaselineRejection: it does not support the problem.
        :raises Failed: it failed, or its process has ended.
        :raises Dishonest: it was caught.
        """
        told = self._work
        if told is None:
            raise ValueError("no problem is known")
        self._load(work, told, addresses)
        *operands, result = (tensor.name for tensor in work.tensors)
        if told.flush_bytes and self._gpu is None:
            self._own.rest(_REST_S)
        # before operands are there: it does not take their time
        self._hand_overs.append(self._empty.launch_of_nothing())
        words = {
            tensor.name: self._stages[tensor.name].tensor.view(word_type(storage_type(tensor.dtype).itemsize))
            for tensor in work.tensors
        }
        changes = Changes(told, words)
        self._stages[result].tensor[...] = POISON_BYTE
        for name in operands:
            self._stages[name].fill(addresses[name])
        changes.change(words)
        for stage in self._stages.values():
            stage.upload()
        if told.flush_bytes and self._gpu is None:
            self.flush_cache(told.flush_bytes)
        changed = ""
        try:
            taken_s, said, looks = self._launched(self._stages[result])
            changed = next((name for name in operands if self._stages[name].is_changed()), "")
        finally:
            for name in operands:
                self._stages[name].wipe()
            self._stages[result].fetch()
            changes.undo_in(words[result])
            self._stages[result].copy_with_rest(addresses[result])
        if changed:
            raise Failed(f"it wrote its operand {changed}")
        self._seen.taken_ms = 1e3 * max(taken_s - min(self._hand_overs), _LEAST_S)
        if looks:
            # it runs for that, and operands are gone
            self._look_for_evidence()
        self._emit()
        status, reason = said.get("status"), str(said.get("reason", ""))
        if status == AbiStatus.REJECTED:
            raise BaselineRejection(reason or "it gave no reason")
        if status != AbiStatus.OK:
            raise Failed(reason or "it failed without a reason")
        return self._seen.taken_ms

    def _load(self, work: Computation, told: Work, addresses: Mapping[str, int]) -> None:
        """Have the candidate map the tensors of a problem, which it may have mapped before."""
        body: dict[str, Any] = {
            "ndim": told.ndim,
            "values": told.values,
            "split_k": told.split_k,
            "problem": work.problem,
            "tensors": [described(tensor, work.ocp) for tensor in work.tensors],
        }
        if self._is_baseline:
            body["computation"] = msgspec.to_builtins(work)
        if body == self._told and chance.random() < _SAME_MEMORY:
            return
        for stage in self._stages.values():
            stage.close()
        self._stages, self._told = {}, {}
        self._published.clear()
        self._taken.clear()
        at_end = chance.random() < 0.5
        for tensor in work.tensors:
            is_result = tensor is work.tensors[-1]
            size = stored_bytes(tensor)
            if self._gpu is None:
                self._stages[tensor.name] = Stage(size, writable=is_result, at_end=at_end)
            else:
                self._stages[tensor.name] = GpuStage(self._gpu, size, writable=is_result, at_end=at_end)
        positions = {name: number for number, name in enumerate(addresses)}
        places = [
            {
                "position": positions[name],
                "offset": stage.offset,
                "writable": stage.writable,
                "bytes": stage.size_bytes,
            }
            for name, stage in self._stages.items()
        ]
        said = self._own.asked(
            b"t" + json.dumps({**body, "places": places}).encode(),
            [stage.descriptor for stage in self._stages.values()],
        )
        if "error" in said:
            raise Failed(str(said["error"]))
        self._told = body

    # --- launches -----------------------------------------------------------------------------------------

    def _launched(self, result: Stage | GpuStage) -> tuple[float, dict[str, Any], bool]:
        """Have it launched once.

        :returns: seconds by this process's clock, until the candidate is stopped again; what it answers;
            whether it was looked at more closely.
        """
        first, self._is_new = self._is_new, False
        looks = first or chance.random() < _LATE_SHARE
        day, start = time.time(), time.perf_counter()
        # what a stopped candidate has left on a GPU may see operands from here on: the clock runs
        start += self._seconds_of(self._published, *(stage.publish for stage in self._stages.values()))
        self._own.send(b"g")
        self._own.resume()
        said = self._own.reply()
        done = time.perf_counter()
        taken_s = self._seconds_of(self._taken, result.take)
        if looks:
            self._wait_for_late_writes(result, done - start)
        self._own.stop()
        over = done if looks else time.perf_counter() - taken_s
        if self._own.stop_helpers():
            # what it has started was at work until now
            over = time.perf_counter() - taken_s
        self._check_clocks(said, (start, done), day)
        return over - start, said, looks

    def _seconds_of(self, durations: deque[float], *copies: Callable[[], None]) -> float:
        """Copy within the GPU; return what that takes at least, of late.

        :param durations: of the same copies before; this one is added.
        """
        if self._gpu is None:
            return 0.0
        begun = time.perf_counter()
        for copy in copies:
            copy()
        self._gpu.synchronize()
        durations.append(time.perf_counter() - begun)
        return min(durations)

    def _wait_for_late_writes(self, result: Stage | GpuStage, taken_s: float) -> None:
        """Let a candidate that says that it is done go on for a while, and look whether it does.

        :raises Dishonest: its result has changed.
        """
        result.fetch()
        before = result.tensor.copy()
        time.sleep(min(max(taken_s, _LEAST_WAIT_S), _MOST_WAIT_S))
        result.take()
        result.fetch()
        late = int(np.count_nonzero(before != result.tensor))
        if late:
            self._caught(f"it wrote {late} bytes of its result after it had said that it was done")

    def _check_clocks(self, said: Mapping[str, Any], between: tuple[float, float], day: float) -> None:
        """Compare the clocks that its process has with this one's.

        :raises Dishonest: one of them is another.
        """
        clocks: Any = said.get("clocks")
        if not isinstance(clocks, list) or [type(one) for one in clocks] != 3 * [float]:
            self._caught("it answered in place of the program that calls it")
        start, done = between
        for name, value in zip(("perf_counter", "monotonic"), clocks, strict=False):
            if not start - _CLOCK_S <= value <= done + _CLOCK_S:
                ahead = 1e3 * (value - done)
                self._caught(f"the clock time.{name} of its process is {ahead:.3g} ms from the judge's")
        if abs(clocks[2] - day - (done - start)) > _DAY_S + (done - start):
            self._caught("the clock time.time of its process is not the judge's")

    def _look_for_evidence(self) -> None:
        said = self._own.asked(b"e")
        self._seen.files = tuple(map(str, said.get("files") or ()))
        if said.get("evidence"):
            self._caught(str(said["evidence"]))

    def _caught(self, evidence: str) -> None:
        self._own.stop()
        self._seen.evidence = self._seen.evidence or evidence
        self._emit()
        raise Dishonest(evidence)

    def _emit(self) -> None:
        least = min(self._hand_overs)
        self._seen.hand_over_ms = 1e3 * least
        self._seen.hand_over_spread_ms = 1e3 * (statistics.median(self._hand_overs) - least)
        path = self._folder / SEEN_FILE
        path.with_suffix(".new").write_bytes(msgspec.json.encode(self._seen))
        path.with_suffix(".new").replace(path)
