"""The operations that kernel families write kernels for: those of the directions that declare one."""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from ckprof_plugins.directions.operation import Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ckprof.plugin.protocols import Direction


def operations_of(directions: Iterable[Direction]) -> Mapping[str, Operation]:
    """Return direction id -> operation of those directions that declare one."""
    found = {direction.id: getattr(direction, "operation", None) for direction in directions}
    return MappingProxyType({id_: value for id_, value in found.items() if isinstance(value, Operation)})


@lru_cache(maxsize=1)
def built_in_operations() -> Mapping[str, Operation]:
    """Return the operations of the directions that ship with ckprof."""
    from ckprof_plugins.directions.plugin import ckprof_register_directions

    return operations_of(ckprof_register_directions())
