"""What a parity check is asked, and which lists it compares together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ckprof.api.requests import BuildOptions, ListReading
from ckprof.errors import InputError, UsageError
from ckprof.flow.list_files import find_list
from ckprof.model.parity import DEFAULT_FAIL_ON, ParityFinding
from ckprof.parity.lockfile import read_lock
from ckprof.parity.side_files import Reading
from ckprof.paths import conf_root
from ckprof.strings.revision import default_revision, find_revision

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.parity.lockfile import LockedStrings
    from ckprof.plugin.protocols import Operation
    from ckprof.plugin.registry import Registry

Source = Literal["library", "catalog", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityRequest:
    """Which lists are compared with which strings.

    Exactly one of ``conf``, ``shipped`` and ``tree`` says which lists are meant; with ``locked`` none need.
    """

    #: id or alias; needed with ``conf``
    direction: str | None = None
    #: lists: paths, or names of lists that ship with ckprof
    conf: tuple[str, ...] = ()
    #: every list that ships with ckprof
    shipped: bool = False
    #: every ``<direction>/<set>/<name>.conf`` below this folder
    tree: Path | None = None
    #: CK Builder's strings, or the log of a profiler run; ``None`` computes them from the lists
    against: Path | None = None
    #: where the generated instances come from; ``None`` for the catalog, or both with ``library``
    source: Source | None = None
    #: the built kernel library; ``None`` builds it
    library: Path | None = None
    #: lock file whose strings are expected instead of CK Builder's
    locked: Path | None = None
    #: lock file that is written if everything matches
    write: Path | None = None
    #: CK revision whose strings CK Builder prints; ``None`` for the default
    revision: str | None = None
    reading: ListReading = field(default_factory=ListReading)
    build: BuildOptions = field(default_factory=BuildOptions)
    #: what makes the comparison fail
    fail_on: tuple[ParityFinding, ...] = DEFAULT_FAIL_ON

    def checked(self) -> ParityRequest:
        """Return the request with its source filled in.

        :raises UsageError: it contradicts itself.
        """
        chosen = [
            name
            for name, given in (
                ("--conf", bool(self.conf)),
                ("--all", self.shipped),
                ("--tree", self.tree is not None),
            )
            if given
        ]
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(chosen)} both say which lists are meant: pass one of them")
        if not chosen and self.locked is None:
            raise UsageError("no list: pass --conf FILE, --all, --tree DIR or --locked")
        if self.conf and self.direction is None:
            raise UsageError("--conf needs DIRECTION in front")
        self._check_lock()
        if not self.conf and (self.against or self.library) and self.locked is None:
            raise UsageError("--against and --library belong to lists that --conf names")
        if self.library is not None and self.source == "catalog":
            raise UsageError("--library and --from catalog contradict each other")
        default: Source = "both" if self.library is not None else "catalog"
        return replace(self, source=self.source or default)

    def _check_lock(self) -> None:
        if self.locked is None:
            return
        for option, given in (
            ("--write", self.write is not None),
            ("--against", self.against is not None),
            ("--all", self.shipped),
            ("--tree", self.tree is not None),
            ("--revision", self.revision is not None),
        ):
            if given:
                raise UsageError(f"--locked and {option} contradict each other")

    def strings_reading(self, revision: str | None) -> Reading:
        """Return how lists are read and strings are spelled.

        :param revision: name of the CK revision; ``None`` for the default.
        :raises UsageError: there is none of that name.
        """
        return strings_reading(self.reading, revision)


def strings_reading(reading: ListReading, revision: str | None) -> Reading:
    """Return how lists are read for a comparison of strings.

    :param revision: name of the CK revision; ``None`` for the default.
    :raises UsageError: there is none of that name.
    """
    return Reading(
        revision=find_revision(revision) if revision else default_revision(),
        lists=reading,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityTask:
    """Lists that are compared together."""

    direction: Operation
    paths: tuple[Path, ...]
    locked: LockedStrings | None = None


def parity_tasks(request: ParityRequest, registry: Registry) -> tuple[list[ParityTask], str | None]:
    """Return what is compared with what, and the name of the revision whose strings are expected.

    :param request: checked.
    :raises InputError: a list does not exist, or the lock does not hold it.
    """
    if request.locked is not None:
        return _locked_tasks(request, request.locked, registry)
    if request.conf and request.direction is not None:
        direction = registry.operation(request.direction)
        paths = tuple(dict.fromkeys(find_list(name) for name in request.conf))
        together = request.against is not None or request.source != "catalog"
        groups = [paths] if together else [(path,) for path in paths]
        return [ParityTask(direction=direction, paths=group) for group in groups], request.revision
    root = request.tree or conf_root()
    tasks = list(_tree_tasks(root, registry))
    if request.direction is not None:
        wanted = registry.operation(request.direction).id
        tasks = [task for task in tasks if task.direction.id == wanted]
    if not tasks:
        raise InputError("no instance list below it: expected <direction>/<set>/<name>.conf", root)
    return tasks, request.revision


def _tree_tasks(root: Path, registry: Registry) -> Iterator[ParityTask]:
    known = {alias: d for d in registry.operations for alias in (d.id, *d.aliases)}
    for folder in sorted(path for path in root.glob("*") if path.is_dir()):
        direction = known.get(folder.name)
        if direction is not None:
            for path in sorted(folder.glob("*/*.conf")):
                yield ParityTask(direction=direction, paths=(path,))


def _locked_tasks(
    request: ParityRequest, path: Path, registry: Registry
) -> tuple[list[ParityTask], str | None]:
    lock = read_lock(path)
    try:
        revision = find_revision(lock.revision).name
    except UsageError as error:
        raise InputError(str(error), path) from None
    wanted = registry.operation(request.direction).id if request.direction else None
    asked = {find_list(name).resolve() for name in request.conf}
    found: set[Path] = set()
    tasks = []
    for expected in lock.expected:
        direction = registry.operation(expected.direction)
        if wanted is not None and wanted != direction.id:
            continue
        paths = tuple(_locked_list(item.path, path) for item in expected.lists)
        resolved = {each.resolve() for each in paths}
        if asked and not resolved & asked:
            continue
        found |= resolved
        tasks.append(ParityTask(direction=direction, paths=paths, locked=expected))
    if asked - found:
        names = ", ".join(str(each) for each in sorted(asked - found))
        raise InputError(f"does not hold {names}: add it with --write", path)
    if not found:
        raise InputError("holds no list of the direction", path)
    return tasks, revision


def _locked_list(name: str, lock: Path) -> Path:
    beside = lock.parent / name
    return beside if beside.is_file() else find_list(name)
