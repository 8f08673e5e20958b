"""One session of the profiler for Python programs: everything that a command does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.opened_profiler import OpenedProfiler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.api.batch import Batch, BatchRequest
    from ckprof.api.comparison import CompareOptions, SideInput
    from ckprof.api.emitting import EmittedList
    from ckprof.api.instances import Selection
    from ckprof.api.kernel_selection import KernelChoice
    from ckprof.api.model_training import TrainedModel
    from ckprof.api.parity_request import ParityRequest
    from ckprof.api.requests import BuildOptions, CallOptions, InstanceQuery, ListReading, SweepOptions
    from ckprof.api.results import Results
    from ckprof.api.running import RunEnd, RunRequest
    from ckprof.api.selection_requests import SelectOptions, TrainOptions, ValidateOptions
    from ckprof.api.support import SupportReport, SupportRequest
    from ckprof.api.sweeping import SweepResult
    from ckprof.api.tune_requests import ReplayOptions, TuneOptions
    from ckprof.compare.model import Comparison as MeasurementComparison
    from ckprof.compare.self_test import SelfTest
    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.model.batch_results import ListResult
    from ckprof.model.finding import Finding
    from ckprof.model.inspection import Comparison, Inspection
    from ckprof.model.outcome import Outcome
    from ckprof.model.parity import ParityFinding, ParityReport
    from ckprof.model.problem import Problem
    from ckprof.parity.lockfile import Lock
    from ckprof.problems.tokens import ParsedProblem
    from ckprof.run.options import RunOptions
    from ckprof.selection.validation import Validation
    from ckprof.statistics.change import ChangePolicy
    from ckprof.store_report.content import ReportContent
    from ckprof.store_report.options import ReportOptions
    from ckprof.sweep.plan import Plan as SweepPlan
    from ckprof.tune.result import TuneResult


class Profiler(OpenedProfiler):
    """Settings and plugins, opened once.

    >>> import ckprof
    >>> profiler = ckprof.Profiler()
    >>> query = ckprof.InstanceQuery(conf="forward/tests/nhwgc_fp16", indices=(2, 9))
    >>> len(profiler.instances(query).candidates)
    2

    :param config: a settings file; by default ``ckprof.toml`` here or in a parent folder, if there is one.
    :param plugins: module names or paths of ``.py`` files, beside those that are installed.
    :param on_event: called with what happens; see :mod:`ckprof.api.events`. An exception from it ends the
        call.
    :raises CkprofError: the settings are wrong, or a plugin that was named cannot be loaded.
    """

    # --- runs -----------------------------------------------------------------------------------------------

    def run(
        self,
        library: BuiltLibrary,
        problems: Sequence[str | Problem] = (),
        options: RunOptions | None = None,
    ) -> Iterator[Outcome]:
        """Run a built library, and yield the outcomes as they come.

        :param problems: lines or problems; without any, what the kernel families run on by themselves.
        :raises CkprofError: a problem is wrong, the library cannot be loaded, or a plugin breaks
            its contract.
        """
        from ckprof.api.library_run import Run
        from ckprof.api.problems import parse_problems, problems_for
        from ckprof.run.options import RunOptions

        parsed = parse_problems(self._session, library.direction, problems, name="problem")
        chosen = problems_for(self._session, parsed, library.direction, library.candidates)
        how = options or RunOptions(timeout_s=self.settings.timeout)
        return Run(self._session, library, chosen, how).outcomes()

    def profile(
        self,
        query: InstanceQuery,
        problems: Sequence[str | Problem] = (),
        *,
        build: BuildOptions | None = None,
        run: RunOptions | None = None,
        baselines: Sequence[str] = (),
    ) -> Results:
        """Choose, build, run, verify, time and rank: what ``ckprof run`` does.

        :param query: which instances; their direction is that of the list, unless the query names it.
        :param problems: lines or problems; without any, what the kernel families run on by themselves.
        :param baselines: ids of other libraries that are measured as well.
        :raises CkprofError: as the single steps.
        """
        from ckprof.api.requests import BuildOptions

        options = build or BuildOptions()
        query = replace(query, arch=query.arch or options.arch, target=query.target or options.target)
        plan = self.plan(query, problems, build=options, run=run)
        return self.execute(replace(plan, baselines=tuple(baselines)))

    def plan(
        self,
        query: InstanceQuery,
        problems: Sequence[str | Problem] = (),
        *,
        files: Sequence[Path] = (),
        build: BuildOptions | None = None,
        run: RunOptions | None = None,
        splits: tuple[int, ...] = (),
        strict_layout: bool = False,
        why: bool = False,
    ) -> RunRequest:
        """Return what :meth:`profile` would build and run, for :meth:`execute`.

        :param problems: lines or problems.
        :param files: files with one problem a line.
        :param splits: numbers of splits of the reduction for every problem; by default those that each
            problem line names, or else those of ``run``.
        :param strict_layout: a line whose layout no instance has does not fit, even where all have one.
        :param why: reports shall say every condition that rejected an instance.
        :raises CkprofError: the query or a problem is wrong.
        """
        from ckprof.api.requests import BuildOptions, RunPlanOptions
        from ckprof.api.running import plan_run

        options = RunPlanOptions(
            problems=tuple(problems),
            files=tuple(files),
            run=run,
            splits=splits,
            strict_layout=strict_layout,
            why=why,
        )
        return plan_run(self._session, query, build or BuildOptions(), options)

    def execute(self, request: RunRequest) -> Results:
        """Build and run what was planned.

        :raises CkprofError: no toolchain, or a plugin breaks its contract.
        """
        from ckprof.api.results import Results
        from ckprof.api.running import build_and_run

        return Results(build_and_run(self._session, request))

    def execute_until_end(self, request: RunRequest) -> RunEnd:
        """Build and run what was planned; return what was found out even if something ends the run.

        :returns: the results, and the error or interruption that ended the run before its last outcome.
        :raises CkprofError: nothing was run: no toolchain, or the store cannot be written.
        """
        from ckprof.api.running import run_to_its_end

        return run_to_its_end(self._session, request)

    def sweep(
        self,
        query: InstanceQuery,
        problems: Sequence[str | Problem],
        options: SweepOptions,
        *,
        build: BuildOptions | None = None,
        run: RunOptions | None = None,
    ) -> SweepResult:
        """Measure many kernels on many problems in rounds, into a store: what ``ckprof sweep`` does.

        The same call goes on where an earlier one was stopped, at whatever moment.

        :param query: which instances, all of one direction.
        :param problems: lines or problems.
        :param options: where the outcomes go, and when it is enough.
        :param run: how kernels are run and timed in each round; by default shorter than ``ckprof run`` does.
        :raises CkprofError: as the single steps, or the store cannot be written.
        """
        from ckprof.api.requests import BuildOptions
        from ckprof.sweep.defaults import round_run_options

        how = build or BuildOptions()
        query = replace(query, arch=query.arch or how.arch, target=query.target or how.target)
        run = run or round_run_options(self.settings.timeout)
        return self.execute_sweep(self.plan(query, problems, build=how, run=run), options)

    def execute_sweep(self, request: RunRequest, options: SweepOptions) -> SweepResult:
        """Build what was planned, and measure what the store does not have.

        :raises CkprofError: as :meth:`sweep`.
        """
        if options.on_engine:
            from ckprof.api.engine_sweep import run_on_engine

            return run_on_engine(self._session, request, options)
        from ckprof.api.sweeping import run_sweep

        return run_sweep(self._session, request, options)

    def plan_sweep(self, request: RunRequest, options: SweepOptions) -> SweepPlan:
        """Return what :meth:`execute_sweep` would do, without building.

        :raises CkprofError: the store cannot be read, or there is no toolchain.
        """
        from ckprof.api.sweeping import plan_sweep

        return plan_sweep(self._session, request, options)

    def describe_engine(self, request: RunRequest, options: SweepOptions, plan: SweepPlan) -> list[str]:
        """Return what a sweep costs on the engine that its options ask for; nothing without one.

        :param plan: what :meth:`plan_sweep` returned.
        :raises CkprofError: the engine or its settings are wrong.
        """
        if not options.on_engine:
            return []
        from ckprof.api.engine_sweep import describe_engine

        return describe_engine(self._session, request, options, plan)

    def problems(
        self, direction: str, lines: Sequence[str | Problem] = (), *, files: Sequence[Path] = ()
    ) -> list[ParsedProblem]:
        """Return the problems of lines and files, with what the lines say besides.

        :param direction: id or alias of the direction that they are for.
        :param files: files with one problem a line; lines for other directions are left out.
        :raises InputError: a line is wrong, or one of ``lines`` asks for another direction.
        """
        from ckprof.api.problems import parse_problems

        return list(parse_problems(self._session, self.registry.operation(direction), lines, files).all)

    def open_batch(self, request: BatchRequest) -> Batch:
        """Find the lists of a tree; :meth:`Batch.results <ckprof.api.batch.Batch.results>` runs them.

        :raises CkprofError: the tree, an option or a problem is wrong.
        """
        from ckprof.api.batch import Batch

        return Batch(self._session, request)

    def batch(self, request: BatchRequest) -> Iterator[ListResult]:
        """Run every list of a tree, and yield one result per list.

        :raises CkprofError: the tree, an option, a problem, a plugin or the toolchain is wrong.
        """
        return self.open_batch(request).results()

    def call(
        self,
        library: Path | str,
        direction: str,
        problem: str | Problem,
        options: CallOptions | None = None,
    ) -> dict[str, object]:
        """Run one kernel of a library that is built already, in a process of its own.

        :param direction: id or alias of what the library computes.
        :returns: everything about the run as plain JSON values; ``success`` says whether it went well.
        :raises InputError: the problem is wrong, or the library cannot be used.
        """
        from ckprof.api.calling import call_library
        from ckprof.api.requests import CallOptions

        return call_library(self._session, Path(library), direction, problem, options or CallOptions())

    # --- answers without a run ------------------------------------------------------------------------------

    def check_support(self, request: SupportRequest) -> SupportReport:
        """Ask the kernels' own support tests, without a device.

        :raises CkprofError: no toolchain, or a library cannot be loaded.
        """
        from ckprof.api.support import check_support

        return check_support(self._session, request)

    def inspect(
        self, selection: Selection, options: BuildOptions | None = None, *, problem: str | Problem = ""
    ) -> Inspection:
        """Return registers, spills, LDS, occupancy and instructions of a selection's kernels.

        :param problem: what estimates are about; none without it.
        :raises CkprofError: the target builds no code objects, no toolchain, or nothing compiled.
        """
        direction = selection.require().direction
        parsed = self.problems(direction, [problem] if problem else [])
        return self.inspect_built(selection, options, parsed[0] if parsed else None)[0]

    def inspect_built(
        self,
        selection: Selection,
        options: BuildOptions | None = None,
        problem: ParsedProblem | None = None,
    ) -> tuple[Inspection, BuiltLibrary]:
        """Do the same as :meth:`inspect`, and return the build as well, with what did not compile.

        :raises CkprofError: as :meth:`inspect`.
        """
        from ckprof.api.inspection import inspect_selection
        from ckprof.api.requests import BuildOptions

        return inspect_selection(self._session, selection, options or BuildOptions(), problem)

    def load_inspection(self, path: Path | str) -> Inspection:
        """Return the inspection of a build's folder, or of a JSON report.

        :raises InputError: it is neither.
        """
        from ckprof.flow.inspect_build import load_inspection

        return load_inspection(Path(path), self.registry)

    def compare_inspections(self, before: Inspection, after: Inspection) -> Comparison:
        """Compare two builds by the names of their kernels."""
        from ckprof.model.inspection import compare

        return compare(before, after)

    def parity(self, request: ParityRequest) -> ParityReport:
        """Compare lists with the strings that CK Builder prints, or with those of a lock file.

        With ``request.write``, the lock file is written if everything matches.

        :raises CkprofError: a list, a log, the library or the request is wrong.
        """
        from ckprof.parity.lockfile import write_lock

        report, lock = self.check_parity(request)
        if request.write is not None and report.passed:
            write_lock(request.write, lock)
        return report

    def check_parity(self, request: ParityRequest) -> tuple[ParityReport, Lock]:
        """Compare as :meth:`parity` does, but return the content of the lock file instead of writing it.

        :raises CkprofError: as :meth:`parity`.
        """
        from ckprof.api.parity import check_parity

        return check_parity(self._session, request)

    def diff(
        self,
        first: str | Path,
        second: str | Path,
        *,
        reading: ListReading | None = None,
        direction: str | None = None,
        revision: str | None = None,
        fail_on: tuple[ParityFinding, ...] | None = None,
    ) -> ParityReport:
        """Compare the instances of any two of list, catalog, native list, library and log.

        :param reading: how lists are read.
        :param direction: id or alias that both must belong to.
        :param revision: CK revision whose strings are compared.
        :param fail_on: what makes the comparison fail; by default
            :data:`~ckprof.model.parity.DEFAULT_FAIL_ON`.
        :raises CkprofError: a file is wrong or of no known kind.
        """
        from ckprof.api.parity import ComparedFiles, compare_files
        from ckprof.api.requests import ListReading
        from ckprof.model.parity import DEFAULT_FAIL_ON

        files = ComparedFiles(
            names=(str(first), str(second)),
            direction=direction,
            revision=revision,
            fail_on=DEFAULT_FAIL_ON if fail_on is None else fail_on,
        )
        return compare_files(self._session, files, reading or ListReading())

    # --- time models ----------------------------------------------------------------------------------------

    def train(self, options: TrainOptions) -> TrainedModel:
        """Fit a time model to measured times; nothing is written: its file's content is ``text``.

        :raises InputError: a table is wrong, or holds too few problems.
        """
        from ckprof.api.model_training import train_model

        return train_model(self._session, options)

    def validate(self, options: ValidateOptions) -> Validation:
        """Judge a time model by measured times that it has not seen.

        :raises InputError: the model or a table is wrong, or they are of different devices.
        """
        from ckprof.api.model_training import validate_model

        return validate_model(self._session, options)

    def select(self, options: SelectOptions) -> KernelChoice:
        """Return the best kernels for a problem by a time model, only such as support it.

        :raises InputError: the model is of another device or direction and not forced.
        :raises NothingLeftError: no kernel can be predicted, or none supports the problem.
        """
        from ckprof.api.kernel_selection import select_kernels

        return select_kernels(self._session, options)

    # --- guided searches ------------------------------------------------------------------------------------

    def tune(
        self,
        query: InstanceQuery,
        problems: Sequence[str | Problem],
        options: TuneOptions,
        *,
        build: BuildOptions | None = None,
        run: RunOptions | None = None,
    ) -> TuneResult:
        """Find the best kernels for some problems without measuring them all: what ``ckprof tune`` does.

        A problem that is named several times counts as often. The same call goes on where an earlier one was
        stopped, at whatever moment.

        :param query: which instances, all of one direction, type, layout and number of dimensions.
        :param problems: lines or problems.
        :param options: how kernels are looked for, how long, and where the outcomes go.
        :param run: how kernels are run and timed in each round; by default shorter than ``ckprof run`` does.
        :raises CkprofError: as the single steps, or the store cannot be written.
        """
        from ckprof.api.requests import BuildOptions
        from ckprof.sweep.defaults import round_run_options

        how = build or BuildOptions()
        query = replace(query, arch=query.arch or how.arch, target=query.target or how.target)
        run = run or round_run_options(self.settings.timeout)
        return self.execute_tune(self.plan(query, problems, build=how, run=run), options)

    def execute_tune(self, request: RunRequest, options: TuneOptions) -> TuneResult:
        """Do the same as :meth:`tune` for what was planned.

        :raises CkprofError: as :meth:`tune`.
        """
        from ckprof.api.tuning import tune

        return tune(self._session, request, options)

    def replay(self, options: ReplayOptions) -> TuneResult:
        """Search recorded measurements: nothing is built or run, the time that it would take is counted.

        :raises UsageError: the strategy is unknown, or a value is out of range.
        :raises InputError: a table or the model is wrong.
        """
        from ckprof.api.tuning import replay

        return replay(self._session, options)

    def list_text(self, selection: Selection, names: Sequence[str]) -> EmittedList:
        """Return some kernels of a selection as an instance list, and as a catalog.

        :param names: names of the kernels.
        :raises InputError: a kernel cannot be said in a list, or is not in the selection.
        """
        from ckprof.api.emitting import emitted_list

        return emitted_list(self._session, selection, names)

    # --- what was measured ----------------------------------------------------------------------------------

    def compare(
        self, old: SideInput, new: SideInput, options: CompareOptions | None = None
    ) -> MeasurementComparison:
        """Judge what became faster, slower or wrong between two sides of measurements.

        :param old: a store, ``STORE@TAG``, or a file that can be imported into a store.
        :param new: the other side.
        :raises CkprofError: an input cannot be read, or kernels that shall be settled cannot be run.
        """
        from ckprof.api.comparison import CompareOptions, compare_inputs

        how = options or CompareOptions()
        if how.direction is not None:
            how = replace(how, direction=self.registry.operation(how.direction).id)
        return compare_inputs(self._session, old, new, how)

    def report(self, *inputs: SideInput, options: ReportOptions | None = None) -> ReportContent:
        """Compute the report of a store, or of the second one compared with the first.

        ``registry.store_report_formats.find("html").render(...)`` writes it.

        :param inputs: as for :meth:`compare`.
        :raises CkprofError: an input cannot be read, or there are more than two.
        """
        from ckprof.api.comparison import report_inputs
        from ckprof.store_report.options import ReportOptions

        return report_inputs(self._session, inputs, options or ReportOptions())

    def self_test(
        self, given: SideInput, seeds: Sequence[int] = range(20), policy: ChangePolicy | None = None
    ) -> SelfTest:
        """Compare random halves of one input with each other, and look for an injected slowdown of 5 %.

        :param seeds: one halving each.
        :raises CkprofError: the input cannot be read.
        """
        from ckprof.api.comparison import read_input
        from ckprof.compare.self_test import self_test
        from ckprof.statistics.change import ChangePolicy

        return self_test(read_input(self._session, given), seeds, policy or ChangePolicy())

    def doctor(self) -> list[tuple[str, Finding]]:
        """Return (target id, what is there or missing) for every target."""
        return [(target.id, finding) for target in self.registry.targets for finding in target.findings()]
