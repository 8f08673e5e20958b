"""Chooses the kernels for a problem by a time model; asks them whether they support it; measures the best."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import NothingLeftError
from ckprof.events import Message
from ckprof.formatting import counted
from ckprof.model.problem_case import ProblemCase
from ckprof.model.ranking import ranked_set_of
from ckprof.model.recipe import Purpose
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Pipeline
from ckprof_plugins.tuning.kernel_build import without_counts
from ckprof_plugins.tuning.model_use import (
    KernelKind,
    gemm_sizes_of,
    load_model,
    require_use,
    runs_elsewhere,
    traits_of,
)
from ckprof_plugins.tuning.time_model.selector import Selector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate as ListedKernel
    from ckprof.kernels.choose import Selection
    from ckprof.measure.worker.messages import Support
    from ckprof.session import Session
    from ckprof_plugins.tuning.options import SelectOptions
    from ckprof_plugins.tuning.time_model.model import Prediction, TimeModel

#: Kernels whose support is asked together: each has to be compiled for that.
_ASKED_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenKernel:
    """A kernel that supports the problem."""

    kernel: ListedKernel
    prediction: Prediction
    #: its time, see :mod:`ckprof.model.ranking`; ``None`` if it was not measured, or failed
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


def select(session: Session, options: SelectOptions) -> KernelChoice:
    """Return the kernels with the smallest predicted times among those that support a problem.

    :raises InputError: the model is of another device or direction and not forced.
    :raises NothingLeftError: no kernel can be predicted, or none supports the problem.
    :raises CkprofError: a kernel cannot be built, or measuring fails.
    """
    selection = options.selection
    model = load_model(options.model, selection.direction)
    target = session.target(options.build.target)
    arch = options.build.arch or session.settings.arch or target.default_arch
    if not options.force:
        require_use(session.registry, model, target.id, arch, options.model)
    listed, warnings = _predictable(selection, model, options)
    traits = traits_of(session.registry, KernelKind.of(model), listed.values())
    selector = Selector(model, traits, gemm_sizes_of(session.registry, model.direction, model.dtype))
    wanted = max(options.top, options.measure)
    unsupported: dict[str, str] = {}
    asked: set[str] = set()
    building = without_counts(session) if options.check_support else session
    supports = (
        _support(building, options, listed, selector, asked, unsupported) if options.check_support else None
    )
    predictions = selector.rank(
        options.problem,
        top=wanted,
        supported=supports,
        distinct=options.measure > 0,
    )
    if asked:
        session.emit(Message(f"built {counted(len(asked), 'kernel')}, once each, to ask what they support"))
    if not predictions:
        usual = "".join(f" ({reason})" for reason, _ in Counter(unsupported.values()).most_common(1))
        raise NothingLeftError(
            f"none of the {counted(len(traits), 'kernel')} supports the problem{usual}; "
            "'ckprof check-support' shows why"
        )
    chosen = [
        ChosenKernel(kernel=listed[prediction.kernel], prediction=prediction) for prediction in predictions
    ]
    if options.measure:
        chosen = _measured(building, options, chosen)
    warnings += [*selector.warnings(options.problem, predictions)]
    if options.measure and model.target != target.id and runs_elsewhere(session.registry, target.id):
        here = f"times are measured with target {target.id}"
        warnings.append(f"{here}, which is not what the model predicts: {model.device}")
    return KernelChoice(
        model=model,
        kernels=tuple(chosen[: options.top]),
        candidates=len(traits),
        unsupported=unsupported,
        warnings=(*filter(None, [model.basis]), *warnings),
    )


def _predictable(
    selection: Selection, model: TimeModel, options: SelectOptions
) -> tuple[dict[str, ListedKernel], list[str]]:
    """Return the kernels of a list that the model is about, by name, and warnings about the others."""
    listed: dict[str, ListedKernel] = {}
    other_type = others = 0
    for candidate in selection.candidates:
        if candidate.instance.ndim != options.problem.ndim or not offers(candidate.pipeline, Pipeline.traits):
            others += 1
        elif candidate.instance.dtype.value != model.dtype and not options.force:
            other_type += 1
        else:
            listed.setdefault(candidate.name, candidate)
    warnings = []
    if other_type:
        warnings.append(f"excluded {other_type} kernels whose type is not the model's, {model.dtype}")
    if others:
        warnings.append(f"excluded {others} kernels of other dimensions or of families without a time model")
    if not listed:
        raise NothingLeftError(
            f"there is no kernel to choose from: {'; '.join(warnings) or 'none is listed'}"
        )
    return listed, warnings


def _support(
    session: Session,
    options: SelectOptions,
    listed: dict[str, ListedKernel],
    selector: Selector,
    seen: set[str],
    reasons: dict[str, str],
) -> Callable[[str, int], bool]:
    """Return what asks kernels whether they support the problem, a few at a time, from the best one on.

    :param seen: names of kernels that were asked; what is asked adds to it.
    :param reasons: name of a kernel that does not -> why; what is asked adds to it.
    """
    from ckprof.kernels.library import build_library
    from ckprof.measure.support import query_library, support_answers
    from ckprof.measure.worker.messages import SupportQuery

    # the order in which the ranking will ask
    order = [(prediction.kernel, prediction.splits) for prediction in selector.rank(options.problem)]
    supported: dict[tuple[str, int], bool] = {}

    def supports(name: str, splits: int) -> bool:
        if (name, splits) in supported:
            return supported[name, splits]
        start = order.index((name, splits))
        asked = order[start : start + max(_ASKED_AT_ONCE, options.top)]
        seen.update(name for name, _ in asked)
        counts = sorted({splits for _, splits in asked})
        candidates = tuple(listed[name] for name in dict.fromkeys(name for name, _ in asked))
        queries = [SupportQuery(problem=options.problem, split_k=count) for count in counts]
        selection = replace(options.selection, candidates=candidates)
        if options.measure:
            # what is run afterwards is built once
            library = build_library(session, selection, options.build, Purpose.RUN)
            answers: Mapping[str, Sequence[Support]] = query_library(
                library.path, library.recipe.arch, queries
            )
        else:
            answers = support_answers(session, selection, options.build, queries)
        for one, count in asked:
            of_kernel = answers.get(listed[one].instance.key)
            answer = of_kernel[counts.index(count)] if of_kernel is not None else None
            supported[one, count] = answer is not None and answer.supported
            if not supported[one, count]:
                reasons[one] = answer.reason if answer is not None else "it does not compile"
        return supported[name, splits]

    return supports


def _measured(session: Session, options: SelectOptions, chosen: Sequence[ChosenKernel]) -> list[ChosenKernel]:
    """Build, run, verify and time the best kernels; return them by their times, failed ones last."""
    from ckprof.measure.options import RunOptions
    from ckprof.measure.requests import RunRequest
    from ckprof.measure.run import run_to_its_end

    best = chosen[: options.measure]
    splits = sorted({kernel.prediction.splits for kernel in best})
    by_key = {kernel.kernel.instance.key: kernel for kernel in best}
    results, error = run_to_its_end(
        session,
        RunRequest(
            selection=replace(
                options.selection, candidates=tuple(kernel.kernel for kernel in by_key.values())
            ),
            problems=tuple(
                ProblemCase(
                    problem=options.problem,
                    splits=(count,),
                    instances=frozenset(
                        kernel.kernel.instance.key for kernel in best if kernel.prediction.splits == count
                    ),
                )
                for count in splits
            ),
            build=options.build,
            options=RunOptions(timeout_s=session.settings.timeout),
        ),
    )
    if error is not None:
        raise error
    outcomes = {(outcome.key, splits[outcome.problem_index]): outcome for outcome in results.outcomes}
    ordered, ranked = ranked_set_of(outcomes.values())
    times = {id(outcome): time for outcome, time in zip(ordered, ranked.kernels, strict=True)}

    def with_outcome(kernel: ChosenKernel) -> ChosenKernel:
        outcome = outcomes.get((kernel.kernel.instance.key, kernel.prediction.splits))
        if outcome is None:
            return kernel
        time = times.get(id(outcome))
        measured_us = 1000 * time.time_ms if time is not None else None
        return replace(kernel, measured_us=measured_us, status=outcome.status.value)

    kernels = [*map(with_outcome, best), *chosen[options.measure :]]
    # failed ones, and those that were not measured, in their order at the end
    return sorted(kernels, key=lambda kernel: math.inf if kernel.measured_us is None else kernel.measured_us)
