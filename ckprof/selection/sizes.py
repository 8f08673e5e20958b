"""The sizes of a problem that the time model reads."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from ckprof.selection.work import Sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.model.product import Product
    from ckprof.selection.arithmetic import Value

    #: problem -> all sizes; or of a convolution those of its matrix products, m, n, k, and where its
    #: direction tells them, lengths of the runs along n and k
    GemmSizes = Callable[[Any], Sizes | tuple[Value, ...]]


def sizes_of(problem: Any, gemm_sizes: GemmSizes, element_bytes: int) -> Sizes:
    """Return the sizes of a problem, or the symbols of a symbolic one.

    :param gemm_sizes: what the operation makes of a problem.
    :param element_bytes: bytes of one element of every tensor of a convolution.
    """
    found = gemm_sizes(problem)
    if isinstance(found, Sizes):
        return found
    m, n, k, *runs = found
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


def sizes_of_product(product: Product) -> Sizes:
    """Return the sizes of matrix products whose operands lie in memory as they are."""
    return Sizes(
        m=product.m,
        n=product.n,
        k=product.k,
        batch=product.batch,
        n_run=product.n,
        k_run=product.k,
        rows=product.m,
        columns=product.n,
        images=product.batch,
        channels=1,
        tensor_bytes=product.tensor_bytes,
        element_bytes=product.result_bytes,
    )
