"""What the package registers; named in the entry point group ``ckprof`` of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the family, its catalogs, its list lines, and the strings that parity compares."""
    from ckprof_flydsl.family import FlyDslFamily
    from ckprof_flydsl.record import FAMILIES, STRINGS, VARIANTS

    registry.add(FlyDslFamily(), *VARIANTS, *FAMILIES, *STRINGS.values())
