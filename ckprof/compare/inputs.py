"""Opening the inputs of comparisons and reports: stores, importable files, sides that were read before."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.compare.side import Side, side_of
from ckprof.errors import InputError, system_errors
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.store.formats import read_attempts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.compare.compare import Comparison
    from ckprof.compare.options import CompareOptions
    from ckprof.session import Session
    from ckprof.store.attempt import Attempt
    from ckprof.store.baselines import BaselineAttempt


#: a store or an importable file, ``PATH@TAG``, or a side that was read before
SideInput = str | Path | Side


def compare_inputs(session: Session, old: SideInput, new: SideInput, options: CompareOptions) -> Comparison:
    """Compare two inputs, and settle what is unclear or fails if asked for.

    :raises CkprofError: an input cannot be read, or the kernels cannot be run again.
    """
    from ckprof.compare.compare import compare

    direction = session.registry.operation(options.direction).id if options.direction else ""
    hints = ImportHints(direction=direction)
    before, after = (_only(read_input(session, one, hints), direction) for one in (old, new))
    comparison = compare(before, after, options.policy)
    if options.settle is None:
        return comparison
    from ckprof.compare.settle import settle_rows

    return settle_rows(session, comparison, (before, after), options.settle)


def _only(side: Side, direction: str) -> Side:
    """Return a side with the rows of a direction; of none, with all."""
    rows = {key: row for key, row in side.rows.items() if direction in ("", key.problem.direction)}
    return replace(side, rows=rows)


#: the first bytes of every SQLite file
_SQLITE: Final = b"SQLite format 3\0"


def read_input(session: Session, source: SideInput, hints: ImportHints | None = None) -> Side:
    """Return a side: a store, or a file that can be imported into one, read if it is not yet.

    :param source: of a path, ``PATH@TAG`` means only what was measured with ``--tag TAG``.
    :param hints: what a file does not say itself.
    :raises InputError: there is no such file, it is of no known kind, or has no such tag.
    :raises StoreError: the store cannot be used.
    """
    if isinstance(source, Side):
        return source
    attempts = input_attempts(session, source, hints)
    return side_of(str(source), attempts, input_baselines(source))


def input_attempts(
    session: Session, source: str | Path, hints: ImportHints | None = None, *, samples: bool = False
) -> Iterator[Attempt]:
    """Yield what was measured, of a store or of a file that can be imported into one.

    :param source: see :func:`read_input`.
    :param samples: with the raw samples, where they are stored.
    :raises InputError: there is no such file, it is of no known kind, or has no such tag.
    :raises StoreError: the store cannot be used.
    """
    path, tag = split_tag(str(source))
    some = False
    if _is_store(path):
        attempts = _stored(path, samples=samples)
    else:
        attempts = read_attempts(session.registry.store_formats, path, hints or ImportHints())
    for attempt in attempts:
        if tag is None or tag in attempt.session.tags:
            some = True
            yield attempt
    if tag is not None and not some:
        raise InputError(f"nothing was measured with the tag {tag!r}", path)


def input_baselines(source: str | Path) -> Iterator[BaselineAttempt]:
    """Yield what became of baselines, of a store; other files have none.

    :param source: see :func:`read_input`.
    :raises StoreError: the store cannot be used.
    """
    from ckprof.store.store import Store

    path, tag = split_tag(str(source))
    if not _is_store(path):
        return
    with Store(path) as store:
        yield from (one for one in store.baselines() if tag is None or tag in one.session.tags)


def split_tag(name: str) -> tuple[Path, str | None]:
    """Return the path and the tag of ``PATH@TAG``; a file whose whole name has the @ wins."""
    whole = Path(name)
    start, separator, tag = name.rpartition("@")
    return (whole, None) if whole.exists() or not separator or not start else (Path(start), tag)


def _is_store(path: Path) -> bool:
    with system_errors(InputError, "cannot read", path):
        with path.open("rb") as stream:
            return stream.read(len(_SQLITE)) == _SQLITE


def _stored(path: Path, *, samples: bool) -> Iterator[Attempt]:
    from ckprof.store.store import Store

    with Store(path) as store:
        store.check_complete()
        yield from store.attempts(samples=samples)
