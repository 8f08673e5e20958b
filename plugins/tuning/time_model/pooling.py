"""Kernels that measurements cannot tell apart share their parameters."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, prod
from statistics import median
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.gemm_work import KernelTraits
    from ckprof_plugins.tuning.time_model.measurements import Measurements

#: Twins: their times differ by less than this on half of the problems ...
_USUAL_GAP: Final = 0.015
#: ... and neither is faster by more than this.
_BIAS: Final = 0.005
#: Fewer common problems prove nothing.
_COMMON: Final = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Kernels with one set of parameters."""

    #: their names, the first is the one with the smallest tile
    names: tuple[str, ...]
    #: what the model computes with
    traits: KernelTraits


def pools_of(table: Measurements) -> tuple[Pool, ...]:
    """Return the kernels of a table in pools, each kernel in one.

    Kernels of the same pipeline that take the same time on all problems do the same work, whatever their
    configuration says. A larger tile would show in padding and in rounds, so the smallest tile among twins is
    the one they compute.
    """
    times: dict[str, dict[tuple[int, int], float]] = {name: {} for name in table.kernels}
    for (index, name, splits), time in table.times.items():
        times[name][index, splits] = time
    ordered = sorted((name for name in table.kernels if times[name]), key=lambda name: _order(table, name))
    pools: list[list[str]] = []
    for name in ordered:
        home = next((pool for pool in pools if _alike(table, times, pool[0], name)), None)
        if home is None:
            pools.append([name])
        else:
            home.append(name)
    return tuple(Pool(names=tuple(names), traits=table.kernels[names[0]]) for names in pools)


def _order(table: Measurements, name: str) -> tuple[int, tuple[int, int, int], str]:
    tile = table.kernels[name].tile
    return prod(tile), tile, name


def _alike(
    table: Measurements, times: Mapping[str, Mapping[tuple[int, int], float]], name: str, other: str
) -> bool:
    a, b = table.kernels[name], table.kernels[other]
    if (a.labels, a.schedule, a.reduction) != (b.labels, b.schedule, b.reduction):
        return False
    gaps = [log(time / times[other][key]) for key, time in times[name].items() if key in times[other]]
    if len(gaps) < _COMMON:
        return False
    return median(map(abs, gaps)) < _USUAL_GAP and abs(median(gaps)) < _BIAS
