"""Asking CK Builder itself for the strings of the factories that a list stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.errors import InputError, PluginError
from ckprof.model.conversion import ConversionRequest
from ckprof.model.parity import PrintRequest, Skipped
from ckprof.plugin.protocols import BuilderPrinter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckprof.model.conversion import Conversion
    from ckprof.plugin.registry import Registry

#: rule by which instances are left out
_RULE: str = "no-builder-string"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedStrings:
    """What a tree's Builder printed."""

    #: a line for each string, as if each list that the tree has stood in a file
    requests: tuple[ConversionRequest, ...]
    #: lines of the lists that the tree's Builder has no string for, by where they are
    left_out: Mapping[str, Skipped]
    #: what the user should know
    notes: tuple[str, ...]


def printed_strings(
    registry: Registry,
    direction: str,
    tree: Path,
    lists: Sequence[ConversionRequest],
    conversions: Sequence[Conversion],
) -> PrintedStrings:
    """Return what a tree's Builder prints for the factories of lists.

    :param direction: id.
    :param lists: what is asked for has the types of their lines, and does what these do.
    :param conversions: what the lists became.
    :raises PluginError: no plugin can ask a Builder.
    :raises InputError: the tree's factories have no such instance, or none that its Builder describes.
    :raises CkprofError: the tree cannot be used.
    """
    lines = {
        f"{request.path}:{number}": line
        for request in lists
        for number, line in enumerate(request.data.decode(errors="replace").splitlines(), 1)
    }
    catalogs = [catalog for conversion in conversions for catalog in conversion.catalogs]
    request = PrintRequest(
        tree=tree,
        direction=direction,
        layouts=tuple(dict.fromkeys(catalog.layout.name for catalog in catalogs)),
        dtypes=tuple(dict.fromkeys(catalog.dtype.value for catalog in catalogs)),
        lines=tuple(lines.values()),
    )
    printed = _printer(registry).print_lists(request)
    if not any(printed.texts.values()):
        raise InputError("; ".join(("its CK Builder prints no string for these lists", *printed.notes)), tree)
    return PrintedStrings(
        requests=tuple(
            ConversionRequest(path=tree / place, data=text.encode(), direction=direction)
            for place, text in printed.texts.items()
            if text
        ),
        left_out={
            source: Skipped(
                text=line,
                source=source,
                rule=_RULE,
                reason=f"the tree's CK Builder has no string for {name}",
            )
            for source, line in lines.items()
            if (name := line.partition("<")[0].strip()) in printed.without_string
        },
        notes=printed.notes,
    )


def _printer(registry: Registry) -> BuilderPrinter:
    for reader in registry.builder_readers:
        if isinstance(reader, BuilderPrinter):
            return reader
    raise PluginError("no plugin can ask CK Builder: no builder reader prints lists")
