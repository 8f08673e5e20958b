"""The sizes of a problem that the time model reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.model.product import ImageShape, convolution_product
from ckprof.selection.work import Sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckprof.model.product import Product
    from ckprof.selection.arithmetic import Value

    #: problem -> all sizes; or of a convolution what :func:`~ckprof.model.product.convolution_product` takes
    GemmSizes = Callable[[Any], Sizes | tuple[Value, ...]]


def sizes_of(problem: Any, gemm_sizes: GemmSizes, element_bytes: int) -> Sizes:
    """Return the sizes of a problem, or the symbols of a symbolic one.

    :param gemm_sizes: what the operation makes of a problem.
    :param element_bytes: bytes of one element of every tensor of a convolution.
    """
    found = gemm_sizes(problem)
    if isinstance(found, Sizes):
        return found
    return sizes_of_product(convolution_product(problem, element_bytes, found))


def sizes_of_product(product: Product) -> Sizes:
    """Return the sizes that the time model makes of matrix products."""
    n_run, k_run = product.runs or (product.n, product.k)
    images = product.images or ImageShape(rows=product.m, columns=product.n, images=product.batch, channels=1)
    return Sizes(
        m=product.m,
        n=product.n,
        k=product.k,
        batch=product.batch,
        n_run=n_run,
        k_run=k_run,
        rows=images.rows,
        columns=images.columns,
        images=images.images,
        channels=images.channels,
        tensor_bytes=product.tensor_bytes,
        element_bytes=product.result_bytes,
    )
