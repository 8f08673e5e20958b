"""Measures what a search found beside the libraries of others, after the search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.api.requests import StoreOptions
from ckprof.api.running import build_and_run
from ckprof.errors import CkprofError, Interrupted
from ckprof.model.problem_run import ProblemRun
from ckprof.tune.comparison import BaselineComparison, SearchedProblem, comparison_of

if TYPE_CHECKING:
    from ckprof.api.running import RunRequest
    from ckprof.api.session import Session
    from ckprof.api.tune_requests import TuneOptions
    from ckprof.tune.result import TuneResult


def compare_with_baselines(
    session: Session, request: RunRequest, options: TuneOptions, found: TuneResult
) -> BaselineComparison:
    """Run the best kernels, those of the library that is kept, and the baselines on the problems of a search.

    One process after the other has the device; each kernel and each baseline gets the time of all rounds of
    the search. What cannot be compared is said in the result: the search is not lost with it.

    :raises Interrupted: a signal insisted.
    """
    keys = {one.name: one.instance.key for one in request.selection.candidates}
    library = frozenset(keys[name] for name in found.chosen)
    searched = [
        SearchedProblem(problem=one.problem, count=one.count, best=keys[one.kernel], splits=int(one.splits))
        for one in found.best
        if one.kernel
    ]
    if not searched:
        return _nothing(options, "nothing was measured")
    wanted = library.union(one.best for one in searched)
    selection = request.selection
    asked = replace(
        request,
        selection=replace(
            selection,
            candidates=tuple(one for one in selection.candidates if one.instance.key in wanted),
        ),
        problems=tuple(
            ProblemRun(
                problem=one.problem,
                splits=_splits(request, one),
                instances=library | {one.best},
                count=one.count,
            )
            for one in searched
        ),
        options=replace(
            request.options,
            rounds=options.rounds.max_rounds,
            max_time_s=request.options.max_time_s * options.rounds.max_rounds,
        ),
        store=StoreOptions(store=options.store, tags=options.tags, wait=options.wait),
        baselines=options.baselines,
        should_stop=options.search.should_stop,
    )
    try:
        return comparison_of(build_and_run(session, asked), searched, library)
    except Interrupted:
        raise
    except CkprofError as exc:
        return _nothing(options, str(exc))


def _splits(request: RunRequest, searched: SearchedProblem) -> tuple[int, ...]:
    """Return the splits that were searched: kernels of the library may need others than the best one."""
    own = [split for run in request.problems if run.problem == searched.problem for split in run.splits]
    return tuple(dict.fromkeys(own or request.options.splits))


def _nothing(options: TuneOptions, why: str) -> BaselineComparison:
    return BaselineComparison(baselines=options.baselines, descriptions={}, problems=(), failure=why)
