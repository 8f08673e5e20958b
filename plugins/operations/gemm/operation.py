"""The product of two matrices as an operation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof.model.computation import Contraction
from ckprof.plugin.protocols import LibraryInterface, Operation
from ckprof_plugins.elementwise.combination import names_header
from ckprof_plugins.operations.gemm.lines import LINE_WORDS, names_sizes, parse_line
from ckprof_plugins.operations.gemm.problem import (
    LAYOUTS,
    TENSORS,
    GemmProblem,
    MultiDProblem,
    StridedBatchProblem,
    types_of,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.gemm_work import Product
    from ckprof.model.problem_case import ProblemCase, ProblemLine
    from ckprof.model.types import DataType, TypeSet

_EMBED: Final = Path(__file__).parent / "embed"

#: sizes that meet, and just miss, the conditions of kernels
_SIZES: Final = (1, 2, 4, 8, 12, 16, 20, 32, 48, 64, 96, 100, 128, 192, 224, 256, 257, 320, 512, 640, 1024)


class Gemm(Operation):
    """``E[M,N] = sum over K of A[M,K] * B[K,N]``, for one product or a batch of them, or with D tensors."""

    id = "gemm"
    label = "matrix product: E from A and B"
    aliases = ("gemm_universal",)
    tensors = TENSORS
    host_args_type = "GemmHostArgs"
    #: 268 MFLOP, about as many as the default problems of convolutions have
    default_problem = MappingProxyType({0: GemmProblem(m=512, n=512, k=512)})
    problem_types = (GemmProblem, StridedBatchProblem, MultiDProblem)
    line_words = LINE_WORDS
    line_forms = ("ckprofiler",)
    programs = ("ckProfiler",)
    layouts = LAYOUTS
    interface = LibraryInterface(
        library="ckprof_gemm",
        row="ckprof::entry::gemm_row",
        entry=f"{names_header()}\n\n{(_EMBED / 'ckprof_gemm_entry.hpp').read_text().rstrip()}",
        headers=(_EMBED / "ckprof_gemm_api.h",),
        source=_EMBED / "ckprof_gemm_api.cpp",
        ranks=True,
    )

    def parse_problem(self, line: ProblemLine) -> ProblemCase:
        """Parse a line; see :mod:`ckprof_plugins.operations.gemm.lines`.

        :raises InputError: it is wrong, with the position and the expected form.
        """
        return replace(parse_line(line), direction=self.id)

    def is_command(self, program: str, word: str) -> bool:
        """Say whether a word is one of ckProfiler's operations with matrices, or gives sizes."""
        return program in self.programs and (word in self.line_words or names_sizes(word))

    def problem_line(self, case: ProblemCase, form: str) -> str:
        """Return the line of a problem; see :mod:`ckprof_plugins.operations.gemm.line_forms`.

        :raises InputError: no form of line can say it.
        """
        from ckprof_plugins.operations.gemm.line_forms import problem_line

        problem = case.problem
        if not isinstance(problem, GemmProblem):
            raise InputError(f"{problem.describe()}: expected the problem of a matrix product")
        return problem_line(case, problem)

    def types(self, dtype: DataType) -> TypeSet:
        """Return the types of products of such matrices.

        :raises InputError: there are none.
        """
        return types_of(dtype)

    def tensors_of(self, problem: GemmProblem) -> tuple[str, ...]:
        """Return the names of a problem's matrices: A, B, D tensors, E."""
        return problem.tensors

    def deviation(self, problem: GemmProblem, mean_squares: Mapping[str, float]) -> float:
        """Return the standard deviation of an element of the result."""
        return problem.deviation(mean_squares)

    def roundings(self, problem: GemmProblem) -> int:
        """Return 2 where a product is rounded before it is combined with D tensors, else 1."""
        return 2 if isinstance(problem, MultiDProblem) else 1

    def is_exact(self, problem: GemmProblem) -> bool:
        """Say that sums of integers are combined without an error of their own."""
        return True

    def reduction_length(self, problem: GemmProblem) -> int:
        """Return the products per element: K."""
        return problem.k

    def product(self, problem: GemmProblem, dtype: DataType) -> Product:
        """Return the problem as a time model sees it.

        :raises InputError: there are no such products.
        """
        return problem.product(dtype)

    def contraction(self, problem: GemmProblem) -> Contraction:
        """Return the product as a sum, for devices."""
        return Contraction(summed=(("K", problem.k),))

    def reference(
        self,
        problem: GemmProblem,
        layout: Any,
        operands: Mapping[str, NDArray[np.float64]],
        types: TypeSet | None = None,
    ) -> NDArray[np.float64]:
        """Compute the product in double precision.

        :param layout: a :class:`~ckprof_plugins.operations.gemm.problem.MatrixLayout`.
        :param operands: ``a``, ``b`` and D tensors in the memory order of ``layout``, without gaps.
        :returns: ``e`` in the memory order of ``layout``, without gaps.
        """
        import numpy as np

        a = operands["a"] if layout.a == "MK" else operands["a"].swapaxes(-1, -2)
        b = operands["b"] if layout.b == "KN" else operands["b"].swapaxes(-1, -2)
        product = a @ b
        result = product if layout.e == "MN" else product.swapaxes(-1, -2)
        if isinstance(problem, MultiDProblem):
            d = tuple(operands[name] for name in problem.d_tensors)
            result = problem.elementwise_op.properties.formula(result, d, {})
        return np.ascontiguousarray(result)

    def random_problem(self, draw: random.Random, ndim: int) -> GemmProblem:
        """Return a small packed problem."""
        return GemmProblem(m=draw.choice(_SIZES), n=draw.choice(_SIZES), k=draw.choice(_SIZES))
