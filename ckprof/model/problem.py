"""What an operation is asked to compute: what all problems have, and what some have besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.requirement import UnmetRequirement
    from ckprof.model.tensor import Layout, TensorSpec
    from ckprof.model.types import DataType, TypeSet

#: CK Tile's ``index_t`` is a 32-bit integer: no length may exceed it.
MAX_LENGTH = 2**31 - 1


@runtime_checkable
class FusedProblem(Protocol):
    """A problem that asks for more than sums of products."""

    @property
    def unfused(self) -> Problem:
        """The sums alone, of the same sizes."""


@runtime_checkable
class Problem(Protocol):
    """The sizes of one problem of an operation: a frozen dataclass of integers and tuples of integers.

    Equal problems are equal and hash alike: problems are keys of measurements.
    """

    def __hash__(self) -> int:
        """Return the same for equal problems."""

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions, 0 for operations that have none."""

    @property
    def flop(self) -> int:
        """Floating-point operations that rates count."""

    @property
    def real_flop(self) -> int:
        """Those among them that every kernel must execute."""

    @property
    def part_axis(self) -> str:
        """Letter of the axis along which :meth:`parts` divides; tensors without it belong to all parts."""

    def tensor(self, name: str, layout: Layout) -> TensorSpec:
        """Return one of the operation's tensors."""

    def unmet_by(self, layout: Layout) -> UnmetRequirement | None:
        """Return why no kernel of a layout can compute the problem; ``None``: kernels say it."""

    def parts(self, most_elements: int) -> Sequence[tuple[slice, Problem]]:
        """Divide the problem, so that its result can be computed in parts.

        :param most_elements: how many elements of the tensors that have :attr:`part_axis` a part may have.
        :returns: which part of the axis, and the problem of that part alone.
        """

    def traffic_bytes(self, dtype: DataType) -> int:
        """Return the bytes that rates count: each tensor once.

        :param dtype: of the operands; the operation decides about the other types.
        """

    def values(self) -> tuple[int, ...]:
        """Return all sizes as numbers, in the order in which kernel libraries take them."""

    def describe(self) -> str:
        """Return one line for people."""

    def as_dict(self) -> dict[str, Any]:
        """Return the sizes and what reports say besides as plain JSON values."""


@runtime_checkable
class BriefProblem(Protocol):
    """A problem with a shorter text than that of all of its sizes."""

    def brief(self) -> str:
        """Return the sizes that have an effect, for tables with many problems."""


@runtime_checkable
class ColumnProblem(Protocol):
    """A problem whose sizes are columns of flat tables: data frames, Parquet."""

    @property
    def column_types(self) -> Mapping[str, type[int] | type[str]]:
        """Column -> type of its values, the same for all problems of the type."""

    def columns(self) -> Mapping[str, int | str]:
        """Return the values of the columns."""


@runtime_checkable
class LayerProblem(Protocol):
    """A type of problems that layers of networks are."""

    @property
    def layer_fields(self) -> frozenset[str]:
        """What a problem set says of a layer beside its name and count."""

    def of_layer(self, values: Mapping[str, Any], batch: int) -> Problem:
        """Return the problem of a layer; called on the type.

        :param values: one for each of :attr:`layer_fields`, plain JSON.
        :raises InputError: there is no such problem.
        """


def brief(problem: Problem) -> str:
    """Return the shortest text that tells problems apart."""
    return problem.brief() if isinstance(problem, BriefProblem) else problem.describe()


@runtime_checkable
class TypedProblem(Protocol):
    """A problem whose tensors may have several types, by the kernel."""

    def typed_bytes(self, types: TypeSet) -> int:
        """Return the bytes that rates count, as :meth:`Problem.traffic_bytes`."""


def traffic_of(problem: Problem, types: TypeSet | DataType) -> int:
    """Return the bytes that rates count: each tensor once.

    :param types: of the kernel's tensors, or of the operands alone.
    """
    from ckprof.model.types import DataType  # commands that compute nothing load no types

    if isinstance(types, DataType):
        return problem.traffic_bytes(types)
    return (
        problem.typed_bytes(types)
        if isinstance(problem, TypedProblem)
        else problem.traffic_bytes(types.operands[0])
    )
