"""Layouts of the D tensors of convolution kernels: that of the result, or one element per channel of it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_plugins.directions._convolution.layout import CHANNEL_AXES
from ckprof_plugins.elementwise.combination import MOST_D_TENSORS
from ckprof_plugins.elementwise.operation import DExtent

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ckprof.model.types import DataType
    from ckprof_plugins.directions._convolution.layout import ConvLayout
    from ckprof_plugins.elementwise.operations import ElementwiseOp

#: result of a convolution -> layout of a D tensor with one element per channel of it
CHANNEL_LAYOUTS: Final[Mapping[str, str]] = MappingProxyType(
    {result: "_".join(axes) for result, axes in CHANNEL_AXES.items()}
)


def per_channel(name: str) -> bool:
    """Say whether a layout of a D tensor is one of those with one element per channel."""
    return name in CHANNEL_LAYOUTS.values()


def d_layouts_of(result: str, layout: ConvLayout) -> tuple[str, ...]:
    """Return the layouts that D tensors of kernels can have: that of the result first.

    :param result: which tensor of the convolution they compute.
    """
    return (layout.order(result), *filter(None, [CHANNEL_LAYOUTS.get(result)]))


def check_d_layouts(operation: ElementwiseOp | None, layouts: Sequence[str], known: Collection[str]) -> None:
    """Check the layouts of the D tensors of a kernel.

    :param layouts: one for each of them.
    :param known: those that there are.
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
        if name not in known:
            raise InputError(f"d_layouts has {name}, expected {' or '.join(known)}")


def check_d_types(types: Sequence[DataType], layouts: Sequence[str]) -> None:
    """Check that D tensors have as many types as layouts, if they have any of their own.

    :raises InputError: they have not.
    """
    if types and len(types) != len(layouts):
        raise InputError(f"d_dtypes has {len(types)} types, the kernel has {len(layouts)} D tensors")


def usual_d_layouts(operation: ElementwiseOp, layout: ConvLayout, result: str) -> str | None:
    """Return those of the factories, separated by commas; ``None`` if the operation takes no D tensors.

    :param result: which tensor of the convolution is computed.
    """
    properties = operation.properties
    full = layout.order(result)
    if properties.variadic:
        return full
    channel = CHANNEL_LAYOUTS.get(result, full)
    names = (full if d.extent is DExtent.FULL else channel for d in properties.d_tensors)
    return ",".join(names) or None
