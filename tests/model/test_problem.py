"""What rates and tables take of problems, which say more or less of themselves."""

from __future__ import annotations

from dataclasses import dataclass

from ckprof.model.problem import brief, traffic_of
from ckprof.model.types import DataType, TypeSet
from ckprof_plugins.operations.gemm.problem import GemmProblem
from tests.report.conftest import PROBLEM


@dataclass(frozen=True)
class Plain:
    """A problem with what all have."""

    size: int

    def describe(self):
        return f"size {self.size}"

    def traffic_bytes(self, dtype):
        return self.size * dtype.properties.size_bytes


@dataclass(frozen=True)
class Typed(Plain):
    """One whose tensors have types of their own."""

    def typed_bytes(self, types):
        return sum(self.size * dtype.properties.size_bytes for dtype in types.of_tensors)


def test_the_shortest_text_is_that_of_sizes_with_an_effect():
    assert brief(Plain(3)) == "size 3"
    assert brief(PROBLEM) == PROBLEM.brief() and len(brief(PROBLEM)) < len(PROBLEM.describe())


def test_bytes_are_those_of_the_types_that_a_problem_asks_for():
    types = TypeSet(operands=(DataType.FP16, DataType.FP8), acc=DataType.FP32, result=DataType.FP32)
    assert traffic_of(Plain(10), types) == traffic_of(Plain(10), DataType.FP16) == 20
    assert traffic_of(Typed(10), types) == 20 + 10 + 40
    assert traffic_of(Typed(10), DataType.FP16) == 20
    gemm = GemmProblem(m=2, n=3, k=5)
    assert traffic_of(gemm, DataType.FP16) == 2 * (2 * 5 + 5 * 3 + 2 * 3)
