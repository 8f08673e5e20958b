"""Chooses the kernels for a problem by a time model; asks them whether they support it; measures the best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ckprof.api.model_training import Use, gemm_sizes_of, load_model, require_use
from ckprof.api.timed_kernels import KernelKind, executed_traits, runs_elsewhere
from ckprof.errors import InputError, NothingLeftError
from ckprof.model.kernel_traits import Schedule
from ckprof.model.outcome import Status
from ckprof.model.problem_run import ProblemRun
from ckprof.plugin.timing import TimedPipeline
from ckprof.selection.selector import Candidate, Selector

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.api.instances import Selection
    from ckprof.api.selection_requests import SelectOptions
    from ckprof.api.session import Session
    from ckprof.flow.candidates import Candidate as ListedKernel
    from ckprof.selection.model import Prediction, TimeModel

#: Kernels whose support is asked at once: each has to be compiled for that.
_ASKED_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenKernel:
    """A kernel that supports the problem."""

    kernel: ListedKernel
    prediction: Prediction
    #: median of the measured times; ``None`` if it was not measured, or failed
    measured_us: float | None = None
    #: how measuring it ended, e.g. ``ok`` or ``wrong_result``; empty if it was not measured
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelChoice:
    """The best kernels for a problem."""

    model: TimeModel
    #: best first: by measured times where there are some, otherwise by predicted ones
    kernels: tuple[ChosenKernel, ...]
    #: kernels that were predicted
    candidates: int
    #: names of kernels that were predicted to be better, but do not support the problem -> reason
    unsupported: dict[str, str]
    warnings: tuple[str, ...]


def select_kernels(session: Session, options: SelectOptions) -> KernelChoice:
    """Return the kernels with the smallest predicted times among those that support a problem.

    :raises InputError: the model is of another device or direction and not forced.
    :raises NothingLeftError: no kernel can be predicted, or none supports the problem.
    :raises CkprofError: a kernel cannot be built, or measuring fails.
    """
    model = load_model(options.model)
    selection = options.selection
    if model.direction != selection.direction:
        raise InputError(f"the model is of {model.direction}, not {selection.direction}", options.model)
    target = session.target(options.build.target)
    arch = options.build.arch or session.settings.arch or target.default_arch
    if not options.force:
        require_use(session, model, Use(target=target.id, arch=arch), options.model)
    listed, warnings = _predictable(selection, model, options)
    candidates = [_candidate(session, one, model) for one in listed.values()]
    selector = Selector(
        model,
        candidates,
        gemm_sizes_of(session.registry, model.direction, model.dtype),
        boost=options.boost,
    )
    wanted = max(options.top, options.measure)
    support = _Support(session, options, listed, selector)
    ranking = selector.rank(
        options.problem,
        top=wanted,
        supported=support.asks if options.check_support else None,
        distinct=options.measure > 0,
    )
    if not ranking.predictions:
        raise NothingLeftError(
            f"none of the {len(candidates)} kernels supports the problem; 'ckprof check-support' shows why"
        )
    chosen = [ChosenKernel(kernel=listed[one.kernel], prediction=one) for one in ranking.predictions]
    if options.measure:
        chosen = _measured(session, options, chosen)
    return KernelChoice(
        model=model,
        kernels=tuple(chosen[: options.top]),
        candidates=len(candidates),
        unsupported=support.reasons,
        warnings=(*warnings, *ranking.warnings, *_strangers(session, model, target.id, options)),
    )


def _strangers(session: Session, model: TimeModel, target: str, options: SelectOptions) -> list[str]:
    """Return a warning where measured and predicted times are those of different devices."""
    if not options.measure or model.target == target or not runs_elsewhere(session.registry, target):
        return []
    return [f"times are measured with target {target}, which is not what the model predicts: {model.device}"]


def _predictable(
    selection: Selection, model: TimeModel, options: SelectOptions
) -> tuple[dict[str, ListedKernel], list[str]]:
    """Return the kernels of a list that the model is about, by name, and warnings about the others."""
    found: dict[str, ListedKernel] = {}
    other_type = others = 0
    for one in selection.candidates:
        if one.instance.ndim != options.problem.ndim or not isinstance(one.pipeline, TimedPipeline):
            others += 1
        elif one.instance.dtype.value != model.dtype and not options.force:
            other_type += 1
        else:
            found.setdefault(one.name, one)
    warnings = []
    if other_type:
        warnings.append(f"left out {other_type} kernels whose type is not the model's, {model.dtype}")
    if others:
        warnings.append(f"left out {others} kernels of other dimensions or of families without a time model")
    if not found:
        raise NothingLeftError(
            f"there is no kernel to choose from: {'; '.join(warnings) or 'none is listed'}"
        )
    return found, warnings


def _candidate(session: Session, one: ListedKernel, model: TimeModel) -> Candidate:
    if not isinstance(one.pipeline, TimedPipeline):
        raise TypeError(one.pipeline)
    fields = one.instance.fields()
    traits = executed_traits(session.registry, KernelKind.of(model), fields, one.pipeline.traits(fields))
    splits = model.splits if traits.schedule is Schedule.TILES else (1,)
    return Candidate(name=one.name, traits=traits, splits=splits)


class _Support:
    """Asks kernels whether they support the problem, some at once, from the best one on."""

    def __init__(
        self,
        session: Session,
        options: SelectOptions,
        listed: dict[str, ListedKernel],
        selector: Selector,
    ) -> None:
        self._session = session
        self._options = options
        self._listed = listed
        # the order in which the ranking will ask
        predictions = selector.rank(options.problem).predictions if options.check_support else ()
        self._order = [(one.kernel, one.splits) for one in predictions]
        self._answers: dict[tuple[str, int], bool] = {}
        self.reasons: dict[str, str] = {}

    def asks(self, name: str, splits: int) -> bool:
        """Say whether a kernel with a number of splits supports the problem."""
        if (name, splits) not in self._answers:
            self._ask_from(self._order.index((name, splits)))
        return self._answers[name, splits]

    def _ask_from(self, start: int) -> None:
        from ckprof.api.support import SupportRequest, check_support
        from ckprof.run.support_queries import SupportQuery

        asked = self._order[start : start + max(_ASKED_AT_ONCE, self._options.top)]
        names = dict.fromkeys(name for name, _ in asked)
        counts = sorted({splits for _, splits in asked})
        report = check_support(
            self._session,
            SupportRequest(
                selection=replace(
                    self._options.selection, candidates=tuple(self._listed[name] for name in names)
                ),
                build=self._options.build,
                queries=tuple(SupportQuery(problem=self._options.problem, split_k=n) for n in counts),
                model=False,
            ),
        )
        answers = report.table.answers if report.table is not None else {}
        for name, splits in asked:
            own = answers.get(self._listed[name].instance.key)
            answer = own[counts.index(splits)] if own is not None else None
            self._answers[name, splits] = answer is not None and answer.supported
            if answer is None:
                self.reasons[name] = "it does not compile"
            elif not answer.supported:
                self.reasons[name] = answer.reason


def _measured(session: Session, options: SelectOptions, chosen: Sequence[ChosenKernel]) -> list[ChosenKernel]:
    """Build, run, verify and time the best kernels; return them by their times, failed ones last."""
    from ckprof.api.running import RunRequest, build_and_run
    from ckprof.run.options import RunOptions

    found = list(chosen)
    for splits in sorted({one.prediction.splits for one in chosen[: options.measure]}):
        places = [
            place for place, one in enumerate(found[: options.measure]) if one.prediction.splits == splits
        ]
        kernels = tuple(found[place].kernel for place in places)
        results = build_and_run(
            session,
            RunRequest(
                selection=replace(options.selection, candidates=kernels),
                problems=(ProblemRun(problem=options.problem),),
                build=options.build,
                options=RunOptions(splits=(splits,), timeout_s=session.settings.timeout),
            ),
        )
        by_key = {outcome.key: outcome for outcome in results.outcomes}
        for place in places:
            outcome = by_key.get(found[place].kernel.instance.key)
            timed = outcome.measurement if outcome is not None else None
            fine = outcome is not None and outcome.status is Status.OK and timed is not None
            found[place] = replace(
                found[place],
                measured_us=1000 * timed.median_ms if fine and timed is not None else None,
                status=outcome.status.value if outcome is not None else "",
            )
    measured = sorted(
        (one for one in found if one.measured_us is not None), key=lambda one: one.measured_us or 0.0
    )
    return [*measured, *(one for one in found if one.measured_us is None)]
