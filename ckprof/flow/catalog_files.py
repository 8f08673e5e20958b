"""Whole folders of lists: planning through a converter plugin, writing, and checking what is on disk."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from ckprof.catalog.difference import differences
from ckprof.catalog.writer import resolved, write_catalog
from ckprof.errors import InputError
from ckprof.plugin.protocols import TreeConverter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof.catalog.difference import Difference
    from ckprof.model.catalog import Catalog
    from ckprof.model.conversion_tree import TreePlan, TreeRequest
    from ckprof.plugin.registry import Registry


class CatalogState(Enum):
    """What became of a catalog, or how it stands on disk."""

    WRITTEN = "written"
    #: it held the same bytes already
    UNCHANGED = "unchanged"
    #: checked and found as it should be
    AS_EXPECTED = "as expected"
    DIFFERS = "differs"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """A catalog and the file that it belongs to."""

    path: Path
    catalog: Catalog
    #: the lists that it is made of
    sources: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogFile:
    """An output and what became of it."""

    output: Output
    state: CatalogState
    differences: tuple[Difference, ...] = ()


def plan_tree(request: TreeRequest, registry: Registry) -> TreePlan:
    """Convert the lists of a folder with the first converter that finds any there.

    :raises InputError: none does.
    """
    for converter in registry.converters:
        if isinstance(converter, TreeConverter):
            plan = converter.plan_tree(request)
            if plan is not None:
                for item in plan.lists:
                    if item.conversion is not None:
                        registry.manager.call(
                            "ckprof_after_conversion", request=item.request, conversion=item.conversion
                        )
                return plan
    raise InputError("no instance list in this folder", request.root)


def write_outputs(outputs: Sequence[Output], within: Path | None = None) -> list[CatalogFile]:
    """Write catalogs. Files that are not named stay as they are.

    :param within: a folder that no symbolic link may lead out of.
    :raises InputError: a file cannot be written, or a link leads out of ``within``.
    """
    root = within.resolve() if within else None
    for output in outputs:
        # All of them before the first one is written.
        resolved(output.path, root)
    return [
        CatalogFile(
            output=output,
            state=CatalogState.WRITTEN
            if write_catalog(output.path, output.catalog)
            else CatalogState.UNCHANGED,
        )
        for output in outputs
    ]


def check_outputs(outputs: Sequence[Output]) -> list[CatalogFile]:
    """Compare files with the catalogs that they should hold; nothing is written.

    :raises InputError: a file is there but cannot be read.
    """
    return [_checked(output) for output in outputs]


def _checked(output: Output) -> CatalogFile:
    try:
        found = tuple(differences(output.path.read_bytes(), output.catalog))
    except (FileNotFoundError, NotADirectoryError):
        return CatalogFile(output=output, state=CatalogState.MISSING)
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", output.path) from None
    state = CatalogState.DIFFERS if found else CatalogState.AS_EXPECTED
    return CatalogFile(output=output, state=state, differences=found)
