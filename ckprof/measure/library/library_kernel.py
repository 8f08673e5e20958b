"""One kernel of a library, and how users name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckprof.errors import InputError, UsageError
from ckprof.model.types import DataType, SplitSum, TypeSet
from ckprof.plain_text import unknown_name
from ckprof.plugin.operations import layout_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.model.layout import Layout
    from ckprof.plugin.protocols import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryKernel:
    """One kernel of a library."""

    index: int
    name: str
    #: content key of the instance
    key: str
    #: everything that makes the kernel, as ``ckprof list instances --format json`` shows it
    fields: Mapping[str, int | float | str | bool | None]
    #: memory order of the tensors
    layout: Layout

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions."""
        return int(self.fields["ndim"] or 0)

    @property
    def dtype(self) -> DataType:
        """Type of the operands."""
        return DataType(self.fields["dtype"])

    def types(self, operation: Operation) -> TypeSet:
        """Return the types of the tensors: what the library says, else the usual ones of the operation."""
        said = self.fields.get("types")
        return TypeSet.parse(str(said)) if said else operation.types(self.dtype)

    @property
    def split_sum(self) -> SplitSum:
        """How the parts of a split reduction are added up."""
        return SplitSum(self.fields.get("split_sum", SplitSum.RESULT_TYPE.value))


def library_kernels(
    operation: Operation, rows: Iterable[tuple[str, str, Mapping[str, Any]]]
) -> tuple[LibraryKernel, ...]:
    """Return the kernels of a library in its order.

    :param operation: what they compute.
    :param rows: name, key and fields of each.
    :raises InputError: the operation does not have a kernel's layout.
    """
    kernels = []
    for index, (name, key, fields) in enumerate(rows):
        layout = layout_named(operation, str(fields["layout"]))
        if layout is None:
            raise InputError(f"kernel {name} has an unknown layout: {fields['layout']}")
        kernels.append(LibraryKernel(index=index, name=name, key=key, fields=fields, layout=layout))
    return tuple(kernels)


def find_kernel(kernels: Sequence[LibraryKernel], which: int | str | LibraryKernel) -> LibraryKernel:
    """Return a kernel by its number, its name, or the start of its key.

    :raises UsageError: there is none, or several keys start like that.
    """
    if isinstance(which, LibraryKernel):
        return which
    if isinstance(which, int):
        if not 0 <= which < len(kernels):
            raise UsageError(f"kernel {which}: the library has {len(kernels)}, from 0")
        return kernels[which]
    matching = [kernel for kernel in kernels if kernel.name == which]
    matching = matching or [kernel for kernel in kernels if which and kernel.key.startswith(which)]
    if len(matching) != 1:
        names = [kernel.name for kernel in kernels]
        raise UsageError(unknown_name("kernel", which, names, "the library has none"))
    return matching[0]
