"""Runs instances of a library as ``ckprof run`` does, without lists and plugins."""

from __future__ import annotations

from contextlib import closing

from ckprof.events import Message
from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.measure.run_outcomes import RunRounds, run_groups
from ckprof.model.kernel import SelectedKernel
from ckprof.model.problem_case import as_case
from ckprof.session import ignore


def selected(instance):
    """Return what measuring needs to know of an instance."""
    return SelectedKernel(
        key=instance.key,
        name=instance.key,
        dtype=instance.dtype,
        layout=instance.layout.name,
        ndim=instance.ndim,
        types=instance.types,
        split_sum=instance.split_sum,
    )


def run_instances(
    library,
    arch,
    operation,
    instances,
    problems,
    options,
    on_event=ignore,
    *,
    lock_dir=None,
    baselines=None,
    on_open=ignore,
    before_problem=lambda problem, index: None,
    recorder=None,
    pace=None,
):
    """Yield the outcomes of instances on problems.

    :param lock_dir: folder of the device locks.
    :param on_open: called with what makes outcomes of visits.
    :param before_problem: called before each problem.
    :param recorder: keeps measurements.
    :param pace: says how long it takes.
    """
    kernels = [selected(instance) for instance in instances]
    opened = BenchLibrary(path=library, operation=operation, target="", arch=arch, rejections={})
    use = {"lock_folder": lock_dir, "baselines": baselines, "before_problem": before_problem}
    with KernelBench(opened, options, (), on_event, **use) as bench:
        rounds = RunRounds(bench, options, on_event, after_group=bench.measure_baselines, pace=pace)
        rounds.recorder = recorder
        on_open(rounds)
        groups = run_groups(opened, options, kernels, [as_case(problem) for problem in problems])
        with closing(rounds.outcomes(groups)) as outcomes:
            yield from outcomes


#: kernels in turn, each once; and kernels in rounds
QUICK = RunOptions(rounds=1, timeout_s=2.0, max_time_s=0.02, cache=CacheMode.WARM)
IN_ROUNDS = RunOptions(timeout_s=5.0, max_time_s=0.02, cache=CacheMode.WARM, keep_samples=True)


def texts(seen, start=""):
    """Return the messages among events that begin so."""
    return [event.text for event in seen if isinstance(event, Message) and event.text.startswith(start)]


class Kept:
    """What a run tells, what it measures, and how much is left then: measurements and unknown outcomes."""

    def __init__(self):
        self.texts, self.visits, self.left = [], [], []
        self.done = 0

    def tell(self, event):
        if isinstance(event, Message):
            self.texts.append(event.text)

    @property
    def losses(self):
        return [text for text in self.texts if text.startswith("worker lost: ")]

    # as a recorder

    def add(self, sample):
        self.visits.append(sample)

    add_lost = add

    def end_round(self, report):
        pass

    # as what says how long it takes

    def begin(self):
        pass

    def outcome_known(self):
        pass

    def measured(self, left, unknown):
        self.left.append((left, unknown))
        return left, 0.0
