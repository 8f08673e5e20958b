"""What is the same for directions of convolution and all other operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ckprof.model.layout import LAYOUTS
from ckprof.model.type_set import TypeSet
from ckprof.plugin.protocols import FurtherOperands, OwnProblems

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.model.dtype import DataType
    from ckprof.model.layout import Layout
    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Direction, Operation
    from ckprof.plugin.registry import Registry


def as_direction(operation: Operation) -> Direction:
    """Return an operation without lines of its own as what it must be."""
    return cast("Direction", operation)


def layout_named(operation: Operation, name: str) -> Layout | None:
    """Return the layout of an operation's kernels with this name, or ``None``."""
    layouts = operation.layouts if isinstance(operation, OwnProblems) else LAYOUTS
    return next((layout for layout in layouts if layout.name == name.lower()), None)


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


def types_named(operation: Operation, dtype: DataType) -> TypeSet:
    """Return the types of an operation's kernels whose operands have this one.

    :raises InputError: there are no such kernels.
    """
    return operation.types(dtype) if isinstance(operation, OwnProblems) else TypeSet.shared(dtype)


def problem_types_of(operation: object) -> tuple[type[object], ...]:
    """Return the types of an operation's own problems; none for a direction of convolution."""
    kind = getattr(operation, "problem_type", None)
    further = operation.further_problem_types if isinstance(operation, FurtherOperands) else ()
    return (kind, *further) if isinstance(kind, type) else ()


def tensors_of(operation: Operation, problem: Problem) -> tuple[str, ...]:
    """Return the names of a problem's tensors, the result last."""
    return operation.tensors_of(problem) if isinstance(operation, FurtherOperands) else operation.tensors


def directions_among(operations: Iterable[Operation]) -> tuple[Direction, ...]:
    """Return the directions of convolution."""
    return tuple(as_direction(one) for one in operations if not isinstance(one, OwnProblems))
