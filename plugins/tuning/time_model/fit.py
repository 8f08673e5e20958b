"""Fits the parameters of the time model to measured times.

A least-squares fit of log times. Every residual is weighted:

* a kernel far slower than the best is never chosen, so its times matter less;
* problems that occur in many slight variations count less, each;
* short times carry more noise.

A soft loss keeps single wrong values from distorting the fit. Parameters are fitted as logarithms, shared
ones pulled weakly towards starting values that the data give, those of a kernel towards what kernels with
similar tiles and of its family have, as ratios to one another. So kernels that were measured on small
problems alone are like others on large ones.

NumPy is imported by the modules of training alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from itertools import groupby
from math import log, prod
from statistics import median
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from ckprof_plugins.tuning.time_model.formula import (
    KernelParameters,
    SharedParameters,
    Sizes,
    least_trend,
    positions,
    stacked,
    terms,
    work,
)
from ckprof_plugins.tuning.time_model.least_squares import solve
from ckprof_plugins.tuning.time_model.model import ModelKernel, family

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.model.gemm_work import KernelTraits
    from ckprof_plugins.tuning.time_model.formula import GemmSizes, KernelWork
    from ckprof_plugins.tuning.time_model.least_squares import Block
    from ckprof_plugins.tuning.time_model.measurements import Measurements

    Array = NDArray[np.float64]


OWN: Final = tuple(KernelParameters.__dataclass_fields__)
SHARED: Final = tuple(SharedParameters.__dataclass_fields__)

#: Relative noise of long times, and what is added for the shortest time of the data.
_NOISE: Final = 0.01
_SHORT_NOISE: Final = 0.035
#: What is added for times that were predicted from machine code.
_PREDICTED_NOISE: Final = 0.6
#: Power of best time / time with which the weight of a time falls.
_INTEREST: Final = 1.5
#: Problems whose sizes differ by this factor, in logarithms, are variations of one another.
_VARIATION: Final = 1.0
_SOFT: Final = 0.2
_PULL: Final = 0.05
#: How far off the formulas are, as a logarithm: what pulls between parameters weigh against measured times.
_MISFIT: Final = 0.1
#: parameter -> what it is compared with, and their usual ratio; empty: with the latencies of all kernels
_USUAL: Final[Mapping[str, tuple[str, float]]] = {
    "prologue": ("latency", 3.0),
    "floor": ("latency", 1.0),
    "latency": ("", 1.0),
    "tile": ("loop", 2.0),
    "loop": ("latency", 0.9),
    "meeting": ("", 3.0),
}
#: Power of a tile's work with which latencies grow, until the data say otherwise.
_LATENCY_GROWTH: Final = 0.25
#: Standard deviations of these ratios, as logarithms: of what all kernels have in common, of the power of a
#: tile's work, and of a family or a kernel from the rest.
_LEVEL: Final = 0.8
_GROWTH: Final = 0.2
_OWN: Final = 0.35
_NUDGE: Final = 1e-5
_STEPS: Final = 80
#: Steps of a fit that begins where one to more problems ended: errors are then within a few hundredths of the
#: final ones.
_REFIT_STEPS: Final = 6


#: How much evidence holds a trend at nothing, as a number of times, and what no trend falls below.
_NO_TREND: Final = 3.0
_LEAST_TREND: Final = 0.5

#: Equivalent kernels: their times differ by less than this, in multiples of noise, on half of the problems
_USUAL_GAP: Final = 1.5
#: and neither is faster by more than this.
_BIAS: Final = 0.6
#: Fewer common problems prove nothing.
_COMMON: Final = 12

#: (problem, kernel, splits) -> (predicted microseconds, logarithm of measured / predicted)
Errors: TypeAlias = "Mapping[tuple[int, str, int], tuple[float, float]]"


class Fit:
    """The parameters of all kernels, by equations: one row per measured time, then the pulls.

    :param left_out: groups of problems, by their index; for each, the parameters are fitted again to all
        others, from those that were found on.
    """

    def __init__(
        self,
        table: Measurements,
        gemm_sizes: GemmSizes,
        compute_units: int,
        left_out: Sequence[tuple[int, ...]] = (),
    ) -> None:
        problems = [gemm_sizes(problem) for problem in table.problems]
        #: names of kernels with one set of parameters; the first one is that with the smallest tile
        self.pools = pools_of(table)
        self._traits = [table.kernels[names[0]] for names in self.pools]
        home = {name: number for number, names in enumerate(self.pools) for name in names}
        keys = self._keys = sorted(table.times, key=lambda key: (home[key[1]], key[2], key[0]))
        self._owner = np.array([home[name] for _, name, _ in keys])
        self._times = np.array([table.times[key] for key in keys])
        self._log_times = np.log(self._times)
        self._predicted = np.array([key in table.predicted for key in keys])
        #: shortest time of the data in microseconds
        self.shortest_us = float(self._times.min())
        self._parts = self._works(problems, home, compute_units)
        self._forms = forms_of(self._parts)
        self._index = np.array([index for index, _, _ in keys])
        self._weights = self._weighted(problems)
        together = stacked(problems)
        #: m, n, k and batch of a usual problem
        self.middle = tuple(
            float(np.exp(np.log(getattr(together, axis)).mean())) for axis in ("m", "n", "k", "batch")
        )
        places = np.column_stack([np.ones(len(problems)), *positions(self.middle, together)])
        self._places = places[self._index]
        #: names of the parameters that the data identify: shared ones, and those of each pool
        self._shared, self._own = self._identifiable()
        shared, own = self._first_guess()
        #: values of what the data do not identify
        self._constant = shared | dict(zip(OWN, map(float, own[0]), strict=True))
        of_pools = own[:, [OWN.index(name) for name in self._own]].ravel()
        common = np.ones((2 + len(set(map(family, self._traits)))) * len(self._own))
        # where the own parameters begin: after the shared ones, and what kernels have in common
        self._first_own = len(self._shared) + len(common)
        start = np.log(np.concatenate([[shared[name] for name in self._shared], common, of_pools]))
        self._pulls = self._pulls_to(start)
        #: ``cost``: half the sum of squared weighted residuals; to compare fits to the same data
        vector, self.cost = solve(self, self._pulls, start, scale=_SOFT, steps=_STEPS)
        #: group of problems that was left out -> what a fit to the others says about it
        self.refits = {group: self._refit(vector, group) for group in left_out}
        self.shared, own = self._parameters(vector)
        trends = self._trends(self._log_times_of(vector))
        fitted = [asdict(self._kernel_parameters(row)) for row in own]
        #: one object for the kernels of a pool
        parameters = [KernelParameters(**{one: float(value) for one, value in of.items()}) for of in fitted]
        self.kernels = {
            name: self._kernel(name, table.kernels[name], pool, parameters[pool], trends[pool])
            for name, pool in home.items()
        }

    def _pulls_to(self, start: Array) -> tuple[Array, Array]:
        """Return what pulls parameters that the data do not identify to those of similar kernels.

        A kernel's ratios are pulled to a sum: a level that all kernels share, what follows from the work of
        its tile, and what its family has in common. These are solved for, too, and pulled to usual values.
        """
        own, traits, common = list(self._own), self._traits, self._first_own - len(self._shared)
        width = len(own)
        families = dict.fromkeys(map(family, traits))
        growth = np.log([prod(of.tile) for of in traits])
        growth -= growth.mean()
        kinds = [[float(family(of) == one) for one in families] for of in traits]
        design = np.column_stack([np.ones(len(traits)), growth, kinds])
        ratios, usual = np.eye(width), np.zeros((len(traits), width))
        middle = start[self._first_own + own.index("latency") :: width].mean()
        for place, name in enumerate(own):
            base, ratio = _USUAL[name]
            usual[:, place] = log(ratio) + (0.0 if base else middle)
            if base:
                ratios[place, own.index(base)] = -1.0
        usual[:, own.index("latency")] += _LATENCY_GROWTH * growth
        # workgroups that share a compute unit take turns; every buffer is filled before the first iteration
        usual[:, own.index("loop")] -= np.log([of.workgroups_per_unit for of in traits])
        usual[:, own.index("floor")] += np.log([of.lds_stages for of in traits])
        scatter = np.repeat([_LEVEL, _GROWTH, *[_OWN] * len(families), *[_OWN] * len(traits)], width)
        trust = np.concatenate([np.full(len(self._shared), _PULL), _MISFIT / scatter])
        rows = np.eye(len(start))
        rows[self._first_own :, len(self._shared) :] = np.hstack(
            [-np.kron(design, np.eye(width)), np.kron(np.eye(len(traits)), ratios)]
        )
        target = np.concatenate([start[: len(self._shared)], np.zeros(common), usual.ravel()])
        return rows * trust[:, None], target * trust

    def _works(
        self, problems: Sequence[Sizes], home: dict[str, int], compute_units: int
    ) -> list[tuple[int, slice, Any]]:
        """Return (pool, rows, work) for each run of rows with the same pool and splits."""
        blocks: list[tuple[int, slice, Any]] = []
        begin = 0
        for (pool, splits), keys in groupby(self._keys, lambda key: (home[key[1]], key[2])):
            columns = [problems[index] for index, _, _ in keys]
            done = work(self._traits[pool], stacked(columns), splits, compute_units)
            blocks.append((pool, slice(begin, begin + len(columns)), done))
            begin += len(columns)
        return blocks

    def _weighted(self, problems: Sequence[Sizes]) -> Array:
        index, best = self._index, np.full(len(problems), np.inf)
        np.minimum.at(best, index, self._times)
        slower = (best[index] / self._times) ** _INTEREST
        logs = np.log([[problem.m, problem.n, problem.k, problem.batch] for problem in problems])
        gaps = ((logs[:, None] - logs[None]) ** 2).sum(-1)
        crowd = np.exp(-gaps / (2 * _VARIATION**2)).sum(1)
        raw: Array = slower / np.sqrt(crowd[index])
        raw /= np.sqrt((raw**2).mean())
        expected = _NOISE + _SHORT_NOISE * self.shortest_us / self._times
        if not self._predicted.all():
            expected = expected + _PREDICTED_NOISE * self._predicted
        scaled: Array = raw / np.sqrt(expected / (2 * _NOISE))
        return scaled

    def _identifiable(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return which shared and which own parameters the data identify."""
        works = [done for _, _, done in self._parts]
        chunked = [done for done in works if done.ragged is not None]
        identified = {
            "meeting": any(done.splits for done in works),
            "merging": not all(isinstance(done.extra_bytes, float) for done in works),
            "gathering": bool(chunked),
            "ragged": bool(chunked),
            "short": any(np.any(done.short) for done in chunked),
        }
        shared, own = ([name for name in names if identified.get(name, True)] for names in (SHARED, OWN))
        return tuple(shared), tuple(own)

    def _first_guess(self) -> tuple[dict[str, float], Array]:
        """Return starting values that the data give, shared ones and a row for each pool.

        They are half of what would explain everything on its own.
        """
        launch = 0.85 * self.shortest_us
        rest = np.maximum(self._times - launch, 0.05 * self.shortest_us)
        values = []
        for index in range(len(self.pools)):
            own = [(rest[rows], done) for owner, rows, done in self._parts if owner == index]
            per_step = [left / done.steps for left, done in own]
            per_loop = [left / np.maximum(done.load * (1 + done.loops), 1e-9) for left, done in own]
            step = 0.5 * float(np.quantile(np.concatenate(per_step), 0.2))
            loop = 0.5 * float(np.quantile(np.concatenate(per_loop), 0.2))
            values.append([0.1 * launch, 0.3 * launch, step, loop, loop, launch])
        # memory was at least as fast as the fastest kernel; a limit that was never met stays out of the way
        rate = float(max(np.max(done.tensor_bytes / self._times[rows]) for _, rows, done in self._parts))
        shared = [launch, 4.0 * rate, 1.0, 0.05, 2.0 * rate, 4.0 * rate, 0.3, 0.5]
        return dict(zip(SHARED, shared, strict=True)), np.array(values)

    def _parameters(self, vector: Array) -> tuple[SharedParameters, Array]:
        """Return the parameters of their logarithms, and a row of own ones per pool.

        The tail is a share and stays below 1.
        """
        values = np.exp(np.clip(vector, -40.0, 60.0))
        count = len(self._shared)
        shared = {name: self._constant[name] for name in SHARED}
        shared |= dict(zip(self._shared, map(float, values[:count]), strict=True))
        shared["tail"] = shared["tail"] / (1.0 + shared["tail"])
        return SharedParameters(**shared), values[self._first_own :].reshape(-1, len(self._own))

    def _kernel_parameters(self, values: Array) -> KernelParameters:
        """Return own parameters with those that the data do not identify.

        :param values: the others, along the last axis.
        """
        constant: dict[str, Any] = {name: self._constant[name] for name in OWN}
        return KernelParameters(**constant | dict(zip(self._own, values.T, strict=True)))

    def _log_times_of(self, vector: Array) -> Array:
        """Return the predicted logarithms of the times."""
        shared, own = self._parameters(vector)
        predicted = np.empty(len(self._times))
        for rows, done in self._forms:
            predicted[rows] = terms(done, shared, self._kernel_parameters(own[self._owner[rows]])).total
        logs: Array = np.log(predicted)
        return logs

    def residuals(self, vector: Array) -> Array:
        """Return the weighted residuals."""
        weighted: Array = (self._log_times_of(vector) - self._log_times) * self._weights
        return weighted

    def blocks(self, vector: Array) -> list[Block]:
        """Return the residuals with their derivatives.

        A parameter of a pool moves the rows of that pool alone: those of all pools are moved together.
        """
        base = self._log_times_of(vector)
        weighted = (base - self._log_times) * self._weights
        count, width = len(self._shared), len(self._own)
        changes = []
        for offset in range(count + width):
            moved = vector.copy()
            if offset < count:
                moved[offset] += _NUDGE
            else:
                moved[self._first_own + offset - count :: width] += _NUDGE
            changes.append((self._log_times_of(moved) - base) / _NUDGE * self._weights)
        jacobian = np.stack(changes, axis=1)
        shared, own = np.arange(count), np.arange(width)
        return [
            (weighted[rows], np.concatenate([shared, self._first_own + pool * width + own]), jacobian[rows])
            for pool, rows, _ in self._parts
        ]

    def _trends(self, logs: Array) -> Array:
        """Return each pool's trend: what is left of its times, relative to those of others on the problem.

        A ridge regression on where problems are, so that a few times make no trend.

        :param logs: of the times that the formulas predict.
        """
        trust = self._weights
        gaps = self._log_times - logs
        count = int(self._index.max()) + 1
        total = np.bincount(self._index, trust, count)
        common = np.bincount(self._index, trust * gaps, count) / np.maximum(total, 1e-12)
        gaps = gaps - common[self._index]
        trends = np.zeros((len(self.pools), self._places.shape[1]))
        for pool in range(len(self.pools)):
            rows = self._owner == pool
            weighted = self._places[rows] * trust[rows, None]
            normal = weighted.T @ self._places[rows] + _NO_TREND * np.eye(len(trends[pool]))
            found = np.linalg.solve(normal, weighted.T @ gaps[rows])
            # times stay above 0
            trends[pool] = found * min(
                1.0, (1.0 - _LEAST_TREND) / max(1e-12, 1.0 - least_trend(found.tolist()))
            )
        return trends

    def _refit(self, vector: Array, group: tuple[int, ...]) -> Errors:
        """Fit again without some problems, and predict them.

        Kernels of which nothing else was measured are not predicted.

        :param vector: where to begin.
        """
        held = np.isin(self._index, group)
        weights, self._weights = self._weights, np.where(held, 0.0, self._weights)
        found, _ = solve(self, self._pulls, vector, scale=_SOFT, steps=_REFIT_STEPS)
        logs = self._log_times_of(found)
        logs = logs + np.log1p((self._places * self._trends(logs)[self._owner]).sum(1))
        self._weights = weights
        known = np.bincount(self._owner[~held], minlength=len(self.pools)) > 0
        return {
            self._keys[row]: (float(np.exp(logs[row])), float(self._log_times[row] - logs[row]))
            for row in np.flatnonzero(held & known[self._owner])
        }

    def _kernel(
        self, name: str, traits: KernelTraits, pool: int, parameters: KernelParameters, trend: Array
    ) -> ModelKernel:
        """Return a kernel of a pool, without a spread of its own."""
        computed = self._traits[pool]
        return ModelKernel(
            name=name,
            traits=traits,
            others=None if computed == traits else computed,
            parameters=parameters,
            spread=1.0,
            rows=int((self._owner == pool).sum()),
            trend=tuple(map(float, trend)),
        )


def guess_units(table: Measurements, gemm_sizes: GemmSizes, numbers: Sequence[int]) -> tuple[int, float]:
    """Return the number of compute units that explains measured times best.

    :param numbers: those to try, two or more.
    :returns: the number, and the cost of the next best one divided by its own: about 1 means that the data do
        not identify it.
    """
    costs = sorted(
        (Fit(table, gemm_sizes, compute_units).cost, compute_units) for compute_units in sorted(set(numbers))
    )
    (best, compute_units), (second, _) = costs[:2]
    return compute_units, second / best


def forms_of(parts: Sequence[tuple[int, slice, KernelWork]]) -> list[tuple[NDArray[np.intp], KernelWork]]:
    """Return (rows, work) for all kernels together whose times have the same terms.

    Few operations on many rows take a fraction of the time of many operations on few.
    """
    forms: dict[tuple[bool, ...], list[tuple[slice, KernelWork]]] = {}
    for _, rows, done in parts:
        form = (done.rounds is None, isinstance(done.extra_bytes, float), done.splits, done.ragged is None)
        forms.setdefault(form, []).append((rows, done))
    return [
        (
            np.concatenate([np.arange(rows.start, rows.stop) for rows, _ in members]),
            _joined([done for _, done in members], [rows.stop - rows.start for rows, _ in members]),
        )
        for members in forms.values()
    ]


def _joined(records: Sequence[Any], counts: Sequence[int]) -> Any:
    """Return one record of several ones of the same form, whose values become arrays."""
    values: dict[str, Any] = {}
    for entry in fields(records[0]):
        parts = [getattr(record, entry.name) for record in records]
        first = parts[0]
        # what says how a time is computed stays as it is
        if (
            first is None
            or isinstance(first, bool)
            or (entry.name == "extra_bytes" and isinstance(first, float))
        ):
            values[entry.name] = first
        else:
            rows = [np.broadcast_to(part, count) for part, count in zip(parts, counts, strict=True)]
            values[entry.name] = np.concatenate(rows).astype(float)
    return type(records[0])(**values)


def pools_of(table: Measurements) -> tuple[tuple[str, ...], ...]:
    """Return the kernels of a table in pools that share their parameters, each kernel in one.

    Kernels of the same pipeline that take the same time on all problems do the same work, whatever their
    configuration says. A larger tile would show in padding and in rounds, so the smallest tile among them,
    that of the first one, is the one they compute.
    """
    times: dict[str, dict[tuple[int, int], float]] = {name: {} for name in table.kernels}
    for (index, name, splits), time in table.times.items():
        times[name][index, splits] = time
    ordered = sorted((name for name in table.kernels if times[name]), key=lambda name: _order(table, name))
    pools: list[list[str]] = []
    for name in ordered:
        home = next((pool for pool in pools if _equivalent(table, times, pool[0], name)), None)
        if home is None:
            pools.append([name])
        else:
            home.append(name)
    return tuple(map(tuple, pools))


def _order(table: Measurements, name: str) -> tuple[int, tuple[int, int, int], str]:
    tile = table.kernels[name].tile
    return prod(tile), tile, name


def _equivalent(
    table: Measurements, times: Mapping[str, Mapping[tuple[int, int], float]], name: str, other: str
) -> bool:
    a, b = table.kernels[name], table.kernels[other]
    if (a.labels, a.schedule, a.reduction) != (b.labels, b.schedule, b.reduction):
        return False
    shortest = min(table.times.values())
    gaps = [
        log(time / times[other][key]) / (_NOISE + _SHORT_NOISE * shortest / time)
        for key, time in times[name].items()
        if key in times[other]
    ]
    if len(gaps) < _COMMON:
        return False
    return median(map(abs, gaps)) < _USUAL_GAP and abs(median(gaps)) < _BIAS
