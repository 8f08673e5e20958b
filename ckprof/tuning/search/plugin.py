"""The search strategies that ship with ckprof, imported when one is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.markers import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.protocols import Search, SearchStrategy
    from ckprof.tuning.search.strategy import SearchRequest


def _model(request: SearchRequest) -> Search:
    from ckprof.tuning.search.model_search import ModelSearch

    return ModelSearch(request)


def _exhaustive(request: SearchRequest) -> Search:
    from ckprof.tuning.search.strategy import ExhaustiveSearch

    return ExhaustiveSearch(request)


def _random(request: SearchRequest) -> Search:
    from ckprof.tuning.search.strategy import RandomSearch

    return RandomSearch(request)


def _optuna(request: SearchRequest) -> Search:
    from ckprof.tuning.search.optuna_search import OptunaSearch

    return OptunaSearch(request)


@hookimpl
def ckprof_register_strategies() -> list[SearchStrategy]:
    """Enter the model's strategy, everything, chance, and optuna."""
    from ckprof.plugin.protocols import SearchStrategy

    return [
        SearchStrategy(id="exhaustive", label="everything, in the order of the list", start=_exhaustive),
        SearchStrategy(id="model", label="most expected gain per second, by the time model", start=_model),
        SearchStrategy(id="optuna", label="optuna's estimator for each problem (an extra)", start=_optuna),
        SearchStrategy(id="random", label="a random kernel on each problem at a time", start=_random),
    ]
