"""Measuring baselines beside kernels: the same operands, the same rules, processes of the same kind."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from ckprof.errors import ToolchainError
from ckprof.measure.events import BaselineMeasured, WorkerReady
from ckprof.measure.executor import Executor
from ckprof.measure.options import ReferencePlace
from ckprof.measure.worker.messages import OpenBaseline
from ckprof.model.baseline import BaselineOutcome
from ckprof.session import ignore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ckprof.events import Event
    from ckprof.measure.options import RunOptions
    from ckprof.measure.prepare import PreparedProblem
    from ckprof.model.layout import Layout
    from ckprof.model.types import DataType
    from ckprof.session import Session


class Baselines:
    """The baselines of one run, and what became of them.

    :param sources: which; may be none.
    """

    def __init__(self, sources: Sequence[OpenBaseline] = ()) -> None:
        self._sources = tuple(sources)
        self._on_event: Callable[[Event], None] = ignore
        self._executors: dict[str, Executor] = {}
        self._descriptions: dict[str, str] = {}
        #: one per baseline, problem, layout and types, in the order in which they were measured
        self.outcomes: list[BaselineOutcome] = []

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._sources)

    @contextmanager
    def opened(
        self,
        options: RunOptions,
        work_dir: Path,
        on_event: Callable[[Event], None] = ignore,
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
            for source in self._sources:
                if checks is not None and options.reference is not ReferencePlace.HOST:
                    source = msgspec.structs.replace(source, checks=str(checks.resolve()))
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

    def _pass_on(self, event: Event) -> None:
        # the device of the run is what the kernels' library says of it
        if not isinstance(event, WorkerReady):
            self._on_event(event)


def baseline_sources(session: Session, ids: Sequence[str], target: str | None) -> list[OpenBaseline]:
    """Return what workers are sent for the baselines of these ids, on the device of a target.

    :param target: id; ``None`` for the usual target.
    :raises UsageError: there is no such baseline or target.
    :raises ToolchainError: its library is not installed.
    """
    on_host = session.target(target).embedded
    requests = []
    for id_ in ids:
        baseline = session.registry.baselines.find(id_)
        missing = baseline.missing()
        if missing:
            raise ToolchainError(f"baseline {id_}: {missing}")
        requests.append(OpenBaseline(id=id_, entry=baseline.entry, on_host=on_host))
    return requests
