"""What is compared for an upgrade: two sides, kernels, problems and databases."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.consumers.requests import DeviceChoice
from ckprof.errors import InputError
from ckprof.kernels.requests import BuildOptions
from ckprof.model.upgrade import UpgradePart
from ckprof.option import members, option

if TYPE_CHECKING:
    from ckprof.kernels.choose import Selection
    from ckprof.model.problem_case import ProblemCase

_PACKAGES: Final = (".deb", ".a")


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeSide:
    """One of the two states."""

    #: as the user named it
    name: str
    #: a tree or a package, which has lists; ``None`` for a compiler
    source: Path | None = None
    #: headers to compile with; ``None`` for what both sides share
    headers: Path | None = None
    #: ``None`` for the compiler that both sides share
    compiler: str | None = None

    @classmethod
    def of(cls, name: str) -> UpgradeSide:
        """Return what a name means: a folder, a package, or a compiler.

        :raises InputError: it is none of these.
        """
        path = Path(name)
        if name and path.is_dir():
            return cls(name=name, source=path, headers=path)
        if path.is_file() and path.suffix in _PACKAGES:
            return cls(name=name, source=path)
        words = name.split()
        if words and (shutil.which(words[0]) or (Path(words[0]).is_file() and os.access(words[0], os.X_OK))):
            return cls(name=name, compiler=name)
        raise InputError(
            f"is neither a folder, nor a package ({', '.join(_PACKAGES)}), nor a compiler that can be called",
            name or "''",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeCall:
    """Which states are compared, and by what."""

    old: str = field(
        metadata=option(
            "what there was: a source tree or installation, a package (.deb, .a), or a compiler",
            metavar="PATH",
        )
    )
    new: str = field(metadata=option("what comes: the same", metavar="PATH"))
    databases: tuple[Path, ...] = field(
        default=(),
        metadata=option(
            "database of tuned results as 'ckprof audit' takes it, or a folder of them, of which affected "
            "rows are told (repeatable)",
            flag="--database",
            metavar="PATH",
        ),
    )
    #: ``None``: no kernels are built
    selection: Selection | None = None
    problems: tuple[ProblemCase, ...] = ()
    build: BuildOptions = field(default_factory=BuildOptions)
    device: DeviceChoice = field(default_factory=DeviceChoice)
    fail_on: tuple[UpgradePart, ...] = field(
        default=tuple(UpgradePart),
        metadata=option(
            "changes that make the command exit with 1, separated by commas, or none (default: all): "
            f"{', '.join(part.value for part in UpgradePart)}",
            metavar="LIST",
            parse=partial(members, UpgradePart),
            several="store",
        ),
    )
