"""A well-kept optimiser as the baseline: optuna's tree-structured Parzen estimator, a study per problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ckprof.errors import UsageError
from ckprof_plugins.tuning.search.space import Cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof_plugins.tuning.search.knowledge import Knowledge
    from ckprof_plugins.tuning.search.strategy import SearchRequest

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
        values = [sorted({row[axis] for row in self._parameters}) for axis in range(len(self._parameters[0]))]
        self._space = {
            f"p{axis}": optuna.distributions.CategoricalDistribution(choices)
            for axis, choices in enumerate(values)
        }
        self._choices: dict[tuple[float, ...], list[int]] = {}
        for choice, row in enumerate(self._parameters):
            self._choices.setdefault(row, []).append(choice)
        self._studies = [
            optuna.create_study(sampler=optuna.samplers.TPESampler(seed=request.seed + number))
            for number in range(len(request.space.problems))
        ]
        self._reported = np.zeros(request.space.shape, dtype=bool)

    def propose(self, knowledge: Knowledge) -> Sequence[Cell]:
        """Return what each study asks for, or chance where it asks for what is known."""
        batch = []
        for problem, row in enumerate(knowledge.open):
            self._tell(problem, knowledge)
            left = np.flatnonzero(row)
            if len(left):
                batch.append(Cell(problem, self._ask(problem, set(left.tolist()))))
        return batch

    def _tell(self, problem: int, knowledge: Knowledge) -> None:
        decided = knowledge.measured[problem] | ~knowledge.possible[problem]
        for choice in np.flatnonzero(decided & ~self._reported[problem]).tolist():
            self._reported[problem, choice] = True
            time = knowledge.log_us[problem, choice]
            self._add(problem, self._parameters[choice], float(time) if np.isfinite(time) else _FAILED)

    def _add(self, problem: int, row: tuple[float, ...], value: float) -> None:
        self._studies[problem].add_trial(
            self._optuna.trial.create_trial(
                params={f"p{axis}": parameter for axis, parameter in enumerate(row)},
                distributions=self._space,
                value=value,
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
    """Return choice -> tile, splits, and a number for everything else that tells kernels apart."""
    kinds: dict[object, int] = {}
    rows = []
    for number, splits in request.space.choices:
        traits = request.space.kernels[number].traits
        tile = traits.tile if traits is not None else (0, 0, 0)
        kind = (traits.labels, traits.schedule, traits.reduction) if traits is not None else number
        rows.append((*map(float, tile), float(splits), float(kinds.setdefault(kind, len(kinds)))))
    return rows
