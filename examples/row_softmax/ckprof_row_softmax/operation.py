"""Softmax over the rows of a matrix, as an operation."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckprof.errors import InputError
from ckprof.model.computation import Tolerance
from ckprof.model.problem_case import ProblemCase, ProblemLine
from ckprof.model.types import DataType, TypeSet
from ckprof.plugin.protocols import LibraryInterface
from ckprof_row_softmax.problem import LAYOUTS, TENSORS, RowSoftmaxProblem

_EMBED = Path(__file__).parent / "embed"
_SIZES = re.compile(r"(\d+)x(\d+)")
#: relative error of an fp32 exponential, in units of the last place
_EXPONENTIAL_ULP = 4


class RowSoftmax:
    """One operand, a result of another type, and a tolerance that does not follow from sums of products."""

    id = "row_softmax"
    label = "softmax over the rows of a matrix"
    aliases = ("softmax",)
    problem_types = (RowSoftmaxProblem,)
    default_problem = MappingProxyType({0: RowSoftmaxProblem(rows=512, columns=1024)})
    layouts = LAYOUTS
    tensors = TENSORS
    host_args_type = "RowSoftmaxHostArgs"
    interface = LibraryInterface(
        library="row_softmax",
        row="row_softmax::table_row",
        entry=(_EMBED / "row_softmax_entry.hpp").read_text().rstrip(),
        headers=(),
    )
    line_words = ("row_softmax",)
    line_forms = ("row_softmax",)

    def types(self, dtype: DataType) -> TypeSet:
        """Return the types: sums and result are fp32.

        :raises InputError: the operand is no floating-point number.
        """
        if dtype.properties.is_integer:
            raise InputError(f"there is no softmax of {dtype.value}")
        return TypeSet(operands=(dtype,), acc=DataType.FP32, result=DataType.FP32)

    def parse_problem(self, line: ProblemLine) -> ProblemCase:
        """Parse ``[row_softmax] ROWSxCOLUMNS``.

        :raises InputError: it is wrong, with its column.
        """
        words = line.tokens()
        if words and words[0].text in self.line_words:
            del words[0]
        sizes = _SIZES.fullmatch(words[0].text) if len(words) == 1 else None
        if sizes is None:
            raise line.error("expected [row_softmax] ROWSxCOLUMNS", words[0].column if words else None)
        try:
            problem = RowSoftmaxProblem(rows=int(sizes[1]), columns=int(sizes[2]))
        except InputError as error:
            raise line.error(error.message, words[0].column) from None
        return ProblemCase(problem=problem, direction=self.id)

    def problem_line(self, case: ProblemCase, form: str) -> str:
        """Return the line of a problem."""
        return "row_softmax {}x{}".format(*case.problem.values())

    def random_problem(self, draw: random.Random, ndim: int) -> RowSoftmaxProblem:
        """Return a small problem."""
        return RowSoftmaxProblem(rows=draw.randint(1, 40), columns=draw.randint(1, 300))

    def reduction_length(self, problem: RowSoftmaxProblem) -> int:
        """Return the exponentials that are added up for a row."""
        return problem.columns

    def tolerance(self, problem: RowSoftmaxProblem, types: TypeSet, magnitude: float) -> Tolerance:
        """Return what fp32 exponentials and sums in any order can err by.

        An exponential errs by a few units, a sum of ``n`` positive terms by ``n`` roundings at most, the
        quotient by one. All of that is relative to the element: no result is negative.
        """
        unit = 0.5 * 2.0**-types.acc.properties.mantissa_bits
        # a difference of operands up to 2^7 in magnitude is off by 2^6 units before it is exponentiated
        return Tolerance(rtol=unit * (2 * _EXPONENTIAL_ULP + problem.columns + 2 + 64), atol=2.0**-126)

    def reference(
        self,
        problem: RowSoftmaxProblem,
        layout: Any,
        operands: Mapping[str, NDArray[np.float64]],
        types: TypeSet | None = None,
    ) -> NDArray[np.float64]:
        """Compute the softmax in double precision."""
        x = operands["x"]
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        result: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
        return result
