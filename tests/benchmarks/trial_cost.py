"""Prints what a trial costs: one kernel, measured once on one problem, by any run of ``ckprof run``.

``python -m tests.benchmarks.trial_cost ARGUMENTS OF ckprof run``, on a GPU for example::

    python -m tests.benchmarks.trial_cost fwd --conf conf/forward/tests/nhwgc_bf16.conf --target cuda \
        --instance 0-11 --problem "conv -n 128 -c 128 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1"

Trials of kernels that are verified as a whole, and brief ones, are counted apart. Wall times mean something
only on a machine that does nothing else; messages, samples and launches do anywhere.
"""

import statistics
import sys
import time
from collections import Counter

from ckprof.cli.main import main
from ckprof.measure.executor import Executor
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.measure.worker.sampling import Sampling
from ckprof.model.outcome import Status


class Meter:
    """Notes trials, their messages and their samples, beside a run."""

    def __init__(self):
        #: begin and seconds of each right trial, whether it was brief, its messages, and its sampling
        self.trials = []
        self._messages, self._sampling = Counter(), None
        self._measure, self._call = Executor.measure, RemoteLibrary.call
        Executor.measure = lambda *given, **named: self.measure(*given, **named)
        RemoteLibrary.call = lambda *given: self.call(*given)

    def call(self, library, method, *given):
        self._messages[method] += 1
        answer = self._call(library, method, *given)
        if isinstance(answer, Sampling):
            self._sampling = answer
        return answer

    def measure(self, *given, **named):
        self._messages.clear()
        begun = time.perf_counter()
        outcome = self._measure(*given, **named)
        spent_s = time.perf_counter() - begun
        # second problems are not timed
        if outcome.status is Status.OK and outcome.measurement is not None:
            brief = "sample_again" in self._messages
            self.trials.append((begun, spent_s, brief, dict(self._messages), self._sampling))
        return outcome

    def lines(self):
        """Yield what there is to say."""
        pairs = list(zip(self.trials, self.trials[1:], strict=False))
        for wanted, name in ((False, "whole"), (True, "brief")):
            # until the next one began, whatever was done between them
            periods = [after[0] - before[0] for before, after in pairs if before[2] is wanted]
            if periods:
                each = statistics.median(periods) * 1e3
                yield f"{name}: one trial per {each:.2f} ms (median): {1e3 / each:.0f}/s"
            chosen = [trial for trial in self.trials if trial[2] is wanted]
            if not chosen:
                continue
            messages = statistics.median(sum(trial[3].values()) for trial in chosen)
            seen = [trial[4] for trial in chosen]
            spent = {
                "all": [trial[1] * 1e3 for trial in chosen],
                "kernel": [sum(one.samples_ms) * one.launches for one in seen],
                "flushes": [one.flush_s * 1e3 for one in seen],
                "looks": [one.audit_s * 1e3 for one in seen],
            }
            times = ", ".join(f"{what} {statistics.median(values):.2f}" for what, values in spent.items())
            counts = (
                f"{statistics.mean(len(one.samples_ms) for one in seen):.1f} samples, "
                f"{statistics.mean(one.audit.checked for one in seen):.1f} of "
                f"{statistics.mean(one.audit.launches for one in seen):.1f} launches looked at, "
                f"{statistics.median(len(one.samples_ms) * one.flush_bytes for one in seen) / 2**20:.0f} MiB "
                "flushed"
            )
            yield f"{len(chosen)} {name}: {messages:g} messages; {counts}; ms: {times}"


if __name__ == "__main__":
    meter = Meter()
    code = main(["run", *sys.argv[1:]])
    print(*meter.lines(), sep="\n", file=sys.stderr)
    sys.exit(code)
