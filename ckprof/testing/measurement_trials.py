"""Trials of what computes, measures and shows: on one instance of a list, which is run for them."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError, PluginError
from ckprof.model.outcome import Status
from ckprof.model.problem_case import ProblemCase, ProblemLine
from ckprof.model.results import BatchResults, ListResult, ListVerdict
from ckprof.model.types import DataType, TypeSet
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.testing.contract import CannotTry

if TYPE_CHECKING:
    from ckprof.model.parity import ParityReport
    from ckprof.model.problem import Problem
    from ckprof.plugin.hookspecs import Command
    from ckprof.plugin.protocols import (
        Baseline,
        ComparisonFormat,
        InspectionView,
        NamedDevice,
        Observer,
        Operation,
        ParityFormat,
        ProblemSetFile,
        ReportFormat,
        ResultsView,
        StoreFormat,
        Target,
    )
    from ckprof.testing.contract import Trials
    from ckprof.testing.samples import Samples

#: an error as formats report it
_FAILURE: Final = InputError("cannot be read", "list.conf", 3, 1)


def operation_trials(samples: Samples, operation: Operation) -> Trials:
    """Yield the trials of an operation on its smallest default problem."""
    problem = min(operation.default_problem.values(), key=lambda one: one.flop, default=None)
    if problem is None:
        raise PluginError("default_problem is empty")
    yield "describes its problem", problem.describe
    yield "computes a reference", lambda: _reference(samples, operation, problem)
    if operation.line_forms:
        yield "reads the lines that it writes", lambda: _lines(operation, problem)


def target_trials(samples: Samples, target: Target) -> Trials:
    """Yield the trials of a target."""
    from ckprof.model.recipe import BuildRequest

    yield "reports what is there", lambda: f"{len(target.findings())} findings"
    request = BuildRequest(arch=target.default_arch)
    yield "has a recipe", lambda: target.recipe(request).compiler.description


def device_trials(samples: Samples, device: NamedDevice) -> Trials:
    """Yield the trials of a device that any machine has."""
    yield "reports what is there", lambda: f"{len(device.findings())} findings"
    yield "has settings", lambda: f"{len(device.variables(device.id))} variables"


def baseline_trials(samples: Samples, baseline: Baseline) -> Trials:
    """Yield the trials of a library of somebody else."""
    yield "is installed", lambda: _installed(baseline)
    yield "computes the default problem of an instance", lambda: _compared(samples, baseline)


def observer_trials(samples: Samples, observer: Observer) -> Trials:
    """Yield the trials of an observer, on each target."""
    for target in samples.registry.targets.ids:
        yield f"reads {target}", lambda target=target: str(observer.observe(target, 0) or "nothing")  # type: ignore[misc]


def problem_set_trials(samples: Samples, file: ProblemSetFile) -> Trials:
    """Yield the trials of a problem set."""
    from ckprof.problems.problem_set import plugin_set

    yield "has problems", lambda: f"{len(plugin_set(file).problems(1))} problems"


def report_format_trials(samples: Samples, report_format: ReportFormat) -> Trials:
    """Yield the trials of a format of runs."""
    results = samples.results
    yield "renders a run", lambda: _size(report_format.render(results))
    if (render_batch := report_format.render_batch) is not None:
        item = ListResult(
            name="sample", direction=results.direction, verdict=ListVerdict.FINE, results=results
        )
        batch = BatchResults(root="", set_name="", found=1, lists=(item,))
        yield "renders a batch", lambda: _size(render_batch(batch))
    yield from _failure_trial(report_format)


def parity_format_trials(samples: Samples, parity_format: ParityFormat) -> Trials:
    """Yield the trials of a format of comparisons of strings."""
    yield "renders a comparison", lambda: _size(parity_format.render(_parity_report(samples)))
    yield from _failure_trial(parity_format)


def comparison_format_trials(samples: Samples, comparison_format: ComparisonFormat) -> Trials:
    """Yield the trials of a format of comparisons of measurements, on a store and itself."""
    store, compare = samples.store, samples.profiler.compare
    yield "renders a comparison", lambda: _size(comparison_format.render(compare(store, store)))
    yield from _failure_trial(comparison_format)


def results_view_trials(samples: Samples, view: ResultsView) -> Trials:
    """Yield the trials of what a plugin makes of results."""
    yield "shows a run", lambda: type(view.make(samples.results)).__name__


def inspection_view_trials(samples: Samples, view: InspectionView) -> Trials:
    """Yield the trials of what a plugin shows of inspections: nobody asks it for anything."""
    session = SimpleNamespace(profiler=samples.profiler)
    arguments = SimpleNamespace(**dict.fromkeys(view.options))
    yield "is not asked", lambda: str(view.prepare(arguments, session, None, ()) or "nothing")


def store_format_trials(samples: Samples, store_format: StoreFormat) -> Trials:
    """Yield the trials of what stores import and export: what it writes, it reads again."""
    yield "looks at an empty file", lambda: str(store_format.recognises(b""))
    if store_format.write is not None:
        yield "exports a store", lambda: _exported(samples, store_format)
    if store_format.read is not None:
        yield "imports", lambda: _imported(samples, store_format)


def _reference(samples: Samples, operation: Operation, problem: Problem) -> str:
    import numpy as np

    layout = next((one for one in operation.layouts if problem.unmet_by(one) is None), None)
    if layout is None:
        raise PluginError("no layout fits its default problem")
    draw = np.random.default_rng(0)
    *operands, result = operation.tensors
    values = {name: draw.random(problem.tensor(name, layout).shape) for name in operands}
    computed = operation.reference(problem, layout, values, TypeSet.shared(DataType.FP32))
    expected = problem.tensor(result, layout).shape
    if computed.shape != expected:
        raise PluginError(f"the reference has the shape {computed.shape}, the problem says {expected}")
    if not np.isfinite(computed).all():
        raise PluginError("the reference of operands between 0 and 1 is not finite")
    return f"{result} of {' x '.join(map(str, expected))} in {layout.name}"


def _compared(samples: Samples, baseline: Baseline) -> str:
    sample = samples.any_sample
    results = samples.profiler.profile(
        sample.query, build=samples.build, run=samples.options, baselines=(baseline.id,)
    )
    (measured,) = results.data.baselines
    outcome = measured.outcome
    if outcome.status is Status.UNSUPPORTED:
        raise CannotTry(f"does not compute {results.problems[0].describe()}: {outcome.reason}")
    if outcome.status is not Status.OK:
        raise PluginError(f"{outcome.status.value}: {outcome.reason}")
    return measured.description


def _parity_report(samples: Samples) -> ParityReport:
    from ckprof.parity.check import check_parity
    from ckprof.parity.request import ParityRequest

    sample = samples.any_sample
    request = ParityRequest(direction=sample.candidate.instance.direction, conf=(str(sample.path),))
    report, _ = check_parity(samples.profiler, request)
    return report


def command_trials(samples: Samples, command: Command) -> Trials:
    """Yield the trials of a command, which is not run."""
    yield "says what it is for", lambda: _summary(command)
    yield "adds its options", lambda: _help(samples, command)


def _help(samples: Samples, command: Command) -> str:
    parser, profiler = ArgumentParser(prog=f"ckprof {command.name}"), samples.profiler
    # what it can ask of a session before it runs
    session = SimpleNamespace(
        profiler=profiler, registry=samples.registry, manager=profiler.manager, settings=profiler.settings
    )
    command.add_arguments(parser, session)
    return _size(parser.format_help())


def _file(samples: Samples, store_format: StoreFormat) -> Path:
    return samples.folder / f"exported{next(iter(store_format.suffixes), '')}"


def _exported(samples: Samples, store_format: StoreFormat) -> str:
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store

    write: Any = store_format.write
    with Store(samples.store) as store:
        written = write(store, StoreQuery(), _file(samples, store_format))
    if not written.rows:
        raise CannotTry(
            f"has no place for what ran here: {', '.join(written.left_out) or 'no rows'}; "
            "name another list with --conf"
        )
    return f"{written.rows} rows"


def _imported(samples: Samples, store_format: StoreFormat) -> str:
    read: Any = store_format.read
    path = _file(samples, store_format)
    if store_format.write is None:
        path.write_bytes(b"")
        try:
            return f"{len(list(read(path, ImportHints())))} outcomes of an empty file"
        except InputError as exc:
            return f"refuses an empty file: {exc.message}"
    with path.open("rb") as stream:
        if not store_format.recognises(stream.read(4096)):
            raise PluginError("does not recognise what it has written")
    results, kernel = samples.results, samples.results.instances[0]
    hints = ImportHints(
        direction=results.direction,
        target=results.target,
        arch=results.arch,
        dtype=kernel.dtype,
        layout=kernel.layout,
        device="a device",
    )
    count = len(list(read(path, hints)))
    if not count:
        raise PluginError("reads nothing in what it has written")
    return f"{count} outcomes"


def _failure_trial(chosen: ReportFormat | ParityFormat | ComparisonFormat) -> Trials:
    if (render := chosen.render_failure) is not None:
        yield "says why there is no result", lambda: _size(render(_FAILURE))


def _summary(command: Command) -> str:
    if not command.summary or not command.task:
        raise PluginError("help has no line for it: task or summary is empty")
    return command.summary


def _size(text: str | bytes) -> str:
    return f"{len(text)} {'bytes' if isinstance(text, bytes) else 'characters'}"


def _installed(baseline: Baseline) -> str:
    if missing := baseline.missing():
        raise CannotTry(missing)
    return "nothing is missing"


def _lines(operation: Any, problem: Problem) -> str:
    """Check that the lines of a problem are read as that problem."""
    for form in operation.line_forms:
        text = operation.problem_line(ProblemCase(problem=problem, direction=operation.id), form)
        again = operation.parse_problem(ProblemLine(text=text, path=form))
        if again.problem != problem:
            raise PluginError(f"{text!r} is read as {again.problem.describe()}")
    return ", ".join(operation.line_forms)
