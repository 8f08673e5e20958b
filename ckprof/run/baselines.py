"""Measuring baselines beside kernels: the same operands, the same rules, processes of the same kind."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ckprof.model.baseline import BaselineOutcome
from ckprof.run import messages
from ckprof.run.events import BaselineMeasured, WorkerReady, ignore_event
from ckprof.run.executor import Executor
from ckprof.run.options import ReferencePlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ckprof.model.dtype import DataType
    from ckprof.model.layout import Layout
    from ckprof.run.events import RunEvent
    from ckprof.run.options import RunOptions
    from ckprof.run.prepare import PreparedProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineSource:
    """A baseline as a worker opens it."""

    id: str
    #: what makes the engine: ``module:function``, or ``path/of/a/file.py:function``
    entry: str
    #: compute where the host does, as the target of the run
    on_host: bool
    #: kernel library whose target verifies results on the device; empty for none
    checks: str = ""

    def request(self, device: messages.DeviceChoice) -> messages.OpenBaseline:
        """Return the request that opens it on a device."""
        return messages.OpenBaseline(
            id=self.id, entry=self.entry, device=device, on_host=self.on_host, checks=self.checks
        )


class Baselines:
    """The baselines of one run, and what became of them.

    :param sources: which; may be none.
    """

    def __init__(self, sources: Sequence[BaselineSource] = ()) -> None:
        self._sources = tuple(sources)
        self._on_event: Callable[[RunEvent], None] = ignore_event
        self._executors: dict[str, Executor] = {}
        self._descriptions: dict[str, str] = {}
        #: one per baseline, problem, layout and types, in the order in which they were measured
        self.outcomes: list[BaselineOutcome] = []

    @contextmanager
    def opened(
        self,
        options: RunOptions,
        work_dir: Path,
        on_event: Callable[[RunEvent], None] = ignore_event,
        checks: Path | None = None,
        arch: str = "",
    ) -> Iterator[None]:
        """Have a worker for each baseline inside of a block.

        :param options: how kernels are run, verified and timed.
        :param work_dir: below which workers have their working directories; must exist.
        :param on_event: called with what happens.
        :param checks: kernel library whose target may verify results on the device.
        :param arch: architecture that it is for; empty for the one that it was built for.
        :raises ToolchainError: a baseline cannot be used; the message says why.
        """
        self._on_event = on_event
        # The peak is that of the target's kernels; the vendor's may use other units.
        options = replace(options, peak_flops=())
        with ExitStack() as stack:
            for known in self._sources:
                source = known
                if checks is not None and options.reference is not ReferencePlace.HOST:
                    source = replace(known, checks=str(checks.resolve()))
                executor = stack.enter_context(
                    Executor(source, arch=arch, options=options, work_dir=work_dir, on_event=self._pass_on)
                )
                self._executors[source.id] = executor
                self._descriptions[source.id] = executor.open().device
            try:
                yield
            finally:
                self._executors.clear()

    def measure(
        self,
        problem_index: int,
        layout: Layout,
        dtype: DataType,
        prepared: PreparedProblem,
        on_host: Callable[[], PreparedProblem],
    ) -> None:
        """Measure every baseline once on the operands that instances were run with.

        :param on_host: prepares the same operands in files, for baselines that no device verifies.
        :raises ToolchainError: workers do not start any more.
        """
        for id_, executor in self._executors.items():
            with_files = prepared.on_device and not executor.can_check
            executor.set_problem(on_host() if with_files else prepared)
            outcome = BaselineOutcome(
                baseline=id_,
                description=self._descriptions[id_],
                layout=layout.name,
                dtype=dtype,
                compute_type=prepared.types.compute_type,
                outcome=executor.measure(id_, problem_index),
            )
            self.outcomes.append(outcome)
            self._on_event(BaselineMeasured(outcome=outcome))

    def _pass_on(self, event: RunEvent) -> None:
        # the device of the run is what the kernels' library says of it
        if not isinstance(event, WorkerReady):
            self._on_event(event)
