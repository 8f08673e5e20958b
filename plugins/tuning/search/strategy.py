"""Search strategies: what they are given, how proposals are checked, and two that look at no prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ckprof.errors import PluginError, UsageError
from ckprof_plugins.tuning.search.observations import Pair
from ckprof_plugins.tuning.strategies import replans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.additions import RegistryEntries
    from ckprof_plugins.tuning.search.acquisition import Forecaster
    from ckprof_plugins.tuning.search.observations import Observations, SearchSpace
    from ckprof_plugins.tuning.strategies import SearchStrategy
    from ckprof_plugins.tuning.time_model.formula import GemmSizes
    from ckprof_plugins.tuning.time_model.measurements import Measurements
    from ckprof_plugins.tuning.time_model.model import TimeModel


# Not slotted: what is predicted is prepared once and kept.
@dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """What a strategy is given once, before the search begins."""

    space: SearchSpace
    gemm_sizes: GemmSizes
    #: bytes of an element of every tensor
    element_bytes: int
    #: compute units of the device; 0 if unknown
    compute_units: int = 0
    #: a trained model, if any
    model: TimeModel | None = None
    #: earlier measurements of other problems on the same device; ``None`` if there are none
    transfer_data: Measurements | None = None
    #: an expected improvement below this share is not worth measuring
    tie: float = 0.02
    #: of everything that is drawn at random
    seed: int = 0
    #: share of the time that planning may take: batches are made long enough for that. 0: as short as is
    #: good, so that the search does not depend on what else the machine does
    planning_share: float = 0.0

    @cached_property
    def forecaster(self) -> Forecaster:
        """Predictions that learn: the same for proposals, for the end of the search, and for its report."""
        from ckprof_plugins.tuning.search.acquisition import Forecaster

        return Forecaster(self)


class ExhaustiveSearch:
    """Measures every kernel on every problem, kernel by kernel in the order of the list.

    :param request: what is searched.
    """

    def __init__(self, request: SearchRequest) -> None:
        del request

    def propose(self, observations: Observations) -> Sequence[Pair]:
        """Return all open pairs of the next kernels, one round of parallel compilers."""
        open_pairs, kernel_of = observations.open, observations.space.kernel_of
        left = np.unique(kernel_of[open_pairs.any(axis=0)])
        next_kernels = left[: observations.costs.build_round]
        problems, choices = np.nonzero(open_pairs & np.isin(kernel_of, next_kernels)[None])
        order = np.argsort(kernel_of[choices], kind="stable")
        return [Pair(int(problems[index]), int(choices[index])) for index in order]


class RandomSearch:
    """Measures one random kernel on each problem at a time.

    :param request: what is searched.
    """

    def __init__(self, request: SearchRequest) -> None:
        self._chance = np.random.default_rng(request.seed)

    def propose(self, observations: Observations) -> Sequence[Pair]:
        """Return a random open choice of each problem."""
        return [
            Pair(problem, int(self._chance.choice(np.flatnonzero(row))))
            for problem, row in enumerate(observations.open)
            if row.any()
        ]


class StrategySearch:
    """A search of a strategy, whose proposals are checked.

    :param strategies: what plugins provide.
    :param name: id of a strategy.
    :raises UsageError: the id is unknown.
    :raises CkprofError: it cannot begin, e.g. because something that it needs is not installed.
    """

    def __init__(
        self, strategies: RegistryEntries[SearchStrategy], name: str, request: SearchRequest
    ) -> None:
        self._search = strategies.find(name).start(request)
        self._origin = f"plugin {strategies.provider(name)}: strategy {name!r}"
        self.replans = replans(self._search)

    def propose(self, observations: Observations) -> Sequence[Pair]:
        """Return the proposal of the search.

        :raises PluginError: it raises an error, or proposes what cannot be measured.
        """
        proposed = self._search.propose(observations)
        pairs = list(dict.fromkeys(Pair(int(problem), int(choice)) for problem, choice in proposed))
        problems, choices = observations.space.shape
        for pair in pairs:
            inside = 0 <= pair.problem < problems and 0 <= pair.choice < choices
            if not inside or not observations.open[pair]:
                raise PluginError(
                    f"{self._origin} proposes problem {pair.problem}, choice {pair.choice}, "
                    "which is measured already or cannot be measured"
                )
        return pairs


#: how often a study is asked for something that is not measured yet, before chance decides
_PATIENCE: Final = 8
#: what a failure counts as, as a logarithm of microseconds
_FAILED: Final = 30.0


class OptunaSearch:
    """Asks a study of optuna for each problem. It knows each choice by its tile, splits, labels and number.

    :param request: what is searched.
    :raises UsageError: optuna is not installed.
    """

    def __init__(self, request: SearchRequest) -> None:
        try:
            import optuna
        except ImportError:
            raise UsageError("--strategy optuna needs optuna: pip install 'ckprof[tune]'") from None
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._optuna: Any = optuna
        self._chance = np.random.default_rng(request.seed)
        self._parameters = _parameters(request)
        self._space = {
            f"p{axis}": optuna.distributions.CategoricalDistribution(sorted(set(values)))
            for axis, values in enumerate(zip(*self._parameters, strict=True))
        }
        self._choices: dict[tuple[float, ...], list[int]] = {}
        for choice, row in enumerate(self._parameters):
            self._choices.setdefault(row, []).append(choice)
        self._studies = [
            optuna.create_study(sampler=optuna.samplers.TPESampler(seed=request.seed + number))
            for number in range(len(request.space.problems))
        ]
        self._reported = np.zeros(request.space.shape, dtype=bool)

    def propose(self, observations: Observations) -> Sequence[Pair]:
        """Return what each study asks for, or chance where it asks for what is known."""
        batch = []
        for problem, row in enumerate(observations.open):
            self._tell(problem, observations)
            left = np.flatnonzero(row)
            if len(left):
                batch.append(Pair(problem, self._ask(problem, set(left.tolist()))))
        return batch

    def _tell(self, problem: int, observations: Observations) -> None:
        decided = observations.measured[problem] | ~observations.possible[problem]
        for choice in np.flatnonzero(decided & ~self._reported[problem]).tolist():
            self._reported[problem, choice] = True
            time = observations.log_us[problem, choice]
            self._studies[problem].add_trial(
                self._optuna.trial.create_trial(
                    params={f"p{axis}": value for axis, value in enumerate(self._parameters[choice])},
                    distributions=self._space,
                    value=float(time) if np.isfinite(time) else _FAILED,
                )
            )

    def _ask(self, problem: int, left: set[int]) -> int:
        study = self._studies[problem]
        for _ in range(_PATIENCE):
            trial = study.ask(self._space)
            row = tuple(trial.params[f"p{axis}"] for axis in range(len(self._space)))
            offered = [choice for choice in self._choices.get(row, ()) if choice in left]
            # what does not exist, or is known, is no trial
            study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            if offered:
                return int(self._chance.choice(offered))
        return int(self._chance.choice(sorted(left)))


def _parameters(request: SearchRequest) -> list[tuple[float, ...]]:
    """Return choice -> tile, splits, and a number for everything else that distinguishes kernels."""
    kinds: dict[object, int] = {}
    rows = []
    for number, splits in request.space.choices:
        traits = request.space.kernels[number].traits
        tile = traits.tile if traits is not None else (0, 0, 0)
        kind = (traits.labels, traits.schedule, traits.reduction) if traits is not None else number
        rows.append((*map(float, tile), float(splits), float(kinds.setdefault(kind, len(kinds)))))
    return rows
