"""Which numbers the words of a type stand for on an architecture."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.arch.architectures import architectures

if TYPE_CHECKING:
    from ckprof.arch.architecture import Architecture
    from ckprof.model.type_set import TypeSet

_FNUZ: Final = "fnuz_float8"


def has_ocp_float8(arch: Architecture) -> bool:
    """Say whether 8-bit floating-point types are those of the OCP standard."""
    return _FNUZ not in arch.capabilities


def types_on(types: TypeSet, arch: str) -> TypeSet:
    """Return types with the variants of an architecture; those of the OCP standard where it is unknown."""
    known = architectures().get(arch)
    return replace(types, ocp=known is None or has_ocp_float8(known))
