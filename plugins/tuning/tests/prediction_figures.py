"""Prints figures of predicted times: ``python -m plugins.tuning.tests.prediction_figures [HALF [apart]]``.

Needs clang 22, CK Tile headers of November 2025 in ``$CK_ROOT``, and minutes: 13 kernels are compiled
for gfx950 the first time. HALF is 0 (problems by which constants were chosen), 1 (the others), or all.

The published times were measured in April 2026. Kernels of that time choose the end of their loop at run
time, in one function, which has the registers of the end that needs most: ``2026-06`` of
``plugins/targets/hip/api_levels.json`` has no arguments for it. Those of November 2025 have a function for
each end. So as many workgroups share a compute unit as have room with the largest of these functions,
unless they are predicted ``apart``.
"""

from __future__ import annotations

import csv
import os
import sys
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np

import ckprof
from ckprof.kernels.requests import BuildOptions
from ckprof.model.problem_case import ProblemCase
from ckprof_plugins.directions._convolution.gemm_sizes import forward_sizes
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.emulator import model_digest, prediction
from ckprof_plugins.emulator.tables import unit_table
from ckprof_plugins.pipelines.kernel_name import traits_of_name
from ckprof_plugins.tuning import PredictOptions, predict
from ckprof_plugins.tuning.measured_tables import read_csv
from ckprof_plugins.tuning.predicted_interval import KINDS, REPEATS, SHARE, WIDEST
from ckprof_plugins.tuning.predicted_times import with_predicted
from ckprof_plugins.tuning.prediction import calibration_of
from ckprof_plugins.tuning.search.prior import physical_model
from plugins.tuning.tests.sizes import forward_with_runs
from plugins.tuning.tests.time_model.conftest import MEASURED
from plugins.tuning.tests.time_model.conftest import fitted as published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.problem import Problem
    from ckprof_plugins.tuning.time_model.measurements import Measurements

    Times = Mapping[tuple[Problem, str], float]

TABLES = ("20kernels", "30kernels_even")
UNITS = 256
#: problems that few are measured on, and how often they are drawn
FEW, DRAWS = 8, 10


def kernel_of(column):
    """Return the tile and pipeline of the kernel that a column of the tables is about.

    compv5 columns agree with compv3 within 0.5 %; those of compv4 depend on tile_m alone.
    """
    tile, pipeline = column.split("_")
    if pipeline != "compv4":
        return f"{tile}_compv3"
    return {"16": "16x64x128_compv4", "32": "32x64x128_compv4"}.get(tile.split("x")[0], "64x64x128_compv4")


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A table, and the problems of it that are asked about."""

    name: str
    table: Measurements
    chosen: tuple[int, ...]

    @property
    def problems(self):
        return [self.table.problems[index] for index in self.chosen]


def tables(half):
    """Return both tables with every second problem by the order of the lines, or all.

    A problem of several lines belongs to the half of its first one.
    """
    found = []
    for name in TABLES:
        table = read_csv(_path(name), traits_of_name, (ConvProblem,))
        halves = {}
        for number, line in enumerate(_lines(name)):
            halves.setdefault(_problem({key: int(line[key]) for key in _SIZES}), str(number % 2))
        chosen = [index for index, problem in enumerate(table.problems) if half in ("all", halves[problem])]
        found.append(Judged(name=name, table=table, chosen=tuple(chosen)))
    return found


def lines_of(judged):
    """Return the columns of a table, and the lines of the problems that are asked about."""
    asked = set(judged.problems)
    lines = _lines(judged.name)
    return list(lines[0]), [
        line for line in lines if _problem({key: int(line[key]) for key in _SIZES}) in asked
    ]


def _path(name):
    return MEASURED / f"gfx950_fwd_bf16_{name}.csv"


def _lines(name):
    lines = [line for line in _path(name).read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


_SIZES = ("N", "C", "K", "Hi", "Wi", "Y", "X", "stride_h", "stride_w", "pad_h", "pad_w")


def _problem(size):
    pads = (size["pad_h"], size["pad_w"])
    return ConvProblem(
        groups=1,
        batch=size["N"],
        out_channels=size["K"],
        in_channels=size["C"],
        filter=(size["Y"], size["X"]),
        input=(size["Hi"], size["Wi"]),
        strides=(size["stride_h"], size["stride_w"]),
        dilations=(1, 1),
        left_pads=pads,
        right_pads=pads,
    )


def predicted(problems, *, apart=False):
    """Return problem, tile and pipeline -> microseconds and kind, and the seconds of one prediction.

    :param apart: each end of a loop is a function of its own.
    """
    profiler = ckprof.Profiler()
    options = options_for(profiler, problems[:1])
    predict(profiler, options)  # compiles
    start = processor_seconds()
    options = replace(options, problems=tuple(ProblemCase(problem=problem) for problem in problems))
    found = rows_of(predict(profiler, options))
    seconds = (processor_seconds() - start) / len(found)
    times = {at: row.time for at, row in found.items() if row.time is not None}
    fewest = {}
    for (_, name), time in times.items():
        fewest[name] = min(fewest.get(name, time.resident), time.resident)
    for most in () if apart else sorted(set(fewest.values())):
        fewer = {at for at, time in times.items() if fewest[at[1]] == most < time.resident}
        times |= {at: row.time for at, row in with_at_most(most, profiler, options, fewer).items()}
    return (
        {at: time.time_us for at, time in times.items()},
        {at: (at[1].split("_")[1], time.iterations >= REPEATS) for at, time in times.items()},
        seconds,
    )


def rows_of(predictions):
    """Return problem, tile and pipeline -> prediction."""
    return {(case.problem, name_of(row.kernel)): row for case, rows in predictions.problems for row in rows}


def name_of(kernel):
    return "{tile_m}x{tile_n}x{tile_k}_{gemm_pipeline}".format(**kernel.instance.fields())


def with_at_most(workgroups, profiler, options, wanted):
    """Return the same of some problems and kernels, where no more workgroups share a compute unit."""

    def table(arch):
        return unit_table(arch, {"workgroups_per_cu": workgroups})

    def choose(_, asked):
        return [
            (case, [one for one in some if (case.problem, name_of(one[0])) in wanted]) for case, some in asked
        ]

    with patch.object(prediction, "unit_table", table), patch.object(model_digest, "unit_table", table):
        return rows_of(predict(profiler, options, choose=choose))


def options_for(profiler, problems):
    """Return the kernels of the figures, to be predicted on problems.

    The tables have none whose tile has 256 elements along K.
    """
    query = ckprof.InstanceQuery(
        rule_set="default",
        directions="fwd",
        filters='dtype == "bf16" and ndim == 2 and tile_k < 256',
        arch="gfx950",
        target="hip",
    )
    return PredictOptions(
        selection=profiler.instances(query).require(),
        problems=tuple(ProblemCase(problem=problem) for problem in problems),
        build=BuildOptions(target="hip", arch="gfx950"),
        gpu="MI350X",
    )


def processor_seconds():
    """Return what this process and those that it has waited for have used."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def as_columns(times, judged):
    """Return the same for columns of a table, on all problems."""
    return {
        (problem, column): times[problem, kernel_of(column)]
        for problem in dict.fromkeys(problem for problem, _ in times)
        for column in judged.table.kernels
        if (problem, kernel_of(column)) in times
    }


def by_column(times, judged):
    """Return those on the problems that are asked about."""
    asked = set(judged.problems)
    return {key: time_us for key, time_us in as_columns(times, judged).items() if key[0] in asked}


def of_model(model, judged, problems):
    """Return what a time model says."""
    times = {}
    for problem in problems:
        sizes = forward_with_runs(problem)
        for column, traits in judged.table.kernels.items():
            kernel = model.kernel(column, traits)
            times[problem, column] = model.time_us(kernel, sizes)
    return times


def rank_numbers(values):
    order = np.sort(values)
    return np.array([np.mean(np.flatnonzero(order == value)) for value in values])


def figures(times, judged, columns, only):
    """Return efficiencies, rank correlations and ratios of measured to predicted times."""
    index = {problem: number for number, problem in enumerate(judged.table.problems)}
    efficiencies, ranks, ratios = [], [], []
    for problem in only:
        known = [
            (times[problem, column], judged.table.times[index[problem], column, 1])
            for column in columns
            if (problem, column) in times and (index[problem], column, 1) in judged.table.times
        ]
        if len(known) < 5:
            continue
        guessed, measured = (np.array(values) for values in zip(*known, strict=True))
        # of equal ones the last is taken: the later version of the pipeline
        best = np.flatnonzero(guessed <= guessed.min() * (1 + 1e-12))[-1]
        efficiencies.append(float(measured.min() / measured[best]))
        ranks.append(float(np.corrcoef(rank_numbers(guessed), rank_numbers(measured))[0, 1]))
        ratios += list(measured / guessed)
    return efficiencies, ranks, ratios


def row(label, judged_by, found):
    """Return a line of a table."""
    efficiencies, ranks, ratios = map(np.array, found)
    error = np.median(np.abs(np.median(ratios) / ratios - 1))
    return (
        f"| {label} | {judged_by} | {len(efficiencies)} | {100 * efficiencies.mean():.1f} % | "
        f"{100 * np.quantile(efficiencies, 0.1):.1f} % | {np.nanmedian(ranks):.2f} | {100 * error:.1f} % | "
        f"{np.median(ratios):.2f} |"
    )


#: pairs of kernels count whose measured times differ by this share or more
APART = (0.05, 0.1, 0.2)


def print_signs(times, judged, columns):
    """Print how often predictions say which of two kernels is faster, and the interval around them.

    Of each problem all pairs of kernels count, the columns of which are those that were built.
    """
    index = {problem: number for number, problem in enumerate(judged.table.problems)}
    right, all_pairs, errors = dict.fromkeys(APART, 0), dict.fromkeys(APART, 0), []
    for problem in dict.fromkeys(problem for problem, _ in times):
        known = [
            (np.log(times[problem, column]), np.log(judged.table.times[index[problem], column, 1]))
            for column in columns
            if (problem, column) in times and (index[problem], column, 1) in judged.table.times
        ]
        errors += [measured - guessed for guessed, measured in known]
        for (guess_a, a), (guess_b, b) in combinations(known, 2):
            for apart in APART:
                if abs(a - b) > np.log(1 + apart):
                    all_pairs[apart] += 1
                    right[apart] += (guess_a - guess_b) * (a - b) > 0
    for apart in APART:
        share = f"{right[apart] / max(1, all_pairs[apart]):.1%} of {all_pairs[apart]} pairs"
        print(f"{judged.name}: sign right in {share} more than {apart:.0%} apart")
    sizes = np.abs(errors)
    for share in (0.9, 0.95):
        factor = np.exp(np.quantile(sizes, share))
        print(f"{judged.name}: {share:.0%} of {len(errors)} times are within a factor of {factor:.2f}")


def print_kinds(judged, times, kinds):
    """Print how many published times the intervals of each kind hold, and what others would say of it.

    :param kinds: problem, tile and pipeline -> kind, as :data:`KINDS` has them.
    """
    errors = {}
    for one in judged:
        index = {problem: number for number, problem in enumerate(one.table.problems)}
        for problem in one.problems:
            for column in one.table.kernels:
                if kernel_of(column) != column or (problem, column) not in times:
                    continue
                measured = one.table.times.get((index[problem], column, 1))
                if measured is not None:
                    error = abs(np.log(measured / times[problem, column]))
                    errors.setdefault(kinds[problem, column], {}).setdefault(column, []).append(error)
    print("| pipeline, loop | times | half, 90 % | held | of a kernel that was excluded |")
    print("| --- | --- | --- | --- | --- |")
    for kind, by_column in sorted(errors.items()):
        every = np.concatenate([*by_column.values()])
        held = []
        for column, own in by_column.items():
            rest = [error for other, found in by_column.items() if other != column for error in found]
            held += [error <= np.quantile(rest, SHARE) for error in own] if rest else []
        half = KINDS.get(kind, WIDEST)
        print(
            f"| {kind[0]}, {'repeats' if kind[1] else 'does not'} | {len(every)} | "
            f"{np.quantile(every, SHARE):.2f} | {np.mean(every <= half):.1%} | {np.mean(held):.1%} |"
        )


#: a tile, pipeline and number of passes through the reduction is listed whose median is further off, and that
#: has as many times
FAR, TIMES = 1.15, 10


def print_disagreements(judged, times):
    """Print the median of measured / predicted by tile, pipeline and passes, where it is far from 1."""
    ratios = {}
    for one in judged:
        index = {problem: number for number, problem in enumerate(one.table.problems)}
        for problem in one.problems:
            for column in one.table.kernels:
                measured = one.table.times.get((index[problem], column, 1))
                if kernel_of(column) == column and (problem, column) in times and measured is not None:
                    ratios.setdefault((column, passes(problem, column)), []).append(
                        measured / times[problem, column]
                    )
    print("| kernel | passes | times | measured / predicted |")
    print("| --- | --- | --- | --- |")
    for (column, count), found in sorted(ratios.items()):
        middle = np.median(found)
        if len(found) >= TIMES and abs(np.log(middle)) > np.log(FAR):
            print(f"| {column} | {count} | {len(found)} | {middle:.2f} |")


def passes(problem, column):
    """Say how often a kernel goes through its loop for a tile of a problem: 1, 2 or more."""
    step = int(column.split("_")[0].split("x")[2])
    count = -(-forward_sizes(problem)[2] // step)
    return str(count) if count < 3 else "more"


def main():
    """Print the tables."""
    half = sys.argv[1] if len(sys.argv) > 1 else "1"
    judged = tables(half)
    problems = list(dict.fromkeys(problem for one in judged for problem in one.problems))
    times, kinds, seconds = predicted(problems, apart="apart" in sys.argv)
    print(f"{seconds:.3f} s of processor time for a kernel and a problem")
    print("| predicted by | judged by | problems | mean | P10 | rank correlation | error | constant |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    own = [column for column in judged[0].table.kernels if kernel_of(column) == column]
    for one in judged:
        print_signs(by_column(times, one), one, own)
    print_kinds(judged, times, kinds)
    print_disagreements(judged, times)
    for one, other, label in ((judged[0], judged[1], TABLES[0]), (judged[1], judged[0], TABLES[1])):
        machine = by_column(times, one)
        supported = [problem for problem in one.problems if any(key[0] == problem for key in machine)]
        prior = of_model(physical_model(UNITS, 2), one, supported)
        for columns in (own, list(one.table.kernels)):
            what = f"{label}, {len(columns)} columns"
            print(row("machine code", what, figures(machine, one, columns, supported)))
            print(row("*time model, untrained*", what, figures(prior, one, columns, supported)))
        # shapes that are predicted and not measured: those of the other table, and those that are judged
        everywhere = as_columns(times, one)
        shapes = {"other shapes": other.problems, "all shapes": [*other.problems, *one.problems]}
        for name, of in shapes.items():
            model = fitted(everywhere, one, dict.fromkeys(of))
            what = f"time model, fitted to machine code of {name}"
            chosen = of_model(model, one, supported)
            print(row(what, label, figures(chosen, one, one.table.kernels, supported)))
        few = few_measured(machine, one, supported, everywhere, shapes)
        for name, found in few.items():
            print(row(name, f"{label}, other problems", found))
        model = published(other.table.subset(other.chosen))
        trained = of_model(model, one, supported)
        print(
            row(
                "time model, trained on the other table",
                label,
                figures(trained, one, one.table.kernels, supported),
            )
        )
        learned = fitted(
            everywhere, one, dict.fromkeys(shapes["all shapes"]), other.table.subset(other.chosen)
        )
        print(
            row(
                "time model, fitted to the other table and to machine code of all shapes",
                label,
                figures(of_model(learned, one, supported), one, one.table.kernels, supported),
            )
        )
        both = blended(trained, machine, 0.3)
        print(row("the same and machine code", label, figures(both, one, one.table.kernels, supported)))


def as_table(machine, judged, problems):
    """Return predicted times of the columns of a table as a file of them says it."""
    asked = {problem for problem, _ in machine}
    known = tuple(problem for problem in problems if problem in asked)
    times = {
        (index, column, 1): machine[problem, column]
        for index, problem in enumerate(known)
        for column in judged.table.kernels
        if (problem, column) in machine
    }
    return replace(judged.table, problems=known, times=times, predicted=frozenset(times), arch="gfx950")


def fitted(machine, judged, problems, measured=None):
    """Return a time model that is fitted to predicted times, and to a few measured ones."""
    predicted = as_table(machine, judged, problems)
    fields = {column: {} for column in judged.table.kernels}
    table, half = with_predicted(ckprof.Profiler().registry, measured, predicted, fields, Path())
    return replace(published(table), predicted_half=half)


def few_measured(machine, judged, problems, everywhere, shapes):
    """Return figures with a few measured problems, judged by the others, over several draws."""
    draw = np.random.default_rng(0)
    index = {problem: number for number, problem in enumerate(judged.table.problems)}
    found = {}
    for _ in range(DRAWS):
        chosen = [problems[number] for number in draw.choice(len(problems), FEW, replace=False)]
        rest = [problem for problem in problems if problem not in chosen]
        shifted = with_offsets(machine, judged, chosen)
        measured = judged.table.subset(tuple(index[problem] for problem in chosen))
        trained = of_model(published(measured), judged, rest)
        blends = [
            (
                f"time model, fitted to {FEW} and to machine code of {name}",
                of_model(fitted(everywhere, judged, dict.fromkeys([*of, *chosen]), measured), judged, rest),
            )
            for name, of in shapes.items()
        ]
        for name, times in (
            *blends,
            (f"machine code, offsets of {FEW} measured problems", shifted),
            (f"*time model, trained on {FEW}*", trained),
            ("both", blended(shifted, trained, 0.3)),
        ):
            kept = found.setdefault(name, ([], [], []))
            for values, more in zip(kept, figures(times, judged, judged.table.kernels, rest), strict=True):
                values.extend(more)
    return found


def with_offsets(machine, judged, chosen):
    """Return times as those that were measured on some problems correct them."""
    index = {problem: number for number, problem in enumerate(judged.table.problems)}
    measured = {
        (problem, column, 1): judged.table.times[index[problem], column, 1]
        for problem, column in machine
        if problem in chosen and (index[problem], column, 1) in judged.table.times
    }
    found = calibration_of(measured, {(*key, 1): time_us for key, time_us in machine.items()})
    return {key: time_us * found.factor(key[1]) for key, time_us in machine.items()}


def blended(first, second, share):
    """Return geometric means; a share of 0 is the first alone."""
    return {key: first[key] ** (1 - share) * second[key] ** share for key in first if key in second}


if __name__ == "__main__":
    main()
