"""What is asked of operations in several doors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.plugin.protocols import FurtherOperands, MadeOperands

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.problem import Problem
    from ckprof.model.tensor import Layout
    from ckprof.model.types import TypeSet
    from ckprof.plugin.protocols import Operation
    from ckprof.plugin.registry import Registry


def layout_named(operation: Operation, name: str) -> Layout | None:
    """Return the layout of an operation's kernels with this name, or ``None``."""
    return next((layout for layout in operation.layouts if layout.name == name.lower()), None)


def layouts_named(registry: Registry, operations: Sequence[str] = ()) -> dict[str, Layout]:
    """Return the layouts that catalogs of some operations can name, by name.

    :param operations: ids or aliases; empty for all.
    :raises UsageError: there is no such operation.
    """
    ids = {registry.operation(name).id for name in operations}
    return {
        layout.name: layout
        for variant in registry.variants
        if not ids or variant.direction in ids
        for layout in variant.layouts
    }


def tensors_of(operation: Operation, problem: Problem) -> tuple[str, ...]:
    """Return the names of a problem's tensors, the result last."""
    return operation.tensors_of(problem) if isinstance(operation, FurtherOperands) else operation.tensors


def as_multiplied(
    operation: Operation, problem: Problem, operands: Mapping[str, NDArray[np.float64]], types: TypeSet
) -> dict[str, NDArray[np.float64]]:
    """Return the operands with those that the operation makes of several tensors in the place of the stored.

    :param operands: tensor name -> values, of all tensors but the result.
    """
    made = operation.multiplied(problem, operands, types) if isinstance(operation, MadeOperands) else {}
    return {**operands, **made}
