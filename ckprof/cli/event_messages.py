"""Says on standard error what the library does."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from ckprof.cli.convert_report import report_conversion
from ckprof.cli.sweep_messages import SWEEP_EVENTS, SweepMessages
from ckprof.events import StatusLine
from ckprof.kernels.events import (
    BuildFinished,
    BuildProgress,
    BuildStarted,
    InvalidLeftOut,
    ListRead,
    PartFinished,
    PartStarted,
)
from ckprof.measure.events import (
    BaselineMeasured,
    BatchListFinished,
    BatchListStarted,
    FlushReduced,
    OperandsReady,
    OutcomeKnown,
    RunFinished,
    RunProgress,
    RunStarted,
    RunWarning,
    WaitingForDevice,
    WorkerLost,
    WorkerReady,
)
from ckprof.parity.events import AskingBuilder, ConversionNotes, NotFrozen
from ckprof.problems.choose import DefaultProblemUsed, ProblemNote
from ckprof.report.run_table import status_counts
from ckprof.wording import counted

if TYPE_CHECKING:
    from ckprof.cli.console import Console
    from ckprof.events import Event
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.model.results import SeparatedKernels

#: kernels that a message names
_NAMED: Final = 3


class EventMessages:
    """A listener that prints.

    :param console: where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        #: what progress is shown of; empty for nothing
        self._doing = ""
        self._sweep = SweepMessages(console)

    def __call__(self, event: Event) -> None:
        """Print what is worth it."""
        if isinstance(event, (BuildProgress, OutcomeKnown)):
            self._step(event)
        elif isinstance(event, (RunProgress, RunWarning)):
            self._run(event)
        elif isinstance(event, (BuildStarted, BuildFinished)):
            self._build(event)
        elif isinstance(event, (PartStarted, PartFinished)):
            self._part(event)
        elif isinstance(event, (BatchListStarted, BatchListFinished)):
            self._batch(event)
        elif isinstance(event, SWEEP_EVENTS):
            self._sweep(event)
        elif isinstance(event, StatusLine):
            self._console.status(event.text)
        elif isinstance(event, RunStarted):
            self._begin("run")
        elif isinstance(event, RunFinished):
            self._end_progress()
        else:
            self._message(event)

    def _step(self, event: BuildProgress | OutcomeKnown) -> None:
        if isinstance(event, OutcomeKnown):
            outcome = event.outcome
            self._console.detail(f"{outcome.status.value}: {event.name} {outcome.reason}".rstrip())
        elif self._doing:
            self._console.progress(self._doing, event.done, event.total, event.name)

    def _run(self, event: RunProgress | RunWarning) -> None:
        if isinstance(event, RunWarning):
            self._console.warning(event.text)
            return
        measured = event.outcome.measurement
        if measured is not None:
            self._console.detail(f"round {event.round}: {measured.median_ms:.4g} ms {event.name}")
        if self._doing:
            self._console.progress(self._doing, event.done, event.total, event.name, eta_s=event.eta_s)

    def _build(self, event: BuildStarted | BuildFinished) -> None:
        if isinstance(event, BuildStarted):
            self._console.detail(f"compiler: {event.compiler}")
            self._begin("build")
            return
        self._end_progress()
        if event.library is not None:
            self._console.info(_build_summary(event.library))
            for one in event.library.summary.separated:
                self._console.warning(_separated(one))

    def _part(self, event: PartStarted | PartFinished) -> None:
        if isinstance(event, PartFinished):
            self._end_progress()
            return
        takes = "what has changed" if event.cpu_s is None else f"about {event.cpu_s:.0f} s of CPU time"
        self._console.info(f"compiling {event.name}, once on this machine: {takes}; kept in {event.folder}")
        self._begin(event.name)

    def _batch(self, event: BatchListStarted | BatchListFinished) -> None:
        head = f"[{event.position}/{event.total}]"
        if isinstance(event, BatchListStarted):
            self._console.info(f"{head} {event.name}")
            return
        result = event.result
        if result.verdict.is_broken:
            self._console.warning(result.reason)
        text = result.reason or status_counts(result.counts)
        self._console.info(f"{head} {result.name}: {result.verdict.value}: {text}")

    def _message(self, event: Event) -> None:
        console = self._console
        match event:
            case ListRead():
                report_conversion(event.conversion, console)
            case InvalidLeftOut():
                rules = Counter(instance.unmet_requirements[0].rule for instance in event.invalid)
                console.info(
                    f"{event.source} for {event.arch}: {counted(event.kept, 'instance')}; left "
                    f"out {len(event.invalid)} "
                    f"that are not valid ({', '.join(f'{n} {rule}' for rule, n in rules.most_common())})"
                )
            case DefaultProblemUsed():
                console.info(f"no --problem given: using {event.problem.describe()}")
            case ProblemNote():
                console.info(event.message)
            case NotFrozen():
                console.info(f"not in the lock file, since every instance is left out: {event.title}")
            case AskingBuilder():
                console.info(
                    f"asking the CK Builder of {event.tree} (compiled the first time): {event.title}"
                )
            case ConversionNotes():
                for note in event.notes:
                    console.detail(f"{event.path}: {note}")
            case WorkerReady():
                console.detail(f"device: {event.device}")
            case WaitingForDevice():
                console.info(f"waiting for another run on {event.target} device {event.device}")
            case OperandsReady():
                console.detail(
                    f"problem {event.problem_index}: {event.dtype.value} {event.layout.name} operands and "
                    f"reference in {event.seconds:.2f} s"
                )
            case FlushReduced():
                console.warning(_flush_warning(event))
            case BaselineMeasured():
                outcome = event.outcome.outcome
                console.detail(
                    f"{outcome.status.value}: baseline {event.outcome.baseline} {outcome.reason}".rstrip()
                )
            case WorkerLost():
                console.detail(f"worker lost: {event.reason}")

    def _begin(self, what: str) -> None:
        self._doing = what
        self._console.begin()

    def _end_progress(self) -> None:
        self._doing = ""
        self._console.clear_status()


def _flush_warning(event: FlushReduced) -> str:
    wanted = f"{event.wanted_bytes / 2**20:.4g} MiB to flush the caches do not fit into the device's memory"
    if not event.used_bytes:
        return f"{wanted}: durations are those with warm caches"
    return f"{wanted}: {event.used_bytes / 2**20:.4g} MiB are used, and some of the data may stay cached"


def _build_summary(library: BuiltLibrary) -> str:
    summary = library.summary
    invalid = sum(not rejection.status.is_failure for rejection in library.rejected)
    return (
        f"built {len(library.built)} of {counted(len(library.candidates), 'kernel')}: "
        f"{summary.compiled} compiled, "
        f"{summary.from_cache} from the cache, {summary.failed} failed"
        + (f", {invalid} not valid for {library.recipe.arch}" if invalid else "")
        + f"; {summary.wall_s:.1f} s on {counted(summary.jobs, 'job')}"
    )


def _separated(found: SeparatedKernels) -> str:
    names = found.kernels
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"these {len(names)} kernels compile, but did not in one translation unit, so that the build took "
        f"longer: {', '.join(names[:_NAMED])}{more}: {found.reason}"
    )
