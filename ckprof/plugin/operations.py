"""What is the same for directions of convolution and all other operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ckprof.model.layout import LAYOUTS
from ckprof.model.type_set import TypeSet
from ckprof.plugin.protocols import FurtherOperands, OwnProblems

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.model.dtype import DataType
    from ckprof.model.layout import Layout
    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Direction, Operation


def as_direction(operation: Operation) -> Direction:
    """Return an operation without lines of its own as what it must be."""
    return cast("Direction", operation)


def layout_named(operation: Operation, name: str) -> Layout | None:
    """Return the layout of an operation's kernels with this name, or ``None``."""
    layouts = operation.layouts if isinstance(operation, OwnProblems) else LAYOUTS
    return next((layout for layout in layouts if layout.name == name.lower()), None)


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
