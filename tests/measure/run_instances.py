"""Runs instances of a library as ``ckprof run`` does, without lists and plugins."""

from __future__ import annotations

from contextlib import closing

from ckprof.measure.bench import BenchLibrary, KernelBench
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
