"""Which lists ``ckprof parity`` compares, and which of them together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli import shared_options
from ckprof.errors import InputError, UsageError
from ckprof.flow.list_files import find_list
from ckprof.parity.lockfile import read_lock
from ckprof.paths import conf_root
from ckprof.strings.revision import find_revision

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from ckprof.cli.session import Session
    from ckprof.parity.lockfile import LockedStrings
    from ckprof.plugin.protocols import Direction


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityTask:
    """Lists that are compared together."""

    direction: Direction
    paths: tuple[Path, ...]
    locked: LockedStrings | None = None


def parity_tasks(arguments: argparse.Namespace, session: Session) -> list[ParityTask]:
    """Return what is compared with what.

    :raises InputError: a list does not exist, or the lock does not hold it.
    """
    if arguments.locked is not None:
        tasks = list(_locked_tasks(arguments, session))
    elif arguments.conf:
        direction = shared_options.chosen_direction(arguments, session)
        paths = tuple(dict.fromkeys(find_list(name) for name in arguments.conf))
        together = arguments.against is not None or arguments.source != "catalog"
        groups = [paths] if together else [(path,) for path in paths]
        tasks = [ParityTask(direction=direction, paths=group) for group in groups]
    else:
        tasks = list(_tree_tasks(arguments.tree or conf_root(), session))
        if arguments.direction is not None:
            wanted = shared_options.chosen_direction(arguments, session).id
            tasks = [task for task in tasks if task.direction.id == wanted]
        if not tasks:
            raise InputError(
                "no instance list below it: expected <direction>/<set>/<name>.conf",
                arguments.tree or conf_root(),
            )
    return tasks


def _tree_tasks(root: Path, session: Session) -> Iterator[ParityTask]:
    known = {alias: d for d in session.registry.directions for alias in (d.id, *d.aliases)}
    for folder in sorted(path for path in root.glob("*") if path.is_dir()):
        direction = known.get(folder.name)
        if direction is not None:
            for path in sorted(folder.glob("*/*.conf")):
                yield ParityTask(direction=direction, paths=(path,))


def _locked_tasks(arguments: argparse.Namespace, session: Session) -> Iterator[ParityTask]:
    path = Path(arguments.locked)
    lock = read_lock(path)
    try:
        arguments.revision = find_revision(lock.revision).name
    except UsageError as error:
        raise InputError(str(error), path) from None
    asked = {find_list(name).resolve() for name in arguments.conf}
    found: set[Path] = set()
    for expected in lock.expected:
        direction = session.registry.direction(expected.direction)
        if arguments.direction and shared_options.chosen_direction(arguments, session).id != direction.id:
            continue
        paths = tuple(_locked_list(item.path, path) for item in expected.lists)
        resolved = {each.resolve() for each in paths}
        if asked and not resolved & asked:
            continue
        found |= resolved
        yield ParityTask(direction=direction, paths=paths, locked=expected)
    if asked - found:
        names = ", ".join(str(each) for each in sorted(asked - found))
        raise InputError(f"does not hold {names}: freeze it with --write", path)
    if not found:
        raise InputError("holds no list of the direction", path)


def _locked_list(name: str, lock: Path) -> Path:
    beside = lock.parent / name
    return beside if beside.is_file() else find_list(name)


def shown(path: Path) -> str:
    """Return a path for titles; lists that ship with ckprof by the name that finds them."""
    root = conf_root()
    return str(path.relative_to(root) if path.is_relative_to(root) else path)
