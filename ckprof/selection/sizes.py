"""The sizes of a problem that the time model reads."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ckprof.selection.work import Sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.model.problem import ConvProblem
    from ckprof.selection.arithmetic import Value

    #: problem -> sizes of its matrix products, m, n, k; where a direction tells them, lengths of the runs
    #: along n and k as well
    GemmSizes = Callable[[ConvProblem], tuple[Value, ...]]


def sizes_of(problem: ConvProblem, gemm_sizes: GemmSizes, element_bytes: int) -> Sizes:
    """Return the sizes of a problem, or the symbols of a symbolic one.

    :param gemm_sizes: what the direction makes of a problem.
    :param element_bytes: bytes of one element of every tensor.
    """
    m, n, k, *runs = gemm_sizes(problem)
    n_run, k_run = runs or (n, k)
    output = problem.output
    planes = prod(output[:-2]) if problem.ndim > 1 else 1
    rows = output[-2] if problem.ndim > 1 else 1
    return Sizes(
        m=m,
        n=n,
        k=k,
        batch=problem.groups,
        n_run=n_run,
        k_run=k_run,
        rows=rows,
        columns=output[-1],
        images=problem.batch * planes,
        channels=problem.groups * problem.out_channels,
        tensor_bytes=problem.moved_bytes(element_bytes),
        element_bytes=element_bytes,
    )
