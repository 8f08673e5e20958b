"""Prints the figures of the page on time models: ``python -m plugins.tuning.tests.time_model.figures``."""

from dataclasses import replace
from statistics import fmean

import pytest

from ckprof.plugin.protocols import TimedKernel
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.pipelines.kernel_name import fields_of_name, traits_of_name
from ckprof_plugins.tuning.measured_tables import read_csv
from ckprof_plugins.tuning.model_use import KernelKind
from ckprof_plugins.tuning.time_model.intervals import extents
from ckprof_plugins.tuning.time_model.measurements import merged
from ckprof_plugins.tuning.training import fit_model
from ckprof_plugins.tuning.validation import judged_model, summarise
from plugins.tuning.tests.sizes import backward_weight_with_runs, forward_with_runs
from plugins.tuning.tests.time_model.conftest import MEASURED, fitted

MULTIPROCESSORS = 132
#: a quarter of the problems has no more of them
CHANNELS = 96


SIZES = {"fwd": forward_with_runs, "bwd_weight": backward_weight_with_runs}


def h200_table(direction, half, *, told=True):
    """Return one half of the sweep on an H200.

    :param told: with what the cuda target says of its kernels, otherwise with what their configuration says.
    """

    execution = pytest.importorskip("ckprof_plugins.cuda.execution")

    def describe(name):
        traits, fields = traits_of_name(name), fields_of_name(name)
        if traits is None or fields is None or not told:
            return traits
        return execution.executed(
            TimedKernel(direction=direction, dtype="bf16", fields=fields, traits=traits)
        )

    table = read_csv(MEASURED / f"h200_{direction}_bf16_{half}.csv", describe, (ConvProblem,))
    return replace(table, arch="h200", target="cuda")


def h200_model(direction, table):
    kind = KernelKind(direction=direction, dtype="bf16", device="h200", compute_units=MULTIPROCESSORS)
    return fit_model(table, SIZES[direction], kind)


def published(table):
    """Return a model of forward convolutions of gfx950, and what it was trained on."""
    return fitted(table), table


def swept(direction, table):
    """Return a model of an H200, and what it was trained on."""
    return h200_model(direction, table), table


def judged(trained, unseen):
    """Judge a model by another table than that of its training."""
    model, table = trained
    sizes = SIZES[model.direction]
    return judged_model(model, unseen, sizes, training=table)


def row(words, figures):
    """Return a line of a table: mean, median and P10 of each."""
    values = [
        f"{100 * value:.1f} %".replace("100.0 %", "100 %")
        for one in figures
        for value in (one.mean, one.median, one.p10)
    ]
    return f"| {' | '.join([*words, *values])} |"


def gfx950():
    """Return the lines of the published tables."""
    few, many = gfx950_tables()
    common = of_kernels(many, few)
    known, all_kernels = judged(published(few), common), judged(published(few), many)
    values = []
    count = len(many.problems)
    for fold in range(4):
        rest = many.subset(tuple(index for index in range(count) if index % 4 != fold))
        held = judged(published(merged((few, rest))), many.subset(tuple(range(fold, count, 4))))
        values += [one.efficiency for one in held.shapes]
    others = "86 other problems, the same 20 kernels"
    lines = [
        row(("185 problems x 20 kernels", others), [known.model]),
        row(("the same", "86 other problems, 30 kernels, 10 of them unknown"), [all_kernels.model]),
        row(
            ("the same and three quarters of the 86 problems", "the fourth quarter, 30 kernels"),
            [summarise(values)],
        ),
        row(("*best of the predicted best three*", "86 problems, 30 kernels"), [all_kernels.best_of_top]),
        row(("*best single kernel*", "86 problems, 30 kernels"), [all_kernels.best_single]),
    ]
    for label, figures in (
        ("*nearest neighbour*", all_kernels.nearest_neighbour),
        ("*noise ceiling*", all_kernels.ceiling),
    ):
        if figures is not None:
            lines.append(row((label, "86 problems, 30 kernels"), [figures]))
    return lines


def gfx950_tables():
    """Return the published tables."""
    few, many = (
        read_csv(MEASURED / f"gfx950_fwd_bf16_{name}.csv", traits_of_name, (ConvProblem,))
        for name in ("20kernels", "30kernels_even")
    )
    return few, many


def of_kernels(table, other):
    """Return the times of the kernels that another table has, too."""
    return of_names(table, other.kernels)


def some_kernels(table, every):
    """Return the times of each so many kernels, which are fitted in less time."""
    return of_names(table, sorted(table.kernels)[::every])


def of_names(table, names):
    """Return the times of some kernels."""
    return replace(
        table,
        kernels={name: traits for name, traits in table.kernels.items() if name in names},
        times={key: time for key, time in table.times.items() if key[1] in names},
    )


def halves_by_work(table, sizes):
    """Return the problems with fewer multiply-adds than the middle one, and the others."""
    work = [extents(sizes(problem))["work"] for problem in table.problems]
    middle = sorted(work)[len(work) // 2]
    small, large = (
        tuple(index for index, one in enumerate(work) if (one < middle) is part) for part in (True, False)
    )
    return table.subset(small), table.subset(large)


def shifted():
    """Return the lines of choices for other sizes than the trained ones."""
    few, many = gfx950_tables()
    weights = merged(tuple(h200_table("bwd_weight", half) for half in ("train", "unseen")))
    tables = [
        ("gfx950, 20 kernels", "fwd", few),
        ("gfx950, 30 kernels", "fwd", many),
        ("gfx950, both tables", "fwd", merged((few, many))),
        ("H200, fwd, train", "fwd", h200_table("fwd", "train")),
        ("H200, fwd, unseen", "fwd", h200_table("fwd", "unseen")),
        ("H200, bwd_weight", "bwd_weight", replace(weights, arch="h200")),
    ]
    lines = []
    for label, direction, table in tables:
        small, large = halves_by_work(table, SIZES[direction])
        for words, training, other in (("fewer", small, large), ("more", large, small)):
            model = published(training) if label.startswith("gfx950") else swept(direction, training)
            found = judged(model, other)
            efficiencies = (found.model, found.best_single, found.nearest_neighbour)
            lines.append(row((label, f"{words} multiply-adds"), [one for one in efficiencies if one]))
    return lines


def coverage():
    """Return the lines about intervals: unseen problems, then problems unlike the trained ones."""
    few, many = gfx950_tables()
    both = merged((few, many))

    def chosen(wanted):
        parts = [tuple(index for index, one in enumerate(wanted) if one is part) for part in (True, False)]
        return both.subset(parts[0]), both.subset(parts[1])

    small, large = halves_by_work(both, forward_with_runs)
    dots, filters = chosen([problem.filter == (1, 1) for problem in both.problems])
    strided, dense = chosen([max(problem.strides) > 1 for problem in both.problems])
    wide, narrow = chosen([problem.in_channels > CHANNELS for problem in both.problems])
    even, odd = (both.subset(tuple(range(first, len(both.problems), 2))) for first in (0, 1))
    others, strangers = (
        {name for name in both.kernels if ("compv4" in name) is one} for one in (False, True)
    )
    cases = [
        (
            "gfx950, 185 problems",
            "86 other problems, the same 20 kernels",
            published(few),
            of_kernels(many, few),
        ),
        ("gfx950, 86 problems", "185 other problems", published(many), few),
    ]
    for direction in SIZES:
        for halves in (("train", "unseen"), ("unseen", "train")):
            training, unseen = (h200_table(direction, half) for half in halves)
            cases.append((f"H200, {direction}, {halves[0]}", halves[1], swept(direction, training), unseen))
    cases += [
        ("gfx950, fewer multiply-adds", "more multiply-adds", published(small), large),
        ("gfx950, more multiply-adds", "fewer multiply-adds", published(large), small),
        ("gfx950, filters 1x1", "larger filters", published(dots), filters),
        ("gfx950, larger filters", "filters 1x1", published(filters), dots),
        ("gfx950, strides of 2", "of 1", published(strided), dense),
        ("gfx950, strides of 1", "of 2", published(dense), strided),
        (f"gfx950, more than {CHANNELS} channels", "fewer", published(wide), narrow),
        (
            "gfx950, every second problem without compv4",
            "compv4 on the others",
            published(of_names(even, others)),
            of_names(odd, strangers),
        ),
    ]
    return [
        _coverage_row(trained_on, judged_by, judged(asked, unseen))
        for trained_on, judged_by, asked, unseen in cases
    ]


def _coverage_row(trained_on, judged_by, found):
    parts = (found.inside, found.chosen_inside, found.warned_inside)
    shares = [f"{100 * fmean(one):.1f} %".replace("100.0 %", "100 %") if one else "-" for one in parts]
    warned = len(found.warned_inside) / (len(found.inside) + len(found.warned_inside))
    return f"| {trained_on} | {judged_by} | {' | '.join(shares)} | {100 * warned:.0f} % |"


def h200():
    """Return the lines of the loop on a GPU: forward, then backward weight."""
    found = [
        judged(swept(direction, h200_table(direction, "train")), h200_table(direction, "unseen"))
        for direction in SIZES
    ]
    swapped = [
        judged(swept(direction, h200_table(direction, "unseen")), h200_table(direction, "train"))
        for direction in SIZES
    ]
    plain = [
        judged(
            swept(direction, h200_table(direction, "train", told=False)),
            h200_table(direction, "unseen", told=False),
        )
        for direction in SIZES
    ]
    lines = [
        row(("model",), [one.model for one in found]),
        row(("best of the predicted best three",), [one.best_of_top for one in found]),
        row(("*best single kernel*",), [one.best_single for one in found]),
        row(("*nearest neighbour*",), [one.nearest_neighbour for one in found if one.nearest_neighbour]),
        row(("*noise ceiling*",), [one.ceiling for one in found if one.ceiling]),
        row(("model that knows the kernels' configuration alone",), [one.model for one in plain]),
        row(("model, halves swapped",), [one.model for one in swapped]),
        row(("best of three, halves swapped",), [one.best_of_top for one in swapped]),
    ]
    return lines


if __name__ == "__main__":
    print("\n\n".join("\n".join(block) for block in (gfx950(), h200(), shifted(), coverage())))
