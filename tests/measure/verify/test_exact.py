"""Faults as kernels have had them, and which operands show them."""

from dataclasses import replace

import numpy as np
import pytest

from ckprof.measure.options import ReferencePlace, RunOptions
from ckprof.measure.prepare import prepare_problem
from ckprof.measure.verify.exact import ExactKind
from ckprof.model.outcome import Status
from ckprof.model.types import ComputeType, DataType, SplitSum, TypeSet
from ckprof_plugins.operations.gemm.operation import Gemm
from ckprof_plugins.operations.gemm.problem import GemmProblem, types_of

from ..local_worker import measured
from ..summing_kernels import (
    CUT,
    LAYOUT,
    SummingKernel,
    away_from_zero,
    cut_off,
    tf32_cut_off,
)  # fmt: skip

pytestmark = pytest.mark.compiler

ONCE = RunOptions(warmup=0, min_samples=1, max_time_s=0.0, reference=ReferencePlace.HOST)
TF32 = TypeSet(
    operands=(DataType.FP32,) * 2, acc=DataType.FP32, result=DataType.FP32, compute_type=ComputeType.TF32
)
TYPES = {
    "fp32": types_of(DataType.FP32),
    "tf32": TF32,
    "fp16": types_of(DataType.FP16),
    "bf16": types_of(DataType.BF16),
    "fp8": types_of(DataType.FP8),
    "fp8_fnuz": replace(types_of(DataType.FP8), ocp=False),
    "bf8": types_of(DataType.BF8),
    "bf8_fnuz": replace(types_of(DataType.BF8), ocp=False),
    "int8": types_of(DataType.INT8),
}
FLOAT8 = ("fp8", "fp8_fnuz", "bf8", "bf8_fnuz")
SUMMED_IN_FP32 = tuple(name for name in TYPES if name != "int8")
ALL = tuple(TYPES)
WIDER = tuple(name for name in TYPES if name not in FLOAT8)
NOT_BF16 = tuple(name for name in TYPES if name != "bf16")
#: what takes little time; the rest is thorough
FAST = {"bf16", "fp8", "tf32"}
LENGTH = 1000
LONG = 2**17
EXACT, USUAL = "exact", "usual"
BOTH = (EXACT, USUAL)


def flushed(smallest):
    """Take numbers below the smallest normal one for 0."""
    return lambda values: np.where(np.abs(values) < smallest, 0.0, values)


def clamped(largest):
    return lambda values: np.clip(values, -largest, largest)


def not_a_number(largest):
    """Take the code of the largest number for that of a NaN, as the other variant of the type has it."""
    return lambda values: np.where(np.abs(values) == largest, np.nan, values)


#: a table: fault, what it does, length of the sums, types, and the operands that show it. What the usual
#: ones do not show is no more than a right kernel may err by.
FAULTS = (
    ("an element of K is left out", {"skip": (500, 501)}, LENGTH, ALL, BOTH),
    ("the last step of K is left out", {"skip": (992, 1000)}, LENGTH, ALL, BOTH),
    ("the last block of K is left out", {"skip": (960, 1000)}, LENGTH, ALL, BOTH),
    ("a 16th of a long sum is left out", {"skip": (0, LONG // 16)}, LONG, WIDER, BOTH),
    ("a 16th of a long sum is left out", {"skip": (0, LONG // 16)}, LONG, FLOAT8, (EXACT,)),
    ("a 128th of a long sum is left out", {"skip": (LONG // 2, LONG // 128 * 65)}, LONG, WIDER, BOTH),
    ("a 128th of a long sum is left out", {"skip": (LONG // 2, LONG // 128 * 65)}, LONG, FLOAT8, (EXACT,)),
    ("the accumulator is bf16", {"kept": 7}, LENGTH, SUMMED_IN_FP32, BOTH),
    ("the accumulator is fp16", {"kept": 10}, LENGTH, ("fp32", "tf32", "fp16", "bf16"), BOTH),
    ("the accumulator is fp16", {"kept": 10}, LENGTH, FLOAT8, (EXACT,)),
    ("a step keeps 14 bits", {"way": CUT, "bits": 14}, LENGTH, ("fp16",), (USUAL,)),
    ("a step keeps 14 bits", {"way": CUT, "bits": 14}, LENGTH, ("fp32", "tf32", "bf16"), BOTH),
    ("ties are rounded away from zero", {"store": away_from_zero}, LENGTH, ("fp16", "bf16"), (EXACT,)),
    ("the result is cut off", {"store": cut_off}, LENGTH, ("fp16",), BOTH),
    ("the result is cut off", {"store": cut_off}, LENGTH, FLOAT8, (EXACT,)),
    ("operands are cut off to TF32", {"operands": tf32_cut_off}, LENGTH, ("tf32",), (EXACT,)),
    ("operands are cut off to TF32", {"operands": tf32_cut_off}, LENGTH, ("fp32",), (USUAL,)),
    ("subnormal operands are 0", {"operands": flushed(2.0**-6)}, LENGTH, ("fp8",), BOTH),
    ("subnormal operands are 0", {"operands": flushed(2.0**-7)}, LENGTH, ("fp8_fnuz",), (EXACT,)),
    ("subnormal operands are 0", {"operands": flushed(2.0**-14)}, LENGTH, ("bf8",), (EXACT,)),
    ("subnormal operands are 0", {"operands": flushed(2.0**-15)}, LENGTH, ("bf8_fnuz",), (EXACT,)),
    ("the largest codes are clamped", {"operands": clamped(240.0)}, LENGTH, ("fp8",), (EXACT,)),
    ("the largest codes are clamped", {"operands": clamped(208.0)}, LENGTH, ("fp8_fnuz",), (EXACT,)),
    ("the largest codes are clamped", {"operands": clamped(49152.0)}, LENGTH, FLOAT8[2:], (EXACT,)),
    ("the largest code is a NaN", {"operands": not_a_number(448.0)}, LENGTH, ("fp8",), (EXACT,)),
    ("the largest code is a NaN", {"operands": not_a_number(240.0)}, LENGTH, ("fp8_fnuz",), (EXACT,)),
    ("the last of 16 splits is lost", {"split_k": 16, "lost_split": 15}, 1024, ALL, BOTH),
    ("the last of 64 splits is lost", {"split_k": 64, "lost_split": 63}, 1024, NOT_BF16, BOTH),
    ("the last of 64 splits is lost", {"split_k": 64, "lost_split": 63}, 1024, ("bf16",), (EXACT,)),
    ("the last of 128 splits is lost", {"split_k": 128, "lost_split": 127}, 2048, NOT_BF16, BOTH),
    ("the last of 128 splits is lost", {"split_k": 128, "lost_split": 127}, 2048, ("bf16",), (EXACT,)),
    ("one of 128 splits that meet in fp32 is lost",
     {"split_k": 128, "lost_split": 5, "split_sum": SplitSum.ACCUMULATOR}, 2048, ALL, BOTH),
)  # fmt: skip
CASES = [
    pytest.param(
        kernel,
        length,
        TYPES[types],
        found_by,
        id=f"{fault}-{types}",
        marks=() if types in FAST and length < LONG else pytest.mark.thorough,
    )
    for fault, kernel, length, names, found_by in FAULTS
    for types in names
]


def outcome_of(sums, types, folder, kernel, length, *, exact):
    """Measure a kernel, on operands with exact sums as well if that is wanted."""
    m, n = (8, 6) if length == LONG else (96, 80)
    problem = GemmProblem(m=m, n=n, k=length)
    made = SummingKernel(sums=sums, types=types, problem=problem, **{"step": 8, **kernel})
    tensors = Gemm(), problem, LAYOUT, types
    usual = prepare_problem(*tensors, ONCE, folder)
    kind = ExactKind.of(made.split_k, made.split_sum, 1)
    (folder / "exact").mkdir(exist_ok=True)
    other = prepare_problem(*tensors, ONCE, folder / "exact", exact=kind) if exact else None
    try:
        return measured(made, usual, ONCE, split_k=made.split_k, split_sum=made.split_sum, exact=other)
    finally:
        for one in filter(None, (usual, other)):
            one.close()


@pytest.mark.parametrize(("kernel", "length", "types", "found_by"), CASES)
def test_a_planted_fault_is_found(sums, tmp_path, kernel, length, types, found_by):
    both = outcome_of(sums, types, tmp_path, kernel, length, exact=True)
    assert both.status is Status.WRONG_RESULT
    assert both.reason.endswith("(with exact operands)") is (EXACT in found_by), both.reason
    usual = outcome_of(sums, types, tmp_path, kernel, length, exact=False)
    assert (usual.status is Status.WRONG_RESULT) is (USUAL in found_by), usual.verification


@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("splits", [pytest.param(1, marks=pytest.mark.thorough), 64])
def test_without_a_fault_it_is_right(sums, tmp_path, types, splits):
    for split_sum in SplitSum:
        kernel = {"split_k": splits, "split_sum": split_sum}
        outcome = outcome_of(sums, TYPES[types], tmp_path, kernel, LENGTH, exact=True)
        assert outcome.status is Status.OK, outcome.reason
