"""Running many instances on many problems: the entry point of the run stage."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.arch.number_formats import types_on
from ckprof.model.outcome import Outcome, Status
from ckprof.model.problem_run import as_problem_run
from ckprof.model.requirement import UnmetRequirement
from ckprof.run.baselines import Baselines
from ckprof.run.device_lock import device_lock
from ckprof.run.events import KernelMeasured, OperandsReady, ProblemStarted, RoundStarted, ignore_event
from ckprof.run.executor import Executor, Repeat, timing_settings
from ckprof.run.options import ReferencePlace
from ckprof.run.prepare import InsufficientMemoryError, prepare_problem
from ckprof.run.samples import without_samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ckprof.model.instance import Instance
    from ckprof.model.problem import Problem
    from ckprof.model.problem_run import ProblemRun
    from ckprof.model.type_set import TypeSet
    from ckprof.plugin.protocols import Operation
    from ckprof.run.events import RunEvent
    from ckprof.run.options import RunOptions
    from ckprof.run.prepare import PreparedProblem


def run_instances(
    library: Path,
    arch: str,
    operation: Operation,
    instances: Sequence[Instance],
    problems: Sequence[Problem | ProblemRun],
    options: RunOptions,
    work_dir: Path,
    on_event: Callable[[RunEvent], None] = ignore_event,
    *,
    lock_dir: Path | None = None,
    baselines: Baselines | None = None,
) -> Iterator[Outcome]:
    """Run instances on problems, each on those that take it, and yield the outcomes as they come.

    Problems come one after the other. Within a problem, instances of the same layout and data type are run
    together, because they share operands and reference: in shuffled rounds, or with ``options.rounds`` of 1
    in the order given. Closing the generator, or an exception such as Ctrl-C inside it, ends the worker;
    what was measured of kernels without an outcome yet is told by
    :class:`~ckprof.run.events.RoundsAbandoned`.

    :param library: the kernel library with all instances.
    :param arch: architecture to select on the target.
    :param operation: what the instances compute.
    :param work_dir: created if missing; operands and references are written into a folder below it, which is
        removed afterwards.
    :param on_event: called with what happens; an exception from it ends the run.
    :param lock_dir: folder of the device locks, if not the default one.
    :param baselines: what is measured as well, behind the instances that share operands.
    :raises ToolchainError: the library cannot be loaded, or its target rejects the device.
    :raises PluginError: the operation's reference failed.
    """
    work_dir.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="run-", dir=work_dir)).resolve()
    try:
        with ExitStack() as stack:
            executor = stack.enter_context(
                Executor(library, arch=arch, options=options, work_dir=scratch, on_event=on_event)
            )
            target = executor.open().target
            stack.enter_context(device_lock(target, options.device, on_event, lock_dir))
            compared = Baselines() if baselines is None else baselines
            stack.enter_context(compared.opened(options, scratch, on_event, library, arch))
            for index, run in enumerate(map(as_problem_run, problems)):
                on_event(ProblemStarted(problem_index=index, problem=run.problem))
                runner = _ProblemRunner(executor, operation, run, index, options, on_event, compared)
                taken = [instance for instance in instances if run.takes(instance)]
                yield from runner.run(taken, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class _ProblemRunner:
    """Runs instances on one problem."""

    def __init__(
        self,
        executor: Executor,
        operation: Operation,
        run: ProblemRun,
        problem_index: int,
        options: RunOptions,
        on_event: Callable[[RunEvent], None],
        baselines: Baselines,
    ) -> None:
        self._executor = executor
        self._baselines = baselines
        self._operation = operation
        self._problem = run.problem
        self._splits = run.splits or options.splits
        self._index = problem_index
        self._options = options
        self._on_event = on_event

    def run(self, instances: Sequence[Instance], folder: Path) -> Iterator[Outcome]:
        groups: dict[tuple[str, TypeSet], list[Instance]] = {}
        for instance in instances:
            unmet = self._problem.unmet_by(instance.layout)
            if unmet is not None:
                yield from self._unsupported(instance, unmet)
            else:
                groups.setdefault((instance.layout.name, instance.types), []).append(instance)
        for number, group in enumerate(groups.values()):
            with tempfile.TemporaryDirectory(prefix="problem-", dir=folder) as operands:
                yield from self._run_group(group, number, Path(operands))

    def _run_group(self, group: Sequence[Instance], number: int, folder: Path) -> Iterator[Outcome]:
        layout, dtype = group[0].layout, group[0].dtype
        types = types_on(group[0].types, self._executor.arch)
        prepare = partial(prepare_problem, self._operation, self._problem, layout, types, folder=folder)
        try:
            prepared = prepare(options=self._options, can_check=self._executor.can_check)
        except InsufficientMemoryError as exc:
            for instance in group:
                yield from self._unsupported(instance, UnmetRequirement(rule="memory", message=str(exc)))
            return
        try:
            yield from self._run_prepared(group, number, prepared)
            on_host = replace(self._options, reference=ReferencePlace.HOST)
            self._baselines.measure(self._index, layout, dtype, prepared, partial(prepare, options=on_host))
        finally:
            prepared.close()

    def _run_prepared(
        self, group: Sequence[Instance], number: int, prepared: PreparedProblem
    ) -> Iterator[Outcome]:
        self._on_event(
            OperandsReady(
                problem_index=self._index,
                layout=group[0].layout,
                dtype=group[0].dtype,
                instances=len(group),
                seconds=prepared.seconds,
            )
        )
        self._executor.set_problem(prepared)
        if self._options.rounds > 1 and len(group) * len(self._splits) > 1:
            from ckprof.run.rounds import GroupRounds

            rounds = GroupRounds(
                self._executor, group, self._splits, (self._index, number), self._options, self._on_event
            )
            yield from rounds.run()
        else:
            yield from self._run_in_turn(group)

    def _run_in_turn(self, group: Sequence[Instance]) -> Iterator[Outcome]:
        """Take all samples of a kernel before the next one runs."""
        self._on_event(RoundStarted(problem_index=self._index, round=1))
        cells = [(split_k, instance) for split_k in self._splits for instance in group]
        timing = timing_settings(replace(self._options, keep_samples=True))
        for order, (split_k, instance) in enumerate(cells):
            outcome = self._executor.measure(
                instance.key, self._index, split_k, instance.split_sum, Repeat(timing=timing)
            )
            left = len(cells) - order - 1
            self._on_event(
                KernelMeasured(
                    outcome=outcome, round=1, order=order, reference=False, left=left, unknown=left + 1
                )
            )
            yield outcome if self._options.keep_samples else without_samples(outcome)

    def _unsupported(self, instance: Instance, rejection: UnmetRequirement) -> Iterator[Outcome]:
        for split_k in self._splits:
            yield Outcome(
                key=instance.key,
                problem_index=self._index,
                status=Status.UNSUPPORTED,
                reason=rejection.message,
                unmet_requirements=(rejection,),
                split_k=split_k,
                split_k_deduced=split_k < 1,
            )
