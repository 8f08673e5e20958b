"""Reading stores of predictions, and keeping them apart from all others."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckprof.compare.inputs import split_tag
from ckprof.errors import InputError
from ckprof.model.problem_types import sizes
from ckprof.store.errors import StoreError, require_one_origin
from ckprof.store.key import MEASURED
from ckprof.store.store import Store
from ckprof_plugins.tuning.gate.baseline import PredictionBaseline, ProblemFigures
from ckprof_plugins.tuning.stored.attempts import evidence_of, predictor_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof.store.attempt import Attempt, Session
    from ckprof_plugins.tuning.gate.baseline import KernelFigures, LoopInstruction
    from ckprof_plugins.tuning.stored.attempts import Predictor


def origins_of(source: str | Path) -> set[str]:
    """Return what the times of a store are, or of ``STORE@TAG``; of any other file, nothing."""
    path, _ = split_tag(str(source))
    # who reads it reports what cannot be read
    with suppress(StoreError, OSError):
        with Store(path) as store:
            return store.origins() or {MEASURED}
    return set()


def require_predictions(sources: Sequence[str | Path]) -> bool:
    """Say whether all inputs are stores of predictions, of one model; false where none is, or one is missing.

    :param sources: stores or other files, each maybe with ``@TAG``.
    :raises StoreError: some are, and others are not.
    """
    origins = {origin for source in sources for origin in origins_of(source) or {MEASURED}}
    if origins <= {MEASURED} or not all(split_tag(str(source))[0].exists() for source in sources):
        return False
    require_one_origin(origins, ", ".join(map(str, sources)))
    return True


def read_store(source: str | Path, *conditions: Any) -> StoredPredictions:
    """Return the predictions of a store, or of ``STORE@TAG``.

    :param conditions: a query, if not all are wanted.
    :raises StoreError: it cannot be read.
    :raises InputError: it has measured times, or no predictions that fit.
    """
    path, tag = split_tag(str(source))
    with Store(path) as store:
        if MEASURED in store.origins():
            raise InputError(f"it has {MEASURED}, expected a store of 'ckprof sweep --predict'", path)
        store.check_complete()
        attempts = store.attempts(*conditions, samples=False)
        return read_predictions(path, [one for one in attempts if tag is None or tag in one.session.tags])


@dataclass(frozen=True, kw_only=True)
class StoredPredictions:
    """The predictions of a store: the latest ones of each kernel on each problem."""

    path: Path
    predictor: Predictor
    #: direction -> its figures, in the order in which they were added
    sides: Mapping[str, PredictionBaseline]
    #: sessions, the oldest first
    sessions: tuple[Session, ...]

    def side(self, direction: str = "") -> PredictionBaseline:
        """Return the figures of a direction; it need not be named if there is one.

        :raises InputError: there is none, or there are several.
        """
        if direction in self.sides:
            return self.sides[direction]
        if not direction and len(self.sides) == 1:
            return next(iter(self.sides.values()))
        held = ", ".join(self.sides)
        asked = f"none of {direction}" if direction else "of several directions"
        raise InputError(f"the predictions are {asked}: it has those of {held}; name one", self.path)


def read_predictions(path: Path, attempts: Iterable[Attempt]) -> StoredPredictions:
    """Return what the attempts of a store of predictions say.

    :param path: for messages.
    :raises InputError: they are of several products, or not those of this version.
    """
    found: dict[str, dict[Problem, dict[tuple[str, int], KernelFigures]]] = {}
    compilers: dict[str, dict[str, None]] = {}
    loops: dict[str, tuple[LoopInstruction, ...]] = {}
    sessions: dict[str, Session] = {}
    predictors: dict[Predictor, None] = {}
    for attempt in sorted(attempts, key=lambda one: one.moment):
        figures, loop = evidence_of(attempt, path)
        if loop:
            loops[figures.loop] = loop
        direction = attempt.key.operation.direction
        rows = found.setdefault(direction, {}).setdefault(attempt.key.problem, {})
        rows[figures.key, figures.split_k] = figures
        compilers.setdefault(direction, {})[attempt.key.toolchain.compiler] = None
        sessions[attempt.session.uid] = attempt.session
        predictors[predictor_of(attempt.session, path)] = None
    if not predictors:
        raise InputError("it has no prediction that fits", path)
    if len(predictors) > 1:
        named = ", ".join(f"{one.gpu} by model {one.model}" for one in predictors)
        raise InputError(f"it has predictions for {named}: expected those for one product", path)
    (predictor,) = predictors
    sides = {
        direction: PredictionBaseline(
            model=predictor.model,
            gpu=predictor.gpu,
            arch=predictor.arch,
            direction=direction,
            compiler=", ".join(compilers[direction]),
            problems=tuple(
                ProblemFigures(problem=problem.describe(), sizes=sizes(problem), kernels=tuple(rows.values()))
                for problem, rows in problems.items()
            ),
            loops=loops,
        )
        for direction, problems in found.items()
    }
    return StoredPredictions(path=path, predictor=predictor, sides=sides, sessions=tuple(sessions.values()))
