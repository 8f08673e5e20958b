"""Forward convolutions of instance lists as Inductor's operations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from ckprof.errors import InputError
from ckprof.model.types import DataType
from ckprof_plugins.consumers._old_ck.kernels import index_of
from ckprof_plugins.consumers.inductor.device_classes import operation_of
from ckprof_plugins.consumers.inductor.torch_types import NEVER_CHOSEN
from ckprof_plugins.consumers.requests import kernel_lists
from ckprof_plugins.extract.classes import class_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import KernelList
    from ckprof_plugins.consumers._old_ck.kernels import OldKernel
    from ckprof_plugins.consumers.inductor.operations import CKGroupedConvFwdOp

#: the class that torch's template instantiates
KIND: Final = "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3"
#: dimensions that its sources are written for
_NDIM: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedConvolution:
    """A kernel of a list."""

    operation: CKGroupedConvFwdOp
    kernel: OldKernel
    #: name of the type of the operands
    dtype: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedConvolutions:
    """The kernels of some lists that torch's template can compile."""

    kernels: tuple[ListedConvolution, ...]
    #: why others are left out -> how many
    left_out: Counter[str]


def listed_convolutions(names: Sequence[str]) -> ListedConvolutions:
    """Return the kernels of lists, in their order.

    :param names: files, folders of them, or names of lists that ship with ckprof.
    :raises InputError: there is no such list, or it cannot be read.
    """
    return convolutions_of(kernel_lists(names))


@lru_cache(maxsize=4)
def convolutions_of(lists: tuple[KernelList, ...]) -> ListedConvolutions:
    """Return the kernels of lists, in their order."""
    index = index_of(lists)
    parameters = [entry.partition("|")[0].partition(":")[0] for entry in class_records()[KIND].fields]
    kernels: list[ListedConvolution] = []
    left_out: Counter[str] = Counter()
    for direction, ndim, dtype in index.families:
        if (direction, ndim) != ("fwd", _NDIM):
            continue
        for kernel in index.all_of((direction, ndim, dtype)):
            if kernel.kind != KIND:
                left_out["kernels of another class than the one that torch's template compiles"] += 1
            elif DataType.of_string(dtype) in NEVER_CHOSEN:
                left_out[f"operands of {dtype}, which torch chooses no kernel for"] += 1
            elif not kernel.complete:
                left_out["lines without all template arguments"] += 1
            else:
                arguments = [kernel.values[name] for name in parameters if name in kernel.values]
                try:
                    operation = cast("CKGroupedConvFwdOp", operation_of(KIND, arguments))
                except InputError as exc:
                    left_out[exc.message] += 1
                    continue
                kernels.append(ListedConvolution(operation=operation, kernel=kernel, dtype=dtype))
    return ListedConvolutions(kernels=tuple(kernels), left_out=left_out)
