"""Finds CK Tile's headers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof_plugins.targets.hip.fetch import FETCH_COMMAND, fetched_root
from ckprof_plugins.targets.hip.header_level import detect_api_level
from ckprof_plugins.targets.hip.rocm import rocm_roots

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT_VARIABLE: Final = "CK_ROOT"
#: a root may be that of the headers, of an installation or of a checkout
_BELOW: Final = ("", "include", "projects/composablekernel/include")
_SIGN: Final = Path("ck_tile", "core.hpp")


@dataclass(frozen=True, slots=True, kw_only=True)
class CkHeaders:
    """A set of CK Tile headers."""

    #: folder that holds ``ck_tile``
    root: Path
    api_level: str
    #: who named it, for messages
    origin: str


def find_headers(requested: Path | None = None) -> CkHeaders:
    """Return the headers that the user named, or the first set that is found.

    :param requested: ``--ck-root``.
    :raises ToolchainError: there are none, or they are of an unknown API level.
    """
    looked: list[str] = []
    for origin, folder, named in _candidates(requested):
        for below in _BELOW:
            root = folder / below if below else folder
            if (root / _SIGN).is_file():
                return CkHeaders(root=root.resolve(), api_level=detect_api_level(root), origin=origin)
        if named:
            raise ToolchainError(f"{origin} {folder}: no ck_tile/core.hpp there or in its include folder")
        looked.append(str(folder))
    raise ToolchainError(
        f"no CK Tile headers found; looked in {', '.join(looked)}\n"
        f"name the folder that holds ck_tile/ with --ck-root or ${ROOT_VARIABLE}, or fetch a set of "
        f"July 2025 with '{FETCH_COMMAND}'"
    )


def _candidates(requested: Path | None) -> Iterator[tuple[str, Path, bool]]:
    """Yield origin, folder, and whether the user expects the headers to be there."""
    if requested is not None:
        yield "--ck-root", requested, True
        return
    from_environment = os.environ.get(ROOT_VARIABLE, "").strip()
    if from_environment:
        yield f"${ROOT_VARIABLE}", Path(from_environment), True
        return
    for root in rocm_roots():
        yield "ROCm", root, False
    yield "fetched", fetched_root(), False
