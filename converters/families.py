"""All families that ship with ckprof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof_converters import (
    families_backward_data,
    families_backward_weight,
    families_forward,
    families_native,
    families_short,
    families_unsupported,
)

if TYPE_CHECKING:
    from ckprof_converters.conf_family import ConfFamily

FAMILIES: Final[tuple[ConfFamily, ...]] = (
    *families_forward.FAMILIES,
    *families_backward_weight.FAMILIES,
    *families_backward_data.FAMILIES,
    *families_native.FAMILIES,
    *families_short.FAMILIES,
    *families_unsupported.FAMILIES,
)
