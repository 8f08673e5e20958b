"""One session of the profiler for Python programs: everything that a command does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.argument_types import check_arguments
from ckprof.errors import UsageError
from ckprof.model.architecture import use_files
from ckprof.plugin.manager import PluginManager
from ckprof.session import Session, ignore
from ckprof.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ckprof.compare.compare import Comparison as MeasurementComparison
    from ckprof.compare.inputs import SideInput
    from ckprof.compare.options import ChangePolicy, CompareOptions
    from ckprof.compare.self_test import SelfTest
    from ckprof.events import Listener
    from ckprof.kernels.candidates import Rejection
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.emit import EmittedList
    from ckprof.kernels.inspection import Inspection
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.kernels.requests import BuildOptions, InstanceQuery
    from ckprof.kernels.source_tree import SourceTree
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import CallOptions, RunPlanOptions, RunRequest, SupportRequest
    from ckprof.measure.support import SupportReport
    from ckprof.model.conversion import Conversion, ExplainedLine, ListReading
    from ckprof.model.device import Finding
    from ckprof.model.outcome import Outcome
    from ckprof.model.parity import ParityFinding, ParityReport
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.results import ListResult, RunResults
    from ckprof.parity.request import ParityRequest
    from ckprof.results import Results
    from ckprof.sweep.requests import SweepOptions
    from ckprof.sweep.sweep import SweepResult


class Profiler(Session):
    """Settings and plugins, opened once.

    >>> import ckprof
    >>> profiler = ckprof.Profiler()
    >>> query = ckprof.InstanceQuery(conf="forward/tests/nhwgc_fp16", indices=(2, 9))
    >>> len(profiler.instances(query).candidates)
    2

    :param config: a settings file; by default ``ckprof.toml`` here or in a parent folder, if there is one.
    :param plugins: module names or paths of ``.py`` files, beside those that are installed.
    :param on_event: called with what happens; see :mod:`ckprof.events`. An exception from it ends the
        call.
    :raises CkprofError: the settings are wrong, or a plugin that was named cannot be loaded.
    """

    def __init__(
        self,
        config: Path | str | None = None,
        plugins: Iterable[str] = (),
        *,
        on_event: Listener = ignore,
    ) -> None:
        settings = load_settings(Path(config) if config else None, Path.cwd())
        use_files(Path(name).expanduser() for name in settings.architectures)
        manager = PluginManager()
        manager.load_all(configured=settings.plugins, requested=plugins)
        super().__init__(settings=settings, manager=manager, emit=on_event)

    def read(
        self, name: str | Path, *, direction: str | None = None, reading: ListReading | None = None
    ) -> Conversion:
        """Read a list in any dialect, or a JSON catalog.

        :param name: a path, or the name of a list that ships with ckprof.
        :param direction: id or alias that the list must belong to.
        :param reading: how it is read.
        :returns: catalogs of instances, and an account of every line.
        :raises InputError: the file cannot be read, is in no known dialect, or has wrong lines.
        """
        from ckprof.kernels.choose import load_list

        expected = self.registry.operation(direction).id if direction else None
        return load_list(self, name, expected, reading)

    def instances(self, query: InstanceQuery) -> Selection:
        """Return the instances that a query means, valid and invalid ones apart.

        :raises UsageError: the query contradicts itself, or a name or filter is wrong.
        :raises InputError: a list cannot be used.
        :raises PluginError: a plugin breaks its contract.
        """
        from ckprof.kernels.choose import choose_instances

        return choose_instances(self, query)

    def explain(self, line: str, *, reading: ListReading | None = None) -> ExplainedLine:
        """Say what becomes of one line of a list, argument by argument.

        :param line: its text, or where it stands: ``FILE:LINE``.
        :raises CkprofError: there is no such file or line, or no converter knows such lines.
        """
        from ckprof.lists.list_files import explain
        from ckprof.model.conversion import ListReading

        return explain(line, self.registry, reading or ListReading())

    def generate(
        self, selection: Selection, options: BuildOptions | None = None
    ) -> tuple[SourceTree, list[Rejection]]:
        """Write the C++ sources of a selection.

        :returns: the tree, and the instances that a rule rejects.
        :raises NothingLeftError: no instance is valid.
        :raises CkprofError: the folder cannot be written.
        """
        from ckprof.kernels.library import generate_sources
        from ckprof.kernels.requests import BuildOptions

        return generate_sources(self, selection.require(), options or BuildOptions())

    def build(
        self, selection: Selection, options: BuildOptions | None = None, *, run: bool = True
    ) -> BuiltLibrary:
        """Compile a selection into one library.

        :param run: the kernels shall be run on this machine; otherwise whatever can be built is.
        :returns: the library; what did not compile, or is not valid, is in ``rejected``.
        :raises ToolchainError: no usable compiler, the build system failed, or kernels cannot be run here.
        """
        from ckprof.kernels.requests import BuildOptions
        from ckprof.measure.support import build_checked_library
        from ckprof.model.recipe import Purpose

        return build_checked_library(
            self,
            selection.require(),
            options or BuildOptions(),
            Purpose.RUN if run else Purpose.BUILD,
        )

    def link(
        self, selection: Selection, options: BuildOptions | None = None
    ) -> tuple[Path | None, list[Rejection]]:
        """Build a selection with CMake: a shared library for programs that register or call the kernels.

        :returns: the library, ``None`` if no instance is valid, and the instances that a rule rejects.
        :raises ToolchainError: no usable compiler, no CMake, or the build failed.
        """
        from ckprof.kernels.library import link_library
        from ckprof.kernels.requests import BuildOptions

        return link_library(self, selection.require(), options or BuildOptions())

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
        from ckprof.kernels.fitting import problems_for
        from ckprof.measure.options import RunOptions
        from ckprof.measure.run import Run
        from ckprof.problems.choose import parse_problems

        parsed = parse_problems(self, library.direction, problems)
        chosen = problems_for(self, parsed, library.direction, library.candidates)
        return Run(self, library, chosen, options or RunOptions(timeout_s=self.settings.timeout)).outcomes()

    def profile(
        self,
        query: InstanceQuery,
        problems: Sequence[str | Problem] | None = None,
        *,
        build: BuildOptions | None = None,
        run: RunOptions | None = None,
        baselines: Sequence[str] = (),
    ) -> Results:
        """Choose, build, run, verify, time and rank: what ``ckprof run`` does.

        :param query: which instances; their direction is that of the list, unless the query names it.
        :param problems: lines or problems; ``None`` for what the kernel families run on by themselves.
        :param baselines: ids of other libraries that are measured as well.
        :raises CkprofError: as the single steps.
        """
        return self.execute(self.plan(query, problems, build=build, run=run, baselines=baselines))

    def plan(
        self,
        query: InstanceQuery,
        problems: Sequence[str | Problem | ProblemCase] | None = None,
        *,
        files: Sequence[Path] = (),
        build: BuildOptions | None = None,
        run: RunOptions | None = None,
        splits: tuple[int, ...] = (),
        strict_layout: bool = False,
        why: bool = False,
        epilogue_cost: bool = False,
        baselines: Sequence[str] = (),
    ) -> RunRequest:
        """Return what :meth:`profile` would build and run, for :meth:`execute`.

        :param problems: lines or problems; ``None`` for those of the files, or without files for what the
            kernel families run on by themselves.
        :param files: files with one problem a line.
        :param splits: numbers of splits of the reduction for every problem; by default those that each
            problem line names, or else those of ``run``.
        :param strict_layout: a line whose layout no instance has does not fit, even where all have one.
        :param why: reports shall say every condition that rejected an instance.
        :param epilogue_cost: run each kernel beside the same one without what is fused to its sums.
        :param baselines: ids of other libraries that are measured as well.
        :raises CkprofError: the query or a problem is wrong, or ``problems`` is empty.
        """
        from ckprof.kernels.choose import choose_instances
        from ckprof.kernels.fitting import problems_for
        from ckprof.kernels.requests import BuildOptions
        from ckprof.measure.options import RunOptions
        from ckprof.measure.requests import RunPlanOptions, Stages
        from ckprof.problems.choose import parse_problems

        if problems is not None and not problems:
            raise UsageError("problems is empty; without the argument, kernels run on their families' own")
        build = build or BuildOptions()
        query = replace(query, arch=query.arch or build.arch, target=query.target or build.target)
        stages = Stages()
        selection = choose_instances(self, query).require()
        operation = self.registry.operation(selection.direction)
        given = parse_problems(self, operation, problems or (), files, lenient=query.reading.lenient)
        cases = problems_for(self, given, operation, selection.candidates, strict_layout=strict_layout)
        unfused = None
        if epilogue_cost:
            from ckprof.kernels.candidates import with_unfused
            from ckprof.measure.baselines import paired_problems

            own = frozenset(candidate.instance.key for candidate in selection.candidates)
            selection, pairs = with_unfused(selection)
            cases, unfused = paired_problems(cases, own, pairs)
        options = RunPlanOptions(
            run=run or RunOptions(timeout_s=self.settings.timeout),
            splits=splits,
            why=why,
            baselines=tuple(baselines),
        )
        return options.request(selection, cases, build, stages, unfused)

    def execute(self, request: RunRequest) -> Results:
        """Build and run what was planned.

        :raises CkprofError: no toolchain, or a plugin breaks its contract.
        """
        from ckprof.results import Results

        results, error = self.execute_until_end(request)
        if error is not None:
            raise error
        return Results(results, self.registry)

    def execute_until_end(self, request: RunRequest) -> tuple[RunResults, BaseException | None]:
        """Build and run what was planned; return what was found out even if something ends the run.

        :returns: the results, and the error or interruption that ended the run before its last outcome.
        :raises CkprofError: nothing was run: no toolchain, or the store cannot be written.
        """
        if request.store is not None:
            from ckprof.sweep.recording import run_into_store

            return run_into_store(self, request, request.store)
        from ckprof.measure.run import run_to_its_end

        return run_to_its_end(self, request)

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

        The same call resumes where an earlier one was stopped, at whatever moment.

        :param query: which instances, all of one direction.
        :param problems: lines or problems.
        :param options: where the outcomes go, and when it is enough.
        :param run: how kernels are run and timed in each round; by default shorter than ``ckprof run`` does.
        :raises CkprofError: as the single steps, or the store cannot be written.
        """
        from ckprof.sweep.requests import RoundRunOptions

        run = run or RoundRunOptions(timeout_s=self.settings.timeout)
        return self.execute_sweep(self.plan(query, problems, build=build, run=run), options)

    def execute_sweep(self, request: RunRequest, options: SweepOptions) -> SweepResult:
        """Build what was planned, and measure what the store does not have.

        :raises CkprofError: as :meth:`sweep`.
        """
        if options.runner is not None:
            return options.runner.run(self, request, options)
        from ckprof.sweep.sweep import run_sweep

        return run_sweep(self, request, options)

    def problems(
        self, direction: str, lines: Sequence[str | Problem | ProblemCase] = (), *, files: Sequence[Path] = ()
    ) -> list[ProblemCase]:
        """Return the problems of lines and files, with what the lines say besides.

        :param direction: id or alias of the direction that they are for.
        :param files: files with one problem a line; lines for other directions, and for what no kernel
            computes, are left out and counted.
        :raises InputError: a line is wrong, or one of ``lines`` asks for another direction, or for what no
            kernel computes.
        """
        from ckprof.problems.choose import note_skipped, parse_problems

        given = parse_problems(self, self.registry.operation(direction), lines, files)
        note_skipped(self, given.skipped)
        return list(given.all)

    def batch(
        self,
        root: Path | str,
        query: InstanceQuery | None = None,
        plan: RunPlanOptions | None = None,
        *,
        build: BuildOptions | None = None,
        set_name: str = "",
    ) -> Iterator[ListResult]:
        """Run every list of a tree, and yield one result per list.

        :param root: folder of lists.
        :param query: how each list is read and filtered; it names none.
        :param plan: what lists are run on, and how.
        :param set_name: only lists in folders of this name.
        :raises CkprofError: the tree, an option, a problem, a plugin or the toolchain is wrong.
        """
        from ckprof.kernels.requests import BuildOptions, InstanceQuery
        from ckprof.measure.options import RunOptions
        from ckprof.measure.requests import RunPlanOptions
        from ckprof.measure.run import Batch

        plan = plan or RunPlanOptions(run=RunOptions(timeout_s=self.settings.timeout))
        batch = Batch(self, str(root), query or InstanceQuery(), plan, build or BuildOptions(), set_name)
        return batch.results()

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
        from ckprof.measure.call import call_library
        from ckprof.measure.requests import CallOptions

        return call_library(self, Path(library), direction, problem, options or CallOptions())

    def check_support(self, request: SupportRequest) -> SupportReport:
        """Ask the kernels' own support tests, without a device.

        :raises CkprofError: no toolchain, or a library cannot be loaded.
        """
        from ckprof.measure.support import check_support

        return check_support(self, request)

    def inspect(
        self, selection: Selection, options: BuildOptions | None = None, *, problem: str | Problem = ""
    ) -> Inspection:
        """Return registers, spills, LDS, occupancy and instructions of a selection's kernels.

        :param problem: what estimates are about; none without it.
        :raises CkprofError: the target builds no code objects, no toolchain, or nothing compiled.
        """
        from ckprof.kernels.inspection import inspect_selection
        from ckprof.kernels.requests import BuildOptions

        parsed = self.problems(selection.require().direction, [problem] if problem else [])
        return inspect_selection(self, selection, options or BuildOptions(), *parsed)[0]

    def parity(self, request: ParityRequest) -> ParityReport:
        """Compare lists with the strings that CK Builder prints, or with those of a lock file.

        With ``request.write``, the lock file is written if everything matches.

        :raises CkprofError: a list, a log, the library or the request is wrong.
        """
        from ckprof.parity.check import check_parity
        from ckprof.parity.lockfile import write_lock

        report, lock = check_parity(self, request)
        if request.write is not None and report.passed:
            write_lock(request.write, lock)
        return report

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
        :param revision: the only CK revision that may have printed strings; by default any.
        :param fail_on: what makes the comparison fail; by default
            :data:`~ckprof.model.parity.DEFAULT_FAIL_ON`.
        :raises CkprofError: a file is wrong or of no known kind.
        """
        from ckprof.model.conversion import ListReading
        from ckprof.model.parity import DEFAULT_FAIL_ON
        from ckprof.parity.check import compare_files

        return compare_files(
            self,
            (str(first), str(second)),
            reading or ListReading(),
            direction=direction,
            revision=revision,
            fail_on=DEFAULT_FAIL_ON if fail_on is None else fail_on,
        )

    def list_text(self, selection: Selection, names: Sequence[str]) -> EmittedList:
        """Return some kernels of a selection as an instance list, and as a catalog.

        :param names: names of the kernels.
        :raises InputError: a kernel cannot be said in a list, or is not in the selection.
        """
        from ckprof.kernels.emit import emitted_list

        return emitted_list(self, selection, names)

    def compare(
        self, old: SideInput, new: SideInput, options: CompareOptions | None = None
    ) -> MeasurementComparison:
        """Judge what became faster, slower or wrong between two sides of measurements.

        :param old: a store, ``STORE@TAG``, or a file that can be imported into a store.
        :param new: the other side.
        :raises CkprofError: an input cannot be read, or kernels that shall be settled cannot be run.
        """
        from ckprof.compare.inputs import compare_inputs
        from ckprof.compare.options import CompareOptions

        return compare_inputs(self, old, new, options or CompareOptions())

    def self_test(
        self, given: SideInput, seeds: Sequence[int] = range(20), policy: ChangePolicy | None = None
    ) -> SelfTest:
        """Compare random halves of one input with each other, and look for an injected slowdown of 5 %.

        :param seeds: one halving each.
        :raises CkprofError: the input cannot be read.
        """
        from ckprof.compare.inputs import read_input
        from ckprof.compare.options import ChangePolicy
        from ckprof.compare.self_test import self_test

        return self_test(read_input(self, given), seeds, policy or ChangePolicy())

    def doctor(self) -> list[tuple[str, Finding]]:
        """Return (target id, what is there or missing) for every target."""
        return [(target.id, finding) for target in self.registry.targets for finding in target.findings()]


check_arguments(Profiler)
