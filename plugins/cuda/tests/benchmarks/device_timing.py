"""Times of kernels and of what torch computes, on one device, under the same conditions.

Before each sample the caches are flushed, and the device is kept busy until the host has launched what is
timed: torch takes tens of microseconds for that, and a device that had nothing to do would wait for it with
the clock running.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckprof.measure.executor import Executor
from ckprof.measure.worker.messages import AbiStatus
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.measure.worker.sampling import Sampling

if TYPE_CHECKING:
    from ckprof.measure.worker.abi import Library

FLUSH_BYTES = 256 * 2**20
#: of the device's clock, a quarter of a millisecond
BUSY_CYCLES = 500_000
#: of each side, taken in turns
PAIRS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopwatch:
    """Takes samples in milliseconds.

    :param library: built for the cuda target; it flushes the caches.
    """

    torch: Any
    library: Library

    def settle(self):
        """Flush the caches, and give the host time to launch what follows."""
        self.library.target.flush_cache(FLUSH_BYTES)
        self.torch.cuda._sleep(BUSY_CYCLES)

    def torch_ms(self, compute):
        """Return the time of what torch computes."""
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.settle()
        begin.record()
        compute()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end))

    def kernel_ms(self, kernel, problem, buffers):
        """Return the time of a kernel."""
        self.settle()
        status, reason, time_ms = kernel.run(problem, buffers)
        assert status is AbiStatus.OK, f"{kernel.name}: {reason}"
        return time_ms

    def in_turns(self, first, second):
        """Return the medians of two kinds of samples, so that a change of clocks meets both."""
        pairs = [(first(), second()) for _ in range(PAIRS)]
        return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def time_outcomes(monkeypatch):
    """Return a list that gets, for each outcome of runs from here on, the seconds that were ckprof's own.

    Kernels, flushes, the reference, comparisons and the loading of libraries are not counted.
    """
    spent = []
    outcomes = []

    def timed(name, share):
        original = getattr(RemoteLibrary, name)

        def wrapper(self, *args, **options):
            start = time.perf_counter()
            reply = original(self, *args, **options)
            spent.append(share(reply, time.perf_counter() - start))
            return reply

        monkeypatch.setattr(RemoteLibrary, name, wrapper)

    def sampled(reply, wall_s):
        if not isinstance(reply, Sampling):
            return wall_s
        runs = len(reply.samples_ms) * reply.launches + reply.warmup
        return runs * statistics.fmean(reply.samples_ms) / 1e3 + reply.flush_s

    timed("load", lambda _, wall_s: wall_s)
    timed("check", lambda _, wall_s: wall_s)
    timed("run", lambda reply, _: reply[2] / 1e3)
    timed("sample", sampled)
    measure = Executor.measure

    def measured(self, *args, **options):
        spent.clear()
        start = time.perf_counter()
        outcome = measure(self, *args, **options)
        outcomes.append(time.perf_counter() - start - sum(spent))
        return outcome

    monkeypatch.setattr(Executor, "measure", measured)
    return outcomes
