"""Which numbers the words of a type stand for on an architecture."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.arch.architectures import architectures

if TYPE_CHECKING:
    from ckprof.model.type_set import TypeSet

_FNUZ: Final = "fnuz_float8"


def types_on(types: TypeSet, arch: str) -> TypeSet:
    """Return types with the variants of an architecture; those of the OCP standard where it is unknown."""
    known = architectures().get(arch)
    return replace(types, ocp=known is None or _FNUZ not in known.capabilities)
