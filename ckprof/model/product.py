"""A problem as the matrix products that it is, for predicting times."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.problem import ConvProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageShape:
    """What the rows of a result are where they are pixels; every value is a number, or a symbol of one."""

    #: of one image
    rows: Any
    columns: Any
    images: Any
    #: over all groups
    channels: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """``batch`` products of an m x k and a k x n matrix; every value is a number, or a symbol of one."""

    m: Any
    n: Any
    k: Any
    batch: Any
    #: bytes of all tensors, each once
    tensor_bytes: Any
    #: bytes of one element of the result
    result_bytes: int
    #: lengths of the runs of n and of k whose elements lie side by side; ``None`` where nothing interrupts
    runs: tuple[Any, Any] | None = None
    #: ``None``: rows are those of a matrix
    images: ImageShape | None = None


def convolution_product(problem: ConvProblem, element_bytes: int, sizes: Sequence[Any]) -> Product:
    """Return the products of a convolution, one for each group.

    :param element_bytes: of every tensor.
    :param sizes: m, n and k of one of them, then lengths of the runs of n and k if something interrupts them.
    """
    m, n, k, *runs = sizes
    output = problem.output
    return Product(
        m=m,
        n=n,
        k=k,
        batch=problem.groups,
        tensor_bytes=problem.moved_bytes(element_bytes),
        result_bytes=element_bytes,
        runs=(runs[0], runs[1]) if runs else None,
        images=ImageShape(
            rows=output[-2] if problem.ndim > 1 else 1,
            columns=output[-1],
            images=problem.batch * (prod(output[:-2]) if problem.ndim > 1 else 1),
            channels=problem.groups * problem.out_channels,
        ),
    )
