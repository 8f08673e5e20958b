"""What a run found out, to be iterated, filtered and exported."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ckprof.argument_types import check_arguments
from ckprof.errors import UsageError
from ckprof.formatting import counted
from ckprof.model.outcome import Status
from ckprof.model.ranking import unranked_time_of
from ckprof.option import members
from ckprof.report.rows import rows_of_problem
from ckprof.report.run_data import data_columns
from ckprof.report.table import Table, Terminal, output_width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pandas

    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.model.results import RunResults
    from ckprof.plugin.protocols import ReportFormat
    from ckprof.plugin.registry import Registry
    from ckprof.report.rows import ResultRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One kernel on one problem."""

    problem_index: int
    problem: Problem
    row: ResultRow

    @property
    def instance(self) -> SelectedKernel:
        """The kernel: name, instance string, pipeline, type, source."""
        return self.row.instance

    @property
    def outcome(self) -> Outcome:
        """Everything about the attempt."""
        return self.row.outcome

    @property
    def name(self) -> str:
        """Name of the kernel."""
        return self.row.instance.name

    @property
    def status(self) -> Status:
        """How it ended."""
        return self.row.outcome.status

    @property
    def reason(self) -> str:
        """Why, for every status but ``ok``."""
        return self.row.outcome.reason

    @property
    def rank(self) -> int | None:
        """From 1 among the verified ``ok`` results of the problem; ``None`` for all others."""
        return self.row.rank

    @property
    def time_ms(self) -> float | None:
        """The median of the trials in milliseconds; ``None`` if it was not timed."""
        measurement = self.row.outcome.measurement
        return measurement.time_ms if measurement else None

    @property
    def interval_ms(self) -> tuple[float, float] | None:
        """The limits that hold the time at 95 %; ``None`` if it was not timed."""
        time = unranked_time_of(self.row.outcome)
        return time.interval_ms if time is not None else None

    @property
    def gflops(self) -> float | None:
        """Rate in 1e9 floating-point operations per second; ``None`` if it was not timed."""
        return self.row.gflops


class Results:
    """The outcomes of a run, best first within each problem.

    :param data: everything that the run found out.
    :param registry: of the plugins whose views it has; by default of those that are installed.
    """

    def __init__(self, data: RunResults, registry: Registry | None = None) -> None:
        self.data = data
        self._registry = registry

    def __iter__(self) -> Iterator[Result]:
        for index, problem in enumerate(self.data.problems):
            for row in rows_of_problem(self.data, index):
                yield Result(problem_index=index, problem=problem, row=row)

    def __len__(self) -> int:
        return len(self.data.outcomes)

    def __reduce__(self) -> tuple[type[Results], tuple[RunResults]]:
        # the plugins of the other process show them there
        return Results, (self.data,)

    def __repr__(self) -> str:
        return f"<Results: {counted(len(self), 'outcome')} of {counted(len(self.data.problems), 'problem')}>"

    def __str__(self) -> str:
        """Return the ranked table of each problem, fitted to the terminal if there is one."""
        from ckprof.report.run_summary import terminal_document

        width = output_width(sys.stdout)
        document = terminal_document(self.data, notes=None, elsewhere="to_dicts() has every figure")
        text = document.text(Terminal(width=width) if width else None)
        # options of the command line are fields of the options of programs
        return re.sub(r"--([a-z][a-z-]+)", lambda option: option[1].replace("-", "_"), text).rstrip("\n")

    def _repr_html_(self) -> str | None:
        """Return the ranked tables for notebooks; ``None`` where no plugin writes HTML."""
        return self.view("html") if "html" in self._plugins.results_views.ids else None

    def view(self, id_: str) -> Any:
        """Return what a plugin makes of the results.

        :raises UsageError: no plugin has such a view.
        """
        return self._plugins.results_views.find(id_).make(self.data)

    @property
    def plot(self) -> Any:
        """What can be drawn: ``results.plot.bars()``, ``results.plot.roofline()``.

        :raises UsageError: no plugin draws.
        """
        return self.view("plot")

    @property
    def _plugins(self) -> Registry:
        if self._registry is None:
            from ckprof.plugin.manager import installed_registry

            self._registry = installed_registry()
        return self._registry

    @property
    def problems(self) -> Sequence[Problem]:
        """What the kernels were run on."""
        return self.data.problems

    @property
    def succeeded(self) -> bool:
        """False if an outcome failed, or no kernel could serve one of the problems."""
        return self.data.succeeded

    def filter(
        self, choose: Callable[[Result], bool] | None = None, *, status: Status | str | None = None
    ) -> Results:
        """Return the results that a function chooses, or those of a status.

        :param choose: ``None`` for all.
        :param status: e.g. ``"ok"``.
        :raises UsageError: there is no such status.
        """
        wanted = members(Status, status) if isinstance(status, str) else (status,)
        kept = {
            id(result.outcome)
            for result in self
            if (status is None or result.status in wanted) and (choose is None or choose(result))
        }
        outcomes = tuple(outcome for outcome in self.data.outcomes if id(outcome) in kept)
        return Results(replace(self.data, outcomes=outcomes), self._registry)

    def best(self, problem: int | Problem = 0) -> Result | None:
        """Return the fastest verified result of a problem; ``None`` if no kernel could serve it.

        :param problem: its position, or the problem itself.
        :raises UsageError: there is no such position, or the problem was not run.
        """
        from ckprof.model.problem_case import plain

        problems = self.data.problems
        try:
            number = problem if isinstance(problem, int) else problems.index(plain(problem))
            index = range(len(problems))[number]
        except (IndexError, ValueError):
            raise UsageError(f"problem {problem}: the results have {len(problems)}, from 0") from None
        first = next((row for row in rows_of_problem(self.data, index) if row.rank == 1), None)
        return None if first is None else Result(problem_index=index, problem=problems[index], row=first)

    def to_dicts(self) -> list[dict[str, object]]:
        """Return one flat dictionary per outcome, with the columns of the CSV report."""
        return Table(data_columns(self.data), [result.row for result in self]).records()

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per outcome, with the columns of the CSV report.

        :raises ImportError: pandas is not installed.
        """
        from ckprof.data_frame import data_frame

        return data_frame(self.to_dicts())

    def render(self, report_format: ReportFormat | str) -> str:
        """Return the report in a format of the registry, or in the one of an id such as ``md``.

        :raises UsageError: no plugin has such a format.
        """
        if isinstance(report_format, str):
            report_format = self._plugins.formats.find(report_format)
        return report_format.render(self.data)


check_arguments(Results)
