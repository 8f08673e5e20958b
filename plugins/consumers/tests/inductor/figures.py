"""Prints how good Inductor's first candidates are: ``python -m plugins.consumers.tests.inductor.figures``.

Judged by the published times of gfx950 (``tests/data/measured``): the best time among the first n candidates,
against the best of all. Problems that are judged are never trained on.
"""

from dataclasses import replace
from math import comb
from statistics import fmean
from typing import TYPE_CHECKING

import ckprof
from ckprof.model.types import DataType
from ckprof_plugins.consumers.audit import kernel_lists
from ckprof_plugins.consumers.inductor.lists import convolutions_of
from ckprof_plugins.consumers.inductor.provider import InductorChoice, best_first
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.kernel_name import traits_of_name
from ckprof_plugins.tuning.measured_tables import read_csv
from ckprof_plugins.tuning.search.prior import physical_model
from ckprof_plugins.tuning.time_model.selector import Selector
from plugins.tuning.tests.sizes import forward_with_runs
from plugins.tuning.tests.time_model.conftest import MEASURED, fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ckprof.model.problem import Problem

    #: problem, columns that were measured on it -> columns, best first
    Order = Callable[[Problem, Iterable[str]], Sequence[str]]

TABLES = ("20kernels", "30kernels_even")
COUNTS = (1, 2, 4, 8, 16)
UNITS = 256
#: what the old library calls the pipelines of both
_VERSIONS = {"compv3": "v3", "compv4": "v4"}


def published(name):
    """Return a table without times that are no times of the kernels."""
    path = MEASURED / f"gfx950_fwd_bf16_{name}.csv"
    return read_csv(path, traits_of_name, (ConvProblem,)).without_glitches()


def random_efficiency(times, count):
    """Return the expected best time of all divided by the best of ``count`` that are drawn at random."""
    ordered = sorted(times)
    count = min(count, len(ordered))
    return sum(
        comb(len(ordered) - 1 - rank, count - 1) / comb(len(ordered), count) * ordered[0] / time
        for rank, time in enumerate(ordered)
    )


def efficiencies(table, problems, order):
    """Return the mean over problems, by the number of candidates; without an order they are drawn."""
    values = {count: [] for count in COUNTS}
    for index in problems:
        times = {name: time for (name, _), time in table.rows[index].items()}
        if len(times) < 2:
            continue
        names = None if order is None else order(table.problems[index], times)
        for count in COUNTS:
            if names is None:
                values[count].append(random_efficiency(list(times.values()), count))
            else:
                values[count].append(min(times.values()) / min(times[name] for name in names[:count]))
    return {count: fmean(found) for count, found in values.items()}


def by_name(model, table):
    """Return the order of a model that knows columns by their names."""
    selector = Selector(model, table.kernels, forward_with_runs)

    def order(problem, names):
        known = set(names)
        return [one.kernel for one in selector.rank(problem, supported=lambda name, _: name in known)]

    return order


def as_operations(model, table):
    """Return the order in which the provider offers kernels with the tiles and pipelines of the columns."""
    columns = [name for name in table.kernels if name.split("_")[1] in _VERSIONS]
    base = convolutions_of(kernel_lists(["forward/profiler/nhwgc_bf16"]))[0][0][0]
    operations = [_operation(base, name) for name in columns]
    registry = ckprof.Profiler().registry

    def order(problem, names):
        kept = [number for number, name in enumerate(columns) if name in set(names)]
        offered = [operations[number] for number in kept]
        choice = InductorChoice(
            direction="fwd",
            dtype=DataType.BF16,
            problem=problem,
            most=None,
            splits=lambda _: (1,),
            accepts=lambda *_: True,
        )
        best = best_first(registry, model, "gfx950", choice, offered, [(1,)] * len(offered))
        return [columns[kept[one]] for one in best]

    return order


def _operation(base, column):
    tile, pipeline = column.split("_")
    m, n, k = map(int, tile.split("x"))
    mma = 32 if min(m, n) >= 32 else 16
    return replace(
        base,
        block_size=64,
        m_per_block=m,
        n_per_block=n,
        k_per_block=k,
        m_per_xdl=mma,
        n_per_xdl=mma,
        m_xdl_per_wave=m // mma,
        n_xdl_per_wave=n // mma,
        block_gemm_pipeline_version=f"BlockGemmPipelineVersion::{_VERSIONS[pipeline]}",
    )


def rows():
    """Yield what ranks, what judges it, the number of candidates, and the figures."""
    tables = {name: published(name) for name in TABLES}
    trained = {name: fitted(table) for name, table in tables.items()}
    for name, table in tables.items():
        every = range(len(table.problems))
        other = trained[next(one for one in TABLES if one != name)]
        halves = [tuple(range(start, len(table.problems), 2)) for start in (0, 1)]
        columns = len(table.kernels)
        yield "drawn at random", name, columns, efficiencies(table, every, None)
        yield (
            "time model, untrained",
            name,
            columns,
            efficiencies(table, every, by_name(physical_model(UNITS, 2), table)),
        )
        yield (
            "time model, trained on the other table",
            name,
            columns,
            efficiencies(table, every, by_name(other, table)),
        )
        parts = [
            efficiencies(table, judged, by_name(fitted(table.subset(learned)), table))
            for learned, judged in (halves, halves[::-1])
        ]
        yield (
            "time model, trained on every second problem, judged by the others",
            name,
            columns,
            {count: fmean(part[count] for part in parts) for count in COUNTS},
        )
        narrow = _without_fifth(table)
        yield "drawn at random", name, len(narrow.kernels), efficiencies(narrow, every, None)
        yield (
            "provider, untrained",
            name,
            len(narrow.kernels),
            efficiencies(narrow, every, as_operations(None, narrow)),
        )
        yield (
            "provider, with the model of the other table",
            name,
            len(narrow.kernels),
            efficiencies(narrow, every, as_operations(other, narrow)),
        )


def _without_fifth(table):
    """Return the columns whose pipelines the old library has."""
    kept = {name: traits for name, traits in table.kernels.items() if name.split("_")[1] in _VERSIONS}
    return replace(
        table, kernels=kept, times={key: time for key, time in table.times.items() if key[1] in kept}
    )


def main():
    """Print all rows as a table of Markdown."""
    print("| candidates | judged by | of |", *(f"n = {count} |" for count in COUNTS))
    print("| --- " * (3 + len(COUNTS)) + "|")
    for ranked, judged, columns, figures in rows():
        print(f"| {ranked} | {judged} | {columns} |", *(f"{figures[count]:.1%} |" for count in COUNTS))


if __name__ == "__main__":
    main()
