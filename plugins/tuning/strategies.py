"""Ways to search: what a strategy is, and those that ship with ckprof, each imported when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from ckprof.errors import UsageError
from ckprof.plugin.additions import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.testing.contract import Trials
    from ckprof.testing.samples import Samples
    from ckprof_plugins.tuning.search.strategy import SearchRequest


@runtime_checkable
class Search(Protocol):
    """One search of a strategy.

    One with an attribute ``replans`` that is true chooses again what to measure when kernels are built; for
    others, what was proposed with the kernels is measured.
    """

    def propose(self, observations: Any) -> Sequence[tuple[int, int]]:
        """Return what to build and measure next; nothing if no further measurement is worth it.

        :param observations: everything that is known, a
            :class:`ckprof_plugins.tuning.search.observations.Observations`; do not change it.
        :returns: (problem, choice) of open pairs.
        """


def replans(search: Search) -> bool:
    """Say whether what a search proposes of kernels that are not built is chosen again when they are."""
    return bool(getattr(search, "replans", False))


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchStrategy:
    """A way to search that a plugin adds."""

    #: what ``--strategy`` takes
    id: str
    label: str
    #: begins a search of a :class:`ckprof_plugins.tuning.search.strategy.SearchRequest`; raises a
    #: :class:`~ckprof.errors.CkprofError` if something that it needs is missing
    start: Callable[[Any], Search] = field(repr=False)


def trials(samples: Samples, strategy: SearchStrategy) -> Trials:
    """Yield the trials of a strategy: a search in the store of a run."""
    yield "searches a store", lambda: _searched(samples, strategy)


def _searched(samples: Samples, strategy: SearchStrategy) -> str:
    from ckprof.testing.contract import CannotTry
    from ckprof_plugins.tuning import ReplayOptions, SearchOptions, replay

    options = ReplayOptions(
        files=(samples.store,),
        direction=samples.results.direction,
        dtype=samples.any_sample.candidate.instance.dtype,
        search=SearchOptions(strategy=strategy.id),
    )
    try:
        return f"{len(replay(samples.profiler, options).best)} problems"
    except UsageError as exc:
        raise CannotTry(str(exc)) from None


STRATEGIES: Final = Kind[SearchStrategy]("strategy", SearchStrategy, f"{__name__}:trials")


def _start(place: str, request: SearchRequest) -> Search:
    module, _, name = place.partition(":")
    search: Search = getattr(importlib.import_module(f"ckprof_plugins.tuning.search.{module}"), name)(request)
    return search


#: those that ship with ckprof
SHIPPED: Final = tuple(
    SearchStrategy(id=id_, label=label, start=partial(_start, place))
    for id_, label, place in (
        ("exhaustive", "everything, in the order of the list", "strategy:ExhaustiveSearch"),
        ("model", "most expected gain per second, by the time model", "model_search:ModelSearch"),
        ("optuna", "optuna's estimator for each problem (an extra)", "strategy:OptunaSearch"),
        ("random", "a random kernel on each problem at a time", "strategy:RandomSearch"),
    )
)
