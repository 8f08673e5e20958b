"""The candidate as a worker sees it: an engine whose computations are those of another process.

The worker has the clock, fills and poisons memory, and never runs a line of the candidate. Operands and
result are memory that both processes map. Between launches every process of the candidate is stopped by a
signal, so that nothing is computed, or written, in time that is not measured. In each launch random slices of
an operand are negated along an axis that the result has too, or exchanged where signs do not do that: no
launch has the operands of another one.
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
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
import psutil

from ckprof.measure.verify.storage import storage_type
from ckprof.measure.worker.audit import by_index, sign_bits, word_type
from ckprof.measure.worker.baseline_session import BaselineRejection, BaselineUnusable
from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.messages import AbiStatus
from ckprof.measure.worker.sampling import SignedAxis
from ckprof_plugins.judge.stopped_process import Failed, StoppedProcess

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ckprof.measure.worker.messages import DeviceChoice
    from ckprof.model.computation import Computation
    from ckprof.model.requirement import UnmetRequirement

#: what makes the engine
ENTRY: Final = f"{__name__}:make_engine"
#: names the folder in which parent and engine leave each other files
VARIABLE: Final = "CKPROF_JUDGE"
CANDIDATE_FILE, WORK_FILE, SEEN_FILE = "candidate.json", "work.json", "seen.json"

#: latest launches of nothing, the shortest of which is taken off the time of a launch, and seconds that are
#: left at least
_EMPTY_LAUNCHES: Final = 15
_LEAST_S: Final = 1e-7
#: elements of an operand that are negated for a launch, at most, unless one index has more
_NEGATED: Final = 1 << 18
#: launches after which late writes are looked for: the first one, and this share of the others
_LATE_SHARE: Final = 0.1
_LEAST_WAIT_S, _MOST_WAIT_S = 2e-3, 5e-3
#: seconds that the clocks of two processes may differ by, and the time of day
_CLOCK_S: Final = 1e-3
_DAY_S: Final = 0.5
chance = SystemRandom()


class Dishonest(Exception):
    """The candidate did what only a candidate does that wants to seem better; the message is the evidence."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What the engine is told of a problem besides its computation."""

    ndim: int
    #: sizes in the order in which kernels take them
    values: tuple[int, ...]
    split_k: int
    signs: tuple[SignedAxis, ...] = ()
    #: where indices of operands may be exchanged, and those of the result with them
    exchanges: tuple[SignedAxis, ...] = ()


class Seen(msgspec.Struct, kw_only=True):
    """What the engine tells of a candidate besides its results."""

    #: what keeps the process from others; empty for nothing
    isolation: str = ""
    #: whether the candidate takes a number of splits
    splits: bool = False
    #: files that it has imported from its folder
    files: tuple[str, ...] = ()
    #: milliseconds of the shortest launch of nothing lately, which is taken off every time, and what the
    #: median one takes longer: a time may be that much shorter
    hand_over_ms: float = 0.0
    hand_over_spread_ms: float = 0.0
    #: what it did to seem better
    evidence: str = ""


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
        self._blocks: dict[int, tuple[mmap.mmap, int]] = {}
        self._flush: NDArray[np.uint8] | None = None
        self._work: Work | None = None
        self._loaded: object = None
        self._views: dict[str, NDArray[Any]] = {}
        #: nothing has been launched yet
        self._is_new = True
        variables: dict[str, str] = {**self._config.pop("variables"), VARIABLE: ""}
        if cpu_threads:
            names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
            variables |= dict.fromkeys(names, str(cpu_threads))
        self._own = StoppedProcess(self._config, folder, variables)
        #: loads no candidate: what it takes is what a launch takes besides the candidate's own work
        self._empty = StoppedProcess(self._config, folder, {})
        said = self._own.asked(b"l")
        if "error" in said:
            raise BaselineUnusable(str(said["error"]))
        self._seen.isolation = str(said.get("isolation", ""))
        self._seen.splits = bool(said.get("splits"))
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
        return f"candidate {self._config['title']} on {os.cpu_count()} CPUs"

    def allocate(self, size_bytes: int) -> int:
        """Return the address of new memory, which the candidate can map."""
        size = max(1, size_bytes)
        descriptor = os.memfd_create("ckprof-candidate", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, size)
            block = mmap.mmap(descriptor, size)
        except OSError as exc:
            os.close(descriptor)
            raise MemoryError(f"{size_bytes} bytes cannot be shared: {exc.strerror}") from exc
        address = ctypes.addressof(ctypes.c_char.from_buffer(block))
        self._blocks[address] = block, descriptor
        return address

    def release(self, address: int) -> None:
        """Give a piece of memory back."""
        block, descriptor = self._blocks.pop(address)
        self._views, self._loaded = {}, None
        os.close(descriptor)
        with suppress(BufferError):  # a view is left: the memory goes with it
            block.close()

    def copy_to_device(self, device: int, host: int, size_bytes: int) -> None:
        """Copy to memory that the candidate sees."""
        ctypes.memmove(device, host, size_bytes)

    def copy_to_host(self, host: int, device: int, size_bytes: int) -> None:
        """Copy from memory that the candidate sees."""
        ctypes.memmove(host, device, size_bytes)

    def flush_cache(self, size_bytes: int) -> None:
        """Evict the caches by writing that many bytes."""
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
        """Take note of the problem; the candidate itself says what it does not support when it runs."""
        told = msgspec.json.decode((self._folder / WORK_FILE).read_bytes(), type=Work)
        if told != self._work:
            self._work, self._loaded = told, None
        return []

    def run(self, work: Computation, addresses: Mapping[str, int]) -> float:
        """Launch it once, with operands that no launch before had.

        :raises BaselineRejection: it does not support the problem.
        :raises Failed: it failed, or its process has ended.
        :raises Dishonest: it was caught.
        """
        told = self._work
        if told is None:
            raise ValueError("no problem is known")
        if self._loaded is not work:
            self._load(work, told, addresses)
        result = self._views[work.tensors[-1].name]
        result.view(np.uint8)[...] = POISON_BYTE
        negated = [(axis, self._drawn(axis)) for axis in told.signs]
        exchanged = [(axis, self._drawn(axis)) for axis in told.exchanges]
        for change, drawn in ((_negate, negated), (_exchange, exchanged)):
            for axis, indices in drawn:
                change(self._views[axis.operand], axis.length, axis.operand_step, indices)
        try:
            taken_s = self._launched(result)
        finally:
            # each of them undoes itself
            for change, drawn in ((_negate, negated), (_exchange, exchanged)):
                for axis, indices in drawn:
                    change(self._views[axis.operand], axis.length, axis.operand_step, indices)
                    change(result, axis.length, axis.result_step, indices)
        return 1e3 * max(taken_s - min(self._hand_overs), _LEAST_S)

    def _load(self, work: Computation, told: Work, addresses: Mapping[str, int]) -> None:
        tensors: list[dict[str, Any]] = []
        descriptors = []
        positions = {name: number for number, name in enumerate(addresses)}
        for tensor in work.tensors:
            storage = storage_type(tensor.dtype)
            address = addresses[tensor.name]
            base, (block, descriptor) = next(
                (base, held) for base, held in self._blocks.items() if 0 <= address - base < len(held[0])
            )
            # what lies behind the last element is a gap, if the tensor has any
            size = self._stored_bytes(tensor.name, work, storage.itemsize)
            view = np.frombuffer(block, np.uint8, size, address - base)
            self._views[tensor.name] = view.view(word_type(storage.itemsize))
            descriptors.append(descriptor)
            said = {"dtype": tensor.dtype.value, "ocp": work.ocp}
            tensors.append(
                {
                    **said,
                    "name": tensor.name,
                    "position": positions[tensor.name],
                    "lengths": tensor.lengths,
                    "strides": tensor.strides,
                    "extent": tensor.extent,
                    "offset": address - base,
                    "storage": storage.str,
                    # numpy has no such type
                    "decode": said if tensor.dtype.value in ("bf16", "fp8", "bf8") else None,
                }
            )
        body = json.dumps(
            {
                "ndim": told.ndim,
                "values": told.values,
                "split_k": told.split_k,
                "problem": work.problem,
                "tensors": tensors,
            }
        ).encode()
        said = self._own.asked(b"t" + body, descriptors)
        if "error" in said:
            raise Failed(str(said["error"]))
        self._loaded = work

    def _stored_bytes(self, name: str, work: Computation, item: int) -> int:
        tensor = next(one for one in work.tensors if one.name == name)
        if len(tensor.lengths) == 0:
            return item
        return tensor.lengths[0] * tensor.strides[0] * item

    def _drawn(self, axis: SignedAxis) -> NDArray[np.intp]:
        """Choose indices of an axis."""
        operand = self._views[axis.operand]
        each = max(1, operand.size // axis.length)
        most = max(1, min(axis.length, _NEGATED // each))
        return np.array(chance.sample(range(axis.length), chance.randint(1, most)), dtype=np.intp)

    # --- launches -----------------------------------------------------------------------------------------

    def _launched(self, result: NDArray[Any]) -> float:
        """Return the seconds of a launch, by this process's clock, until the candidate is stopped again."""
        first, self._is_new = self._is_new, False
        looks = first or chance.random() < _LATE_SHARE
        self._hand_overs.append(self._empty.launch_of_nothing())
        day, start = time.time(), time.perf_counter()
        self._own.send(b"g")
        self._own.resume()
        said = self._own.reply()
        done = time.perf_counter()
        if looks:
            self._wait_for_late_writes(result, done - start)
        self._own.stop()
        taken_s = (done if looks else time.perf_counter()) - start
        if looks or self._own.has_helpers:
            self._own.stop_helpers()
        self._check_clocks(said, (start, done), day)
        if looks:
            self._look_for_evidence()
            self._emit()
        status = said.get("status")
        reason = str(said.get("reason", ""))
        if status == AbiStatus.REJECTED:
            raise BaselineRejection(reason or "it gave no reason")
        if status != AbiStatus.OK:
            raise Failed(reason or "it failed without a reason")
        return taken_s

    def _wait_for_late_writes(self, result: NDArray[Any], taken_s: float) -> None:
        """Let a candidate that says that it is done go on for a while, and look whether it does.

        :raises Dishonest: its result has changed.
        """
        before = result.copy()
        time.sleep(min(max(taken_s, _LEAST_WAIT_S), _MOST_WAIT_S))
        late = int(np.count_nonzero(before.view(np.uint8) != result.view(np.uint8)))
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


def _exchange(words: NDArray[Any], length: int, step: int, indices: NDArray[np.intp]) -> None:
    """Exchange indices of an axis in memory, the first with the last one and so on."""
    part = by_index(words, length, step)
    part[:, indices] = part[:, indices[::-1]]


def _negate(words: NDArray[Any], length: int, step: int, indices: NDArray[np.intp]) -> None:
    """Negate indices of an axis in memory; what is poison stays."""
    if not indices.size:
        return
    part = by_index(words, length, step)
    chosen = part[:, indices]
    poison = chosen == np.iinfo(chosen.dtype).max
    part[:, indices] = np.where(poison, chosen, chosen ^ sign_bits(chosen))
