"""What torch's templates are about to choose kernels for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError
from ckprof_plugins.consumers.inductor.torch_types import TYPES
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from ckprof.model.problem import Problem
    from ckprof.model.types import DataType
    from ckprof_plugins.consumers.inductor.device_classes import Operation

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One operation of a program for which kernels are compiled and measured."""

    #: id of the operation
    direction: str
    dtype: DataType
    problem: Problem
    #: kernels that torch would compile at most; ``None``: all
    most: int | None
    #: numbers of splits that torch launches a kernel with
    splits: Callable[[Operation], Sequence[int]]
    #: says whether torch takes a kernel with a number of splits
    accepts: Callable[[Operation, int], bool]
    #: why no kernel may run; empty if some may
    refusal: str = ""


def choice_of(template: Any, config: Any) -> Choice | None:
    """Return what a template chooses for; ``None`` where its sizes or types are not known.

    :param template: a ``CKGroupedConvFwdTemplate`` or a ``CKGemmTemplate``.
    :param config: ``torch._inductor.config``.
    """
    try:
        sizes = [int(size) for size in template.size_args()]
        first = template.input_nodes[0].get_layout()
        dtype = TYPES[template._TORCH_DTYPE_TO_CK[first.dtype]]
        of = _convolution if hasattr(template, "n_spatial_dimensions") else _product
        return of(template, sizes, dtype, config.rocm.ck_max_profiling_configs)
    except (TypeError, ValueError, KeyError, InputError) as exc:
        # sizes that are symbols, types without kernels
        _log.info("kernels are offered in the order of their lists: %s", exc)
        return None


def _convolution(template: Any, sizes: Sequence[int], dtype: DataType, most: int | None) -> Choice:
    groups, batch, out_channels, in_channels, *spatial = sizes
    filter_, input_, strides, dilations, left, right = (
        tuple(spatial[begin : begin + 2]) for begin in range(0, 12, 2)
    )
    problem = ConvProblem(
        groups=groups,
        batch=batch,
        out_channels=out_channels,
        in_channels=in_channels,
        filter=filter_,
        input=input_,
        strides=strides,
        dilations=dilations,
        left_pads=left,
        right_pads=right,
    )
    weight = [int(size) for size in template.input_nodes[1].get_layout().size]
    refusal = ""
    if groups * out_channels * in_channels * prod(filter_) != prod(weight):
        refusal = (
            f"torch tells kernels of {groups} groups of {out_channels} x {in_channels} channels, but the "
            f"weight is of {' x '.join(map(str, weight))}: a kernel would read beyond it"
        )
    return Choice(
        direction="fwd",
        dtype=dtype,
        problem=problem,
        most=most,
        splits=lambda _: (1,),
        accepts=lambda operation, _: template.filter_op(operation) is not None,
        refusal=refusal,
    )


def _product(template: Any, sizes: Sequence[int], dtype: DataType, most: int | None) -> Choice:
    batch, (m, n, k) = (sizes[0], sizes[1:4]) if template.is_batched else (1, sizes[:3])
    rocm_op = _pair_type(template)

    def accepts(operation: Operation, splits: int) -> bool:
        return template.filter_op(rocm_op(op=operation, kBatch=splits)) is not None

    return Choice(
        direction="gemm",
        dtype=dtype,
        problem=GemmProblem(m=m, n=n, k=k, batch=batch),
        most=most,
        splits=template._get_kBatch,
        accepts=accepts,
    )


def _pair_type(template: Any) -> Any:
    """Return torch's type of an operation with its number of splits."""
    import sys

    return sys.modules[type(template).__module__].InductorROCmOp
