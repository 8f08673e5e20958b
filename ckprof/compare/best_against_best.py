"""The best kernels of each problem on both sides, and the geometric mean over problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.compare.model import ComparedProblem, GeometricMean
from ckprof.compare.process_times import location

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.compare.change import Changes
    from ckprof.compare.options import ChangePolicy
    from ckprof.compare.side import Row, Side

    Array = NDArray[np.float64]


def compared_problems(old: Side, new: Side) -> Iterator[ComparedProblem]:
    """Yield the best kernels of the problems that both sides have verified times for."""
    for key in old.by_problem:
        before, after = old.best(key), new.best(key)
        if before is None or after is None:
            continue
        now = new.rows.get(before.key)
        yield ComparedProblem(
            key=key,
            old=before,
            new=after,
            ratio=after.time_ms / before.time_ms,
            changed=all(row.key != before.key for row in new.first_places(key)),
            old_best_now=now.time_ms / after.time_ms if now and now.ranked else None,
        )


def geometric_mean(
    problems: Sequence[ComparedProblem], changes: Changes, policy: ChangePolicy
) -> GeometricMean | None:
    """Return the mean of best against best, with a bootstrap interval over problems and processes.

    Processes are drawn for all problems together: they share clocks and loads. Of a side with one process,
    what processes differ by is drawn instead.

    :param changes: of all rows.
    """
    if not problems:
        return None
    import numpy as np

    generator = np.random.default_rng([policy.seed, len(problems)])
    noise = policy.process_noise if changes.process_noise is None else changes.process_noise
    moved = [
        _moved([getattr(problem, name) for problem in problems], noise, policy.resamples, generator)
        for name in ("old", "new")
    ]
    logs = np.log([problem.ratio for problem in problems])
    draws = generator.integers(0, len(logs), (policy.resamples, len(logs)))
    means = np.take_along_axis(logs + moved[1] - moved[0], draws, axis=1).mean(axis=1)
    tail = (1 - policy.confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return GeometricMean(
        ratio=float(np.exp(logs.mean())),
        low=float(np.exp(low)),
        high=float(np.exp(high)),
        problems=len(problems),
    )


def _moved(rows: Sequence[Row], noise: float, resamples: int, generator: np.random.Generator) -> Array:
    """Return by how much drawing other processes moves the time of each row: (resamples, rows)."""
    import numpy as np

    places: dict[str, int] = {}
    for row in rows:
        for process in row.processes:
            places.setdefault(process, len(places))
    if len(places) == 1:
        return np.broadcast_to(generator.normal(0, noise, (resamples, 1)), (resamples, len(rows)))
    times = np.full((len(rows), len(places)), np.nan)
    for index, row in enumerate(rows):
        for process, rounds in row.processes.items():
            times[index, places[process]] = location(rounds)
    ran = np.isfinite(times)
    beside = np.where(ran, times - np.nanmean(times, axis=1, keepdims=True), 0.0)
    # few processes vary by less than they should: as much as the variance is underestimated
    beside *= np.sqrt(ran.sum(axis=1) / np.maximum(ran.sum(axis=1) - 1, 1))[:, None]
    drawn = generator.multinomial(len(places), np.full(len(places), 1 / len(places)), resamples).astype(float)
    counts = drawn @ ran.T
    moved = np.where(counts > 0, drawn @ beside.T / np.maximum(counts, 1), 0.0)
    alone = ran.sum(axis=1) == 1
    moved[:, alone] = generator.normal(0, noise, (resamples, int(alone.sum())))
    return moved
