"""A few awkward problems for each shipped list, such that each instance supports some of them.

Drawn at random and chosen greedily by the answers of the host model, once: ``golden/list_problems`` has what
was chosen, and whoever has a device needs no host compiler for it.
"""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np

from ckprof.errors import InputError
from ckprof.kernels.requests import BuildOptions, InstanceQuery
from ckprof.measure.requests import SupportRequest
from ckprof.measure.support import random_queries
from ckprof.measure.worker.messages import SupportQuery
from ckprof.model.problem_case import ProblemCase
from ckprof.paths import conf_root
from ckprof.problems.problem_file import render_problems
from ckprof.profiler import Profiler
from ckprof_plugins.directions._convolution.problem import ConvProblem

GOLDEN = "list_problems"
#: has everything that instances of the lists ask for, such as direct loads into local memory
ARCH = "gfx950"
#: problems that each instance supports among the chosen ones, if there are that many
WANTED = 2
MOST = 12
#: floating-point operations of the larger problems, about
MOST_WORK = 5e9
#: kernels that no problem is for: merged groups have one channel each, and these load eight at a time
UNUSABLE = frozenset(
    {
        "grouped_conv_fwd_int8_nhwgc_2d_compv1_cshuffle_intrawave_32x64x32_1x1x1_32x32x16_vec8_8_1_gm8_filter3x3"
    }
)
SMALL_DRAWS = 500
OWN_DRAWS = 800
_SEED = 20
_CHANNELS = (1, 1, 2, 3, 4, 8, 16, 24, 40, 64, 72, 96, 128, 160, 256)
_GROUPS = (1, 1, 1, 2, 3, 8, 16, 24, 32, 64)
_SPLITS = (1, 1, 2, 3, 4)


def shipped_lists():
    """Return the names of the lists of tests, as ``--conf`` takes them."""
    root = Path(conf_root())
    return sorted(str(path.relative_to(root).with_suffix("")) for path in root.glob("*/tests/*.conf"))


def golden_name(conf):
    """Return the golden file of a list."""
    return f"{GOLDEN}/{conf.replace('/', '-')}.json"


def choose(conf):
    """Choose problems for a list.

    :returns: the text of a problem file, and the names of kernels that support none of all problems drawn.
    """
    profiler = Profiler()
    selection = profiler.instances(InstanceQuery(conf=conf)).require()
    operation = profiler.registry.operation(selection.direction)
    queries = [*_small(selection, operation), *_own(selection)]
    table = profiler.check_support(
        SupportRequest(
            selection=selection,
            build=BuildOptions(target="cpu", arch=ARCH),
            queries=tuple(queries),
            model=False,
        )
    )
    assert len(table.candidates) == len(selection.candidates)
    answers = np.array(
        [[one.supported for one in table.answers[kernel.instance.key]] for kernel in table.candidates]
    )
    usable = {
        kernel.name: row.any()
        for kernel, row in zip(table.candidates, answers, strict=True)
        if kernel.name not in UNUSABLE
    }
    lost = [name for name, supports in usable.items() if not supports]
    chosen = _greedy(answers, queries)
    problems = [
        ProblemCase(
            problem=queries[number].problem, direction=selection.direction, splits=(queries[number].split_k,)
        )
        for number in chosen
    ]
    return render_problems(problems, "json", (), f"chosen for the instances of {conf}")[0], lost


def _small(selection, operation):
    return random_queries(SMALL_DRAWS, selection.candidates[0].instance.ndim, _SEED, operation)


def _own(selection):
    """Return larger problems, with many groups, and the kernels' own ones in other sizes."""
    draw = random.Random(_SEED)
    ndim = selection.candidates[0].instance.ndim
    usual = _usual(ndim)
    found = []
    while len(found) < OWN_DRAWS:
        kernel = draw.choice(selection.candidates)
        try:
            own = kernel.pipeline.default_problem(kernel.instance, usual)
            changes = _sizes(draw, ndim) if own is usual else _resized(draw, ndim)
            problem = replace(own, **changes)
        except InputError:
            continue  # e.g. the filter does not fit into the image
        found.append(SupportQuery(problem=problem, split_k=draw.choice(_SPLITS)))
    return found


def _usual(ndim):
    ones = (1,) * ndim
    return ConvProblem(
        groups=1,
        batch=4,
        out_channels=64,
        in_channels=64,
        filter=(3,) * ndim,
        input=(14,) * ndim,
        strides=ones,
        dilations=ones,
        left_pads=ones,
        right_pads=ones,
    )


def _resized(draw, ndim):
    """Return changes that leave what a kernel insists on."""
    return {
        "groups": draw.choice((8, 24, 64)),
        "batch": draw.choice((3, 16, 24)),
        "input": tuple(draw.randint(5, 40) for _ in range(ndim)),
    }


def _sizes(draw, ndim):
    taps = draw.choice((1, 1, 3, 3, 5))
    pad = draw.choice((0, taps // 2))
    longest = 40 if ndim == 2 else 14
    channels = draw.choice(_CHANNELS)
    return {
        "groups": draw.choice(_GROUPS),
        "batch": draw.choice((1, 3, 6)),
        "out_channels": draw.choice((channels, *_CHANNELS)),
        "in_channels": channels,
        "filter": (taps,) * ndim,
        "input": tuple(draw.randint(6, longest) for _ in range(ndim)),
        "strides": (draw.choice((1, 1, 2)),) * ndim,
        "dilations": (draw.choice((1, 1, 1, 2)),) * ndim,
        "left_pads": (pad,) * ndim,
        "right_pads": (pad,) * ndim,
    }


def _greedy(answers, queries):
    """Choose problems that serve most kernels that are not served often enough, awkward ones first.

    :param answers: kernels x problems.
    """
    awkward = np.array([1 + _awkwardness(one) / 4 for one in queries])
    missing = np.minimum(WANTED, answers.sum(axis=1))
    chosen = []
    while missing.any() and len(chosen) < MOST - len(_KINDS):
        # kernels without any problem so far come first
        urgent = answers & ((missing == missing.max()) & (missing > 0))[:, None]
        worth = urgent.sum(axis=0) * awkward
        worth[chosen] = 0
        chosen.append(int(worth.argmax()))
        missing = np.maximum(0, missing - answers[:, chosen[-1]])
    return list(dict.fromkeys([*chosen, *_widely_supported(answers, queries)]))


def _widely_supported(answers, queries):
    """Return the largest problem of each kind among those that most kernels support which support any."""
    supporters = answers.sum(axis=0)
    work = np.array([one.problem.flop for one in queries])
    found = []
    for is_of_kind in _KINDS:
        kind = np.array([is_of_kind(_convolution(one), one.split_k) for one in queries])
        most = (supporters * kind).max()
        if most > 0:
            common = kind & (supporters >= 0.8 * most)
            found.append(int((common * np.where(work <= MOST_WORK, work, 1)).argmax()))
    return found


#: of problems that each list has one of, if any kernel supports it: by problem and splits
_KINDS = (
    lambda problem, splits: splits == 1,
    lambda problem, splits: splits > 1,
    lambda problem, splits: min(problem.filter) > 1 and min(problem.left_pads) > 0,
    lambda problem, splits: min(problem.filter) > 1 and max(problem.strides) > 1,
    lambda problem, splits: max(problem.filter) > 1 and problem.left_pads != problem.right_pads,
)


def _convolution(query):
    assert isinstance(query.problem, ConvProblem)
    return query.problem


def _awkwardness(query):
    problem = _convolution(query)
    return sum(
        (
            problem.groups > 1,
            problem.batch % 2,
            problem.in_channels & (problem.in_channels - 1) > 0,
            problem.out_channels & (problem.out_channels - 1) > 0,
            max(problem.strides) > 1,
            max(problem.dilations) > 1,
            max(problem.left_pads) > 0,
            problem.left_pads != problem.right_pads,
            len(set(problem.filter)) > 1,
            len(set(problem.input)) > 1,
            query.split_k > 1,
        )
    )
