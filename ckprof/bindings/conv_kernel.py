"""One kernel of a library, and how users name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.errors import InputError, UsageError
from ckprof.model.accumulation import SplitSum
from ckprof.model.dtype import DataType
from ckprof.model.layout import find_layout
from ckprof.model.suggestion import unknown_name
from ckprof.plugin.operations import layout_named

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.layout import ConvLayout, Layout
    from ckprof.plugin.protocols import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvKernel:
    """One kernel of a library."""

    index: int
    name: str
    #: content key of the instance
    key: str
    #: everything that makes the kernel, as ``ckprof list instances --format json`` shows it
    fields: Mapping[str, int | float | str | bool | None]

    @property
    def ndim(self) -> int:
        """Number of spatial dimensions."""
        return int(self.fields["ndim"] or 0)

    @property
    def dtype(self) -> DataType:
        """Type of the operands."""
        return DataType(self.fields["dtype"])

    @property
    def layout(self) -> ConvLayout:
        """Memory order of the tensors."""
        layout = find_layout(str(self.fields["layout"]))
        if layout is None:
            raise InputError(f"kernel {self.name} has an unknown layout: {self.fields['layout']}")
        return layout

    def layout_of(self, operation: Operation) -> Layout:
        """Return the same for kernels of any operation."""
        layout = layout_named(operation, str(self.fields["layout"]))
        if layout is None:
            raise InputError(f"kernel {self.name} has an unknown layout: {self.fields['layout']}")
        return layout

    @property
    def split_sum(self) -> SplitSum:
        """How the parts of a split reduction are added up."""
        return SplitSum(self.fields.get("split_sum", SplitSum.RESULT_TYPE.value))


def find_kernel(kernels: Sequence[ConvKernel], which: int | str | ConvKernel) -> ConvKernel:
    """Return a kernel by its number, its name, or the start of its key.

    :raises UsageError: there is none, or several keys start like that.
    """
    if isinstance(which, ConvKernel):
        return which
    if isinstance(which, int):
        if not 0 <= which < len(kernels):
            raise UsageError(f"kernel {which}: the library has {len(kernels)}, from 0")
        return kernels[which]
    found = [kernel for kernel in kernels if kernel.name == which]
    found = found or [kernel for kernel in kernels if which and kernel.key.startswith(which)]
    if len(found) != 1:
        names = [kernel.name for kernel in kernels]
        raise UsageError(unknown_name("kernel", which, names, "the library has none"))
    return found[0]
