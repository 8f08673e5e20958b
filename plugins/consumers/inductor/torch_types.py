"""What torch calls types of operands in its sources for Composable Kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.model.types import DataType

if TYPE_CHECKING:
    from collections.abc import Mapping

#: torch's names of types -> ours
TYPES: Final[Mapping[str, DataType]] = {
    "F16": DataType.FP16,
    "BF16": DataType.BF16,
    "F32": DataType.FP32,
    "F8": DataType.FP8,
    "BF8": DataType.BF8,
    "I8": DataType.INT8,
}
#: operands that it chooses no kernel for
NEVER_CHOSEN: Final = frozenset({DataType.INT8})
