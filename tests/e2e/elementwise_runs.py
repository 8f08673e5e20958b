"""Random kernels with element-wise operations and random problems for them, of all directions."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass

from ckprof.errors import InputError
from ckprof.model.problem_case import ProblemCase
from ckprof_plugins.directions._convolution.elementwise_option import option_of
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.directions._convolution.layout import CHANNEL_AXES
from ckprof_plugins.directions._convolution.line_writing import to_positional
from ckprof_plugins.directions.plugin import ckprof_register_directions
from ckprof_plugins.elementwise.combination import MOST_D_TENSORS, Combination
from ckprof_plugins.elementwise.operation import DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp

DIRECTIONS = ckprof_register_directions()
#: data type -> MMA tiles that kernels of it have
MMA = {"fp16": ("16x16x16", "32x32x8"), "bf16": ("16x16x16", "32x32x8"), "fp32": ("16x16x4", "32x32x4")}
#: block tile of so many MMA tiles along M and N, and waves
BLOCKS = (((1, 1), "1x1x1"), ((2, 1), "2x1x1"), ((2, 2), "2x2x1"), ((2, 4), "1x2x1"))


@dataclass(frozen=True)
class Question:
    """A kernel and problems for it."""

    direction: str
    #: options of ``ckprof run`` that name the kernel
    kernel: tuple[str, ...]
    lines: tuple[str, ...]
    splits: str


def extents_of(draw: random.Random, operation: ElementwiseOp, result: str) -> tuple[DExtent, ...]:
    tensors = operation.properties.d_tensors
    count = draw.randint(1, MOST_D_TENSORS) if operation.properties.variadic else len(tensors)
    kinds = list(DExtent) if result in CHANNEL_AXES else [DExtent.FULL]
    return tuple(draw.choice(kinds) for _ in range(count))


def combination_of(draw: random.Random, operation: ElementwiseOp, extents) -> Combination:
    """Return an operation with random values of its parameters."""
    while True:
        values = tuple(
            float(draw.randrange(len(one.choices)))
            if one.choices
            else draw.choice((one.default, draw.randint(-16, 16) / 8))
            for one in operation.properties.parameters
        )
        try:
            return Combination(operation=operation, parameters=values, extents=extents)
        except InputError:
            continue


def question(draw: random.Random, problems: int) -> Question:
    direction = draw.choice(DIRECTIONS)
    result = direction.tensors[-1]
    operation = draw.choice(list(ElementwiseOp))
    dtype = draw.choice(tuple(MMA))
    mma = draw.choice(MMA[dtype])
    side, _, depth = (int(part) for part in mma.split("x"))
    (along_m, along_n), waves = draw.choice(BLOCKS)
    ndim = draw.choice((1, 2, 2, 3))
    extents = extents_of(draw, operation, result)
    vectors = draw.choice(("1,1,1", "2,2,2", "4,4,4", "1,2,2"))
    kernel = [
        *("--tile", f"{side * along_m}x{side * along_n}x{max(32, depth)}", "--waves", waves, "--mma", mma),
        *("--vectors", vectors, "--gemm-pipeline", draw.choice(("compv1", "mem", "compv3", "compv4"))),
        *("--dtype", dtype, "--ndim", str(ndim), "--elementwise-op", operation.value),
    ]
    layout = next(one for one in direction.layouts if one.ndim == ndim and one.input.endswith("C"))
    if extents:
        # a kernel with the full layout takes both extents
        channels = "_".join(CHANNEL_AXES.get(result, ()))
        names = [
            channels if one is DExtent.CHANNEL and draw.random() < 0.3 else layout.order(result)
            for one in extents
        ]
        kernel += ["--d-layouts", ",".join(names)]
    if direction.id == "bwd_weight" and draw.random() < 0.5:
        kernel.append("--two-stage")
    lines = []
    while len(lines) < problems:
        try:
            plain = direction.random_problem(draw, ndim)
        except InputError:
            continue
        fused = FusedConvProblem.of(plain, combination_of(draw, operation, extents), result)
        lines.append(f"{to_positional(ProblemCase(problem=plain), plain, None)}{option_of(fused)}")
    return Question(direction.id, tuple(kernel), tuple(lines), "1" if direction.id == "fwd" else "1,2")


def answered(ckprof, asked: Question, *more: str) -> Counter[str]:
    """Return how many runs ended how; one that ended wrong is an error.

    :param ckprof: calls the command.
    """
    words = [word for line in asked.lines for word in ("--problem", line)]
    called = ckprof(
        *("run", asked.direction, *asked.kernel, *words, "--split-k", asked.splits),
        *("--max-time", "0", "--format", "json", *more),
        timeout=800,
    )
    if not called.out:
        # no instance is left: a rule forbids the kernel, and says so
        assert "valid" in called.err or "unsupported" in called.err, called.err
        return Counter(forbidden=1)
    found = json.loads(called.out)
    counts: Counter[str] = Counter()
    for problem in found["problems"]:
        for outcome in problem["outcomes"]:
            if "the launcher reported" in (outcome["reason"] or ""):
                # a machine so busy that a run's time is no run's time: neither right nor wrong
                counts["untimed"] += 1
                continue
            assert outcome["status"] in ("ok", "unsupported"), (asked, problem["text"], outcome)
            conditions = {one["condition"] for one in outcome["refusals"]}
            assert not conditions & {"elementwise", "d-tensor"}, (asked, outcome)
            if outcome["status"] == "ok":
                assert outcome["verification"]["passed"], (asked, outcome)
            counts[outcome["status"]] += 1
            counts[f"{asked.direction} {outcome['status']}"] += 1
    return counts
