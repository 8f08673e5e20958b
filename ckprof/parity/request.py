"""What a parity check is asked, and which lists it compares together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from ckprof.errors import InputError, UsageError
from ckprof.kernels.requests import BuildOptions
from ckprof.lists.list_files import find_list, list_request, read_request
from ckprof.model.conversion import ListReading
from ckprof.model.parity import DEFAULT_FAIL_ON, ParityFinding
from ckprof.model.strings.kind import default_revision, find_revision
from ckprof.option import members, settable
from ckprof.parity.lockfile import read_lock
from ckprof.paths import conf_root

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.strings.kind import Revision
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
    conf: tuple[str, ...] = settable(
        (),
        "instance list: a legacy .conf, or a catalog together with --against; lists that ship with "
        "ckprof work by name (repeatable; each is compared by itself, but all together with --against or "
        "a library)",
        metavar="FILE",
    )
    shipped: bool = settable(False, "every list that ships with ckprof", flag="--all")
    tree: Path | None = settable(
        None, "every DIR/<direction>/<set>/<name>.conf, each by itself", metavar="DIR"
    )
    against: Path | None = settable(
        None,
        "CK Builder's strings: one a line, or the log of a profiler run (default: computed from the list)",
        metavar="FILE",
    )
    builder: Path | None = settable(
        None,
        "ask CK Builder itself: compile the reflection of this source tree for the factories of the list "
        "(needs a HIP compiler, no GPU), and compare what it prints with the list, too",
        metavar="CK_ROOT",
    )
    source: Source | None = settable(
        None,
        "where the generated instances come from (default: catalog, or both with --library); with both, "
        "library and catalog must agree first",
        flag="--generated",
        parse=str,
        choices=("library", "catalog", "both"),
    )
    library: Path | None = settable(None, "the built kernel library (default: it is built)", metavar="PATH")
    #: lock file whose strings are expected instead of CK Builder's
    locked: Path | None = None
    write: Path | None = settable(
        None, "write the strings to this file if everything matches", metavar="FILE"
    )
    revision: str | None = settable(
        None,
        "insist on this CK revision in logs and --against; else any is read, line by line {revisions}",
        metavar="NAME",
    )
    reading: ListReading = field(default_factory=ListReading)
    build: BuildOptions = field(default_factory=BuildOptions)
    fail_on: tuple[ParityFinding, ...] = settable(
        DEFAULT_FAIL_ON,
        "what makes the command exit with 1, separated by commas: "
        f"{', '.join(finding.value for finding in ParityFinding)}, or none",
        metavar="LIST",
        parse=partial(members, ParityFinding),
        show=lambda findings: ",".join(finding.value for finding in findings),
        several="store",
    )

    def checked(self) -> ParityRequest:
        """Return the request with its source filled in.

        :raises UsageError: it contradicts itself.
        """
        given = {
            "--conf": self.conf,
            "--all": self.shipped,
            "--tree": self.tree,
            "--write": self.write,
            "--against": self.against,
            "--builder": self.builder,
            "--revision": self.revision,
        }
        chosen = [name for name in ("--conf", "--all", "--tree") if given[name]]
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(chosen)} both say which lists are meant: pass one of them")
        if not chosen and self.locked is None:
            raise UsageError("no list: pass --conf FILE, --all, --tree DIR or --locked")
        for name in ("--write", "--against", "--builder", "--all", "--tree", "--revision"):
            if self.locked is not None and given[name]:
                raise UsageError(f"--locked and {name} contradict each other")
        if self.builder is not None and self.against is not None:
            raise UsageError("--builder and --against both say what CK Builder prints: pass one of them")
        if not self.conf and (self.against or self.library or self.builder) and self.locked is None:
            raise UsageError("--against, --builder and --library belong to lists that --conf names")
        if self.library is not None and self.source == "catalog":
            raise UsageError("--library and --generated catalog contradict each other")
        default: Source = "both" if self.library is not None else "catalog"
        return replace(self, source=self.source or default)


#: lists of a direction that are compared together, and the strings that a lock expects of them
ParityTask: TypeAlias = "tuple[Operation, tuple[Path, ...], LockedStrings | None]"


def parity_tasks(request: ParityRequest, registry: Registry) -> tuple[list[ParityTask], Revision]:
    """Return what is compared with what, and the revision whose strings are expected.

    :param request: checked.
    :raises InputError: a list does not exist, or the lock does not hold it.
    """
    if request.locked is not None:
        return _locked_tasks(request, request.locked, registry)
    revision = chosen_revision(request.revision)
    if request.conf:
        paths = tuple(dict.fromkeys(find_list(name) for name in request.conf))
        together = request.against is not None or request.source != "catalog"
        groups = [paths] if together else [(path,) for path in paths]
        return [(_direction(request, group, registry), group, None) for group in groups], revision
    root = request.tree or conf_root()
    if not root.is_dir():
        raise InputError("there is no such folder of lists", root)
    tasks = list(_tree_tasks(root, registry))
    if request.direction is not None:
        wanted = registry.operation(request.direction).id
        tasks = [task for task in tasks if task[0].id == wanted]
    if not tasks:
        raise InputError("no instance list below it: expected <direction>/<set>/<name>.conf", root)
    return tasks, revision


def _tree_tasks(root: Path, registry: Registry) -> Iterator[ParityTask]:
    by_name = {alias: d for d in registry.operations for alias in (d.id, *d.aliases)}
    for folder in sorted(path for path in root.glob("*") if path.is_dir()):
        direction = by_name.get(folder.name)
        if direction is not None:
            for path in sorted(folder.rglob("*/*.conf")):
                yield direction, (path,), None


def chosen_revision(name: str | None) -> Revision:
    """Return the revision of that name, or the default one.

    :raises UsageError: there is none of that name.
    """
    return find_revision(name) if name else default_revision()


def _direction(request: ParityRequest, paths: Sequence[Path], registry: Registry) -> Operation:
    """Return the direction that was named, or that of the lists.

    :raises UsageError: these have several.
    :raises InputError: a list cannot be read.
    """
    if request.direction is not None:
        return registry.operation(request.direction)
    found = {
        registry.variants.find(catalog.variant).direction
        for path in paths
        for catalog in read_request(list_request(path, request.reading, whole=True), registry).catalogs
    }
    if len(found) != 1:
        what = f"of {' and '.join(sorted(found))}" if found else "of no direction"
        raise UsageError(f"--conf holds instances {what}: expected those of one, name it in front")
    return registry.operation(found.pop())


def _locked_tasks(
    request: ParityRequest, path: Path, registry: Registry
) -> tuple[list[ParityTask], Revision]:
    lock = read_lock(path)
    try:
        revision = find_revision(lock.revision)
    except UsageError as error:
        raise InputError(str(error), path) from None
    wanted = registry.operation(request.direction).id if request.direction else None
    asked = {find_list(name).resolve() for name in request.conf}
    covered: set[Path] = set()
    tasks: list[ParityTask] = []
    for expected in lock.expected:
        direction = registry.operation(expected.direction)
        if wanted is not None and wanted != direction.id:
            continue
        paths = tuple(_locked_list(item.path, path) for item in expected.lists)
        resolved = {path_of_list.resolve() for path_of_list in paths}
        if asked and not resolved & asked:
            continue
        covered |= resolved
        tasks.append((direction, paths, expected))
    if asked - covered:
        names = ", ".join(str(path_of_list) for path_of_list in sorted(asked - covered))
        raise InputError(f"does not hold {names}: add it with --write", path)
    if not covered:
        raise InputError("holds no list of the direction", path)
    return tasks, revision


def _locked_list(name: str, lock: Path) -> Path:
    beside = lock.parent / name
    return beside if beside.is_file() else find_list(name)
