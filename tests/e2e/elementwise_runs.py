"""Random kernels with element-wise operations and random problems for them, of all directions."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from ckprof.errors import InputError
from ckprof.model.problem_case import ProblemCase
from ckprof_plugins.directions import shipped_directions
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem, option_of
from ckprof_plugins.directions._convolution.layout import CHANNEL_AXES
from ckprof_plugins.directions._convolution.positional import to_positional
from ckprof_plugins.elementwise.combination import MOST_D_TENSORS, Combination
from ckprof_plugins.elementwise.operation import DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp

DIRECTIONS = shipped_directions()
_HALF, _BYTE = ("16x16x16", "32x32x8"), ("16x16x32", "32x32x16")
#: data type -> MMA tiles that kernels of it have
MMA = {"fp16": _HALF, "bf16": _HALF, "fp32": ("16x16x4", "32x32x4")}
#: the same of types that forward alone has
FORWARD_MMA = {"fp8": _BYTE, "bf8": _BYTE, "int8": _BYTE}
#: types of which an operand can be made of two tensors
ONE_TYPE = ("fp16", "bf16", "fp32", "int8")
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


def extents_of(draw, operation, result):
    tensors = operation.properties.d_tensors
    count = draw.randint(1, MOST_D_TENSORS) if operation.properties.variadic else len(tensors)
    kinds = list(DExtent) if result in CHANNEL_AXES else [DExtent.FULL]
    return tuple(draw.choice(kinds) for _ in range(count))


def operation_and_types(draw, is_forward):
    """Return what a kernel does beside the convolution, its element type, and options of its other types."""
    known = [one for one in ElementwiseOp if is_forward or not one.properties.operands]
    dtype = draw.choice(tuple(MMA | FORWARD_MMA if is_forward else MMA))
    if dtype not in FORWARD_MMA:
        return draw.choice(known), dtype, ()
    operation = draw.choice([*known, None])
    if dtype == "int8":
        return operation, dtype, ()
    if operation is not None and operation.properties.operands:
        return operation, draw.choice(ONE_TYPE), ()
    other = ("--instance-spec", "dtype_b=bf8" if dtype == "fp8" else "dtype_b=fp8")
    result = ("--instance-spec", "dtype_result=fp32")
    return operation, dtype, (*draw.choice(((), other)), *draw.choice(((), (), result)))


def combination_of(draw, operation, extents):
    """Return an operation with random values of its parameters."""
    while True:
        values = tuple(
            float(draw.randrange(len(one.choices)))
            if one.choices
            else draw.choice((one.default, draw.randint(-16, 16) / 8, draw.uniform(-2, 2)))
            for one in operation.properties.parameters
        )
        try:
            return Combination(operation=operation, parameters=values, extents=extents)
        except InputError:
            continue


def question(draw, problems):
    direction = draw.choice(DIRECTIONS)
    result = direction.tensors[-1]
    operation, dtype, types = operation_and_types(draw, direction.id == "fwd")
    mma = draw.choice((MMA | FORWARD_MMA)[dtype])
    side, _, depth = (int(part) for part in mma.split("x"))
    (along_m, along_n), waves = draw.choice(BLOCKS)
    ndim = draw.choice((1, 2, 2, 3))
    extents = extents_of(draw, operation, result) if operation else ()
    vectors = draw.choice(("1,1,1", "2,2,2", "4,4,4", "1,2,2"))
    pipeline = draw.choice(("compv1", "mem", "compv3", "compv4"))
    kernel = [
        *(
            "--instance-spec",
            f"tile={side * along_m}x{side * along_n}x{max(32, depth)},waves={waves},mma={mma}",
        ),
        *("--instance-spec", f"vectors={vectors},gemm_pipeline={pipeline}"),
        *("--dtype", dtype, *types, "--ndim", str(ndim)),
        *(("--instance-spec", f"elementwise_op={operation.value}") if operation else ()),
    ]
    layout = next(one for one in direction.layouts if one.ndim == ndim and one.input.endswith("C"))
    if extents:
        # a kernel with the full layout takes both extents
        channels = "_".join(CHANNEL_AXES.get(result, ()))
        names = [
            channels if one is DExtent.CHANNEL and draw.random() < 0.3 else layout.order(result)
            for one in extents
        ]
        kernel += ["--instance-spec", f"d_layouts={','.join(names)}"]
        if dtype in FORWARD_MMA and draw.random() < 0.3:
            kernel += ["--instance-spec", f"d_dtypes={','.join(['fp32'] * len(extents))}"]
    if direction.id == "bwd_weight" and draw.random() < 0.5:
        kernel += ["--instance-spec", "two_stage=true"]
    lines = []
    while len(lines) < problems:
        try:
            plain = direction.random_problem(draw, ndim)
        except InputError:
            continue
        problem = plain
        if operation is not None:
            problem = FusedConvProblem.of(plain, combination_of(draw, operation, extents), result)
        lines.append(f"{to_positional(ProblemCase(problem=plain), plain, None)}{option_of(problem)}")
    return Question(direction.id, tuple(kernel), tuple(lines), "1" if direction.id == "fwd" else "1,2")


def answered(ckprof, asked, *more):
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
    counts = Counter()
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
