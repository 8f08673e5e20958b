"""Layouts of the D tensors of convolution kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.elementwise.combination import MOST_D_TENSORS
from ckprof_plugins.elementwise.operation import DExtent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.types import DataType
    from ckprof_plugins.directions._convolution.layout import ConvLayout
    from ckprof_plugins.elementwise.operations import ElementwiseOp

#: layout of a D tensor with one element per channel
PER_CHANNEL: Final = "G_K"


def check_d_layouts(operation: ElementwiseOp | None, layouts: Sequence[str], layout: ConvLayout) -> None:
    """Check the layouts of the D tensors of a kernel.

    :param layouts: one for each of them.
    :raises InputError: the operation takes another number of them, or there is no such layout.
    """
    if operation is None:
        if layouts:
            raise InputError(f"d_layouts is {','.join(layouts)}, but there is no elementwise_op to use them")
        return
    properties = operation.properties
    counts = range(1, MOST_D_TENSORS + 1) if properties.variadic else (len(properties.d_tensors),)
    if len(layouts) not in counts:
        expected = " or ".join(map(str, counts))
        raise InputError(
            f"{operation.value} takes {expected} D tensors, d_layouts has {len(layouts)}: "
            f"{','.join(layouts) or 'none'}"
        )
    for name in layouts:
        if name not in (layout.output, PER_CHANNEL):
            raise InputError(f"d_layouts has {name}, expected {layout.output} or {PER_CHANNEL}")


def check_d_types(types: Sequence[DataType], layouts: Sequence[str]) -> None:
    """Check that D tensors have as many types as layouts, if they have any of their own.

    :raises InputError: they have not.
    """
    if types and len(types) != len(layouts):
        raise InputError(f"d_dtypes has {len(types)} types, the kernel has {len(layouts)} D tensors")


def usual_d_layouts(operation: ElementwiseOp, layout: ConvLayout) -> str | None:
    """Return those of the factories, separated by commas; ``None`` if the operation takes no D tensors."""
    properties = operation.properties
    if properties.variadic:
        return layout.output
    names = (layout.output if d.extent is DExtent.FULL else PER_CHANNEL for d in properties.d_tensors)
    return ",".join(names) or None
