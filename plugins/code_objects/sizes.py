"""What formulas of launch descriptions can name, for each operation, and which tensors there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ckprof.errors import InputError

_AXES: Final = ("d", "h", "w")
_SPLITS: Final = "split_k"


@dataclass(frozen=True)
class Sizes:
    """The sizes of an operation's problems and the roles of its tensors."""

    names: tuple[str, ...]
    roles: tuple[str, ...]
    #: type of C++ that the shared header describes it by
    adapter: str


#: K and C are those of a group; axes that a problem does not have are of length 1, with pads of 0
CONVOLUTION: Final = Sizes(
    names=(
        *("G", "N", "K", "C", _SPLITS),
        *(
            f"{name}_{axis}"
            for name in ("in", "filter", "out", "stride", "dilation", "pad", "pad_right")
            for axis in _AXES
        ),
    ),
    roles=("input", "weight", "output"),
    adapter="convolution",
)
#: strides are elements from one row, or column, to the next
PRODUCT: Final = Sizes(
    names=("M", "N", "K", "stride_a", "stride_b", "stride_e", _SPLITS),
    roles=("a", "b", "e"),
    adapter="product",
)
_OPERATIONS: Final = {"fwd": CONVOLUTION, "bwd_data": CONVOLUTION, "bwd_weight": CONVOLUTION, "gemm": PRODUCT}


def sizes_of(operation: str) -> Sizes:
    """Return what descriptions of an operation's kernels can name.

    :raises InputError: descriptions cannot say what such problems are.
    """
    if operation not in _OPERATIONS:
        known = ", ".join(_OPERATIONS)
        raise InputError(f"launches of kernels of {operation} cannot be described, only those of {known}")
    return _OPERATIONS[operation]
