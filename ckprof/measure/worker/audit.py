"""What a worker does around launches so that no kernel is taken for faster, or for more right, than it is.

Before a launch, at moments that no kernel can foresee, some of its operands get another sign and its result
is poisoned, in part or as a whole: what is copied from an earlier result, or left where it is, is wrong
then. After a launch, its result is compared with what the verified one has become by these signs. None of
that is inside of a time that is measured, and it takes a limited share of the time that sampling takes.

Chance comes from the system each time it is asked for: there is no seed that a library could read.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from hashlib import blake2b
from random import SystemRandom
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ckprof.measure.worker.guards import POISON_BYTE
from ckprof.measure.worker.sampling import MOST_BUSY, Audit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ckprof.measure.worker.device_audit import DeviceAudit
    from ckprof.measure.worker.memory import GuardedTensor
    from ckprof.measure.worker.sampling import AuditRequest, Sampling, SignedAxis


#: bytes of an operand that are copied at a time
_NEGATED_BYTES: Final = 2**20
#: pieces that are copied one by one
_MOST_PIECES: Final = 256


def sign_bits(words: NDArray[Any]) -> NDArray[Any]:
    """Return what negates stored floating-point values by XOR: nothing where they are 0."""
    sign = words.dtype.type(1 << (8 * words.itemsize - 1))
    bits: NDArray[Any] = np.where((words & ~sign) != 0, sign, words.dtype.type(0))
    return bits


def by_index(words: NDArray[Any], length: int, step: int) -> NDArray[Any]:
    """Return a view of a whole tensor with the indices of an axis as its second axis."""
    return words.reshape(-1, length, step)


def word_type(item_bytes: int) -> np.dtype[Any]:
    """Return the unsigned integers of that size."""
    return np.dtype(f"u{item_bytes}")


def negate(tensor: GuardedTensor, item_bytes: int, axis: tuple[int, int], indices: NDArray[np.intp]) -> None:
    """Negate some indices of an axis of an operand in the target's memory.

    :param axis: its length, and elements from index to index.
    """
    length, step = axis
    piece = step * item_bytes
    block = piece * length
    blocks = tensor.size_bytes // block
    if blocks * indices.size <= _MOST_PIECES:
        raw = np.empty(piece, np.uint8)
        words = raw.view(word_type(item_bytes))
        for start in range(0, tensor.size_bytes, block):
            for at in (start + int(index) * piece for index in indices):
                tensor.read(at, raw)
                words ^= sign_bits(words)
                tensor.write(at, raw)
        return
    together = max(1, _NEGATED_BYTES // block)
    for start in range(0, tensor.size_bytes, together * block):
        size = min(together * block, tensor.size_bytes - start)
        raw = np.empty(size, np.uint8)
        tensor.read(start, raw)
        part = by_index(raw.view(word_type(item_bytes)), length, step)
        chosen = part[:, indices]
        part[:, indices] = chosen ^ sign_bits(chosen)
        tensor.write(start, raw)


#: bytes of an operand that are negated at a time, at most, unless one index has more
_CHANGED_BYTES: Final = 2**16
#: results with other bits that are kept for a comparison
MOST_KEPT: Final = 4
#: bytes compared at a time
_CHUNK_BYTES: Final = 2**18
#: seconds to wait for late writes: what a launch takes, within these bounds
_LEAST_WAIT_S: Final = 3e-4
_MOST_WAIT_S: Final = 4e-3
#: one of the first so many launches is followed by a look for late writes
_FIRST_LAUNCHES: Final = 4
#: probability that a launch is looked at where there is time for it, of a kernel that was looked at
#: thoroughly before, and of others
NOW_AND_THEN: Final = 0.25
_OFTEN: Final = 0.9
#: launches before a brief measurement that are judged with those of it: fewer tell nothing on a busy machine
_FEW_LAUNCHES: Final = 8
#: launches of a measurement that are enough: a kernel that is wrong in this share of them is found as often
_WRONG_SHARE: Final = 0.05
_FOUND: Final = 0.96
_ENOUGH_LAUNCHES: Final = math.ceil(math.log(1 - _FOUND) / math.log(1 - _WRONG_SHARE))
#: seconds between two requests that say something of what other threads do
_IDLE_S: Final = 5e-3
#: how often, and for how many seconds, what seems busy is looked at again
_LOOKS: Final = 6
_LOOK_S: Final = 0.05

chance = SystemRandom()


class Signs:
    """Which indices of the operands' axes are negated now.

    :param axes: see :func:`~ckprof.measure.worker.sampling.signed_axes`.
    """

    def __init__(self, axes: Sequence[SignedAxis]) -> None:
        self.axes = tuple(axes)
        #: one per axis: True for an index that is negated
        self.negated = [np.zeros(axis.length, dtype=bool) for axis in axes]

    def draw(self, most: Sequence[int]) -> list[tuple[int, NDArray[np.intp]]]:
        """Choose what to negate next: numbers of axes, with indices of each.

        :param most: indices of each axis that may be chosen.
        """
        numbers = list(range(len(self.axes)))
        if len(numbers) > 1 and chance.random() < 0.5:
            numbers = [chance.choice(numbers)]
        chosen = []
        for number in numbers:
            length = self.axes[number].length
            count = chance.randint(1, max(1, min(most[number], length)))
            # one call of the system for all of them
            keys = np.frombuffer(chance.randbytes(8 * length), dtype=np.uint64)
            chosen.append((number, np.argsort(keys)[:count]))
        return chosen

    def undo_in(self, words: NDArray[Any]) -> None:
        """Negate what is negated in a result, so that it is as if nothing were."""
        for axis, negated in zip(self.axes, self.negated, strict=True):
            part = by_index(words, axis.length, axis.result_step)
            indices = np.flatnonzero(negated)
            chosen = part[:, indices]
            part[:, indices] = chosen ^ sign_bits(chosen)


class ExpectedBits:
    """The verified result, with the signs that operands have now.

    It is never in memory as it is: a kernel that looked for it there could pass it off as its own.

    :param words: of the result.
    """

    def __init__(self, words: NDArray[Any]) -> None:
        self._signs = sign_bits(words)
        size = max(1, min(_CHUNK_BYTES // words.itemsize, words.size))
        self._pad = np.frombuffer(chance.randbytes(size * words.itemsize), dtype=words.dtype)
        self._masked = words
        for start in range(0, words.size, size):
            part = words[start : start + size]
            part ^= self._pad[: part.size]

    def negate(self, length: int, step: int, indices: NDArray[np.intp]) -> None:
        """Negate indices of an axis."""
        by_index(self._masked, length, step)[:, indices] ^= by_index(self._signs, length, step)[:, indices]

    def are_in(self, tensor: GuardedTensor) -> bool:
        """Say whether a result has exactly these bits."""
        size, item = self._pad.size, self._masked.itemsize
        raw = np.empty(size * item, dtype=np.uint8)
        for start in range(0, self._masked.size, size):
            masked = self._masked[start : start + size]
            out = raw[: masked.nbytes]
            tensor.read(start * item, out)
            words = out.view(masked.dtype)
            words ^= self._pad[: masked.size]
            if not np.array_equal(words, masked):
                return False
        return True


class OtherThreads:
    """How much other threads compute between two requests, while this one waits or serves others."""

    def __init__(self) -> None:
        self._since: tuple[float, float] | None = None

    def start(self) -> None:
        """A launch is over: from here on there is nothing to compute."""
        self._since = time.perf_counter(), _of_others_s()

    def busy(self) -> float:
        """Return the share of the time since then in which they were at work; 0 where that cannot be said.

        What has only waited actively for another launch stops after a while, and is not meant.
        """
        if self._since is None:
            return 0.0
        share = _share_since(*self._since)
        for _ in range(_LOOKS):
            if share <= MOST_BUSY:
                return 0.0
            before = time.perf_counter(), _of_others_s()
            time.sleep(_LOOK_S)
            share = _share_since(*before)
        return share


def _share_since(start: float, of_others_s: float) -> float:
    wall_s = time.perf_counter() - start
    return (_of_others_s() - of_others_s) / wall_s if wall_s >= _IDLE_S else 0.0


def _of_others_s() -> float:
    return time.process_time() - time.thread_time()


def _waited_ms() -> float:
    """Return how long this thread has waited for a processor; 0 if the system does not say it."""
    try:
        file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
    except OSError:
        return 0.0
    try:
        # nanoseconds on a processor, nanoseconds of waiting for one, and how often it got one
        return int(os.read(file, 128).split()[1]) / 1e6
    finally:
        os.close(file)


class LaunchTimes:
    """What launches of a kernel take by the worker's clock, and what of that the launcher has reported.

    Time in which the worker's thread waited for a processor does not count: on a busy machine, some of it
    passes before a launcher reads its clock, and after, and nothing is computed then.
    """

    def __init__(self) -> None:
        self._taken_ms: list[float] = []
        self._unreported_ms: list[float] = []

    def timed(self, run: Callable[[], float], launches: int = 1) -> float:
        """Run and return the milliseconds of one launch that the launcher has reported."""
        waited_ms, start = _waited_ms(), time.perf_counter()
        time_ms = run()
        taken_ms = (time.perf_counter() - start) * 1e3
        self.add(taken_ms - (_waited_ms() - waited_ms), time_ms * launches)
        return time_ms

    def add(self, taken_ms: float, reported_ms: float) -> None:
        """Take launches into account."""
        self._taken_ms.append(taken_ms)
        self._unreported_ms.append(taken_ms - reported_ms)

    @property
    def launch_ms(self) -> float:
        """The median; 0 if nothing was launched."""
        return statistics.median(self._taken_ms) if self._taken_ms else 0.0

    @property
    def unreported_ms(self) -> float:
        """The first quartile, which few disturbances do not reach; 0 if nothing was launched."""
        ordered = sorted(self._unreported_ms)
        return ordered[len(ordered) // 4] if ordered else 0.0

    @property
    def are_few(self) -> bool:
        """Whether they tell nothing on a busy machine."""
        return len(self._taken_ms) < _FEW_LAUNCHES

    def keep_latest(self) -> LaunchTimes:
        """Forget all but the last few launches, which a brief measurement is judged with."""
        del self._taken_ms[:-_FEW_LAUNCHES], self._unreported_ms[:-_FEW_LAUNCHES]
        return self


def look_at_more(
    audit: HostAudit | DeviceAudit, run: Callable[[], float], request: AuditRequest, sampling: Sampling
) -> float:
    """Look at launches that are not timed, as far as there is time left for them; return the seconds.

    What is wrong now and then is found that way although few samples are taken.
    """
    start = now = time.perf_counter()
    left_s = max(request.least_s, request.share * sampling.wall_s) - audit.spent_s
    last_s = max(sampling.samples_ms) / 1e3
    audit.looks_always = True
    for _ in range((1 if request.is_brief else _ENOUGH_LAUNCHES) - audit.checked):
        if audit.checked and now - start + last_s > left_s:
            break
        audit.before()
        run()
        if audit.after(1):
            break
        last_s, now = time.perf_counter() - now, time.perf_counter()
    return now - start


class HostAudit:
    """Looks at launches where the host copies and compares.

    :param operands: by name, with the bytes of an element.
    :param result: the tensor, which holds a verified result, with the bytes of an element.
    :param axes: where operands may be negated; none where that is not known.
    :param request: says what was found right before, and how much time there is.
    :param times: of the launches.
    """

    def __init__(
        self,
        operands: dict[str, tuple[GuardedTensor, int]],
        result: tuple[GuardedTensor, int],
        axes: Sequence[SignedAxis],
        request: AuditRequest,
        times: LaunchTimes,
    ) -> None:
        start = time.perf_counter()
        self.times, self._request = times, request
        self._operands = operands
        self._result, self._item = result
        self._signs = Signs(axes)
        #: results with other bits, as they would be without changed signs
        self.kept: list[NDArray[np.uint8]] = []
        #: the first launch gives it where there is none yet
        self._expected = None if request.fresh else self._expect()
        self._launches = self.checked = self._odd = self._kept_odd = self._late_bytes = 0
        self._late_at = -1 if request.is_brief else chance.randrange(_FIRST_LAUNCHES)
        self.looks_always = self._looks = False
        self._start = start
        self.spent_s = time.perf_counter() - start

    def _expect(self) -> ExpectedBits:
        """Return what results are compared with: this one, which is kept unless it was found right before."""
        words = self._words()
        if blake2b(words.data).hexdigest() != self._request.verified:
            self.kept.append(words.view(np.uint8).copy())
        return ExpectedBits(words)

    def _words(self) -> NDArray[Any]:
        raw = np.empty(self._result.size_bytes, dtype=np.uint8)
        self._result.read(0, raw)
        return raw.view(word_type(self._item))

    def before(self) -> None:
        """Negate and poison."""
        start = time.perf_counter()
        self._looks = self.looks_always or self._affordable(start)
        if self._looks:
            if self._expected is not None and self._signs.axes and chance.random() < _OFTEN:
                self._change(self._expected)
            self._poison()
        self.spent_s += time.perf_counter() - start

    def after(self, launches: int) -> bool:
        """Compare, and look for late writes once; what is found is judged elsewhere."""
        start = time.perf_counter()
        number = self._launches
        self._launches += launches
        is_late_look = number <= self._late_at < self._launches
        if is_late_look or self._looks:
            self.checked += 1
            if self._expected is None:
                self._expected = self._expect()
            elif not self._expected.are_in(self._result):
                self._odd += 1
                if len(self.kept) < MOST_KEPT:
                    self._kept_odd += 1
                    self._keep()
        if is_late_look:
            self._look_for_late_writes()
        self.spent_s += time.perf_counter() - start
        return False

    def _affordable(self, now: float) -> bool:
        """Say whether there is time to look; one that is about to be used up is used at random."""
        request = self._request
        if request.is_brief:
            # whatever it takes: the first launches of a measurement are not more likely than the last ones
            return chance.random() < NOW_AND_THEN
        spare_s = request.share * (now - self._start) + request.least_s - self.spent_s
        return (
            spare_s > 0 and (chance.random() < _OFTEN or request.share == 1)
        ) or self.checked < _FIRST_LAUNCHES

    def _change(self, expected: ExpectedBits) -> None:
        most = []
        for axis in self._signs.axes:
            tensor, item = self._operands[axis.operand]
            per_index = tensor.size_bytes // axis.length
            most.append(_CHANGED_BYTES // max(1, per_index * (1 if axis.operand_step * item >= 64 else 8)))
        for number, indices in self._signs.draw(most):
            axis = self._signs.axes[number]
            tensor, item = self._operands[axis.operand]
            negate(tensor, item, (axis.length, axis.operand_step), indices)
            expected.negate(axis.length, axis.result_step, indices)
            self._signs.negated[number][indices] ^= True

    def _poison(self) -> None:
        """Poison everything, a part, or nothing: a kernel could look for poison as well."""
        lot = chance.random()
        if lot < 0.4:
            self._result.poison()
        elif lot < 0.7:
            elements = self._result.size_bytes // self._item
            first, last = sorted((chance.randrange(elements), chance.randrange(elements)))
            self._result.poison(first * self._item, (last + 1 - first) * self._item)

    def _keep(self) -> None:
        words = self._words()
        self._signs.undo_in(words)
        self.kept.append(words.view(np.uint8))

    def _look_for_late_writes(self) -> None:
        wait_s = min(max(self.times.launch_ms / 1e3, _LEAST_WAIT_S), _MOST_WAIT_S)
        held = self._words().view(np.uint8)
        self._result.poison()
        time.sleep(wait_s)
        self._late_bytes += int(np.count_nonzero(self._words().view(np.uint8) != POISON_BYTE))
        self._result.write(0, held)

    def finish(self) -> Audit:
        """Give operands their signs back, and the result those that it would have with them."""
        for number, axis in enumerate(self._signs.axes):
            tensor, item = self._operands[axis.operand]
            indices = np.flatnonzero(self._signs.negated[number])
            if indices.size:
                negate(tensor, item, (axis.length, axis.operand_step), indices)
        words = self._words()
        self._signs.undo_in(words)
        self._result.write(0, words.view(np.uint8))
        return Audit(
            launches=self._launches,
            # what has other bits and was not kept is not known to be right
            checked=self.checked - self._odd + self._kept_odd,
            kept=len(self.kept),
            late_bytes=self._late_bytes,
        )
