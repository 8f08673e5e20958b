"""Opening the inputs of comparisons and reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.compare.side import Side, side_of
from ckprof.errors import InputError
from ckprof.store.format import ImportHints, StoreFormats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.store.attempt import Attempt

#: the first bytes of every SQLite file
_SQLITE: Final = b"SQLite format 3\0"


def read_side(
    name: str, formats: StoreFormats, hints: ImportHints | None = None, *, by_device: bool = False
) -> Side:
    """Read a store, or a file that can be imported into one.

    :param name: a path; ``PATH@TAG`` means only what was measured with ``--tag TAG``.
    :param formats: what can be imported.
    :param hints: what a file does not say itself.
    :param by_device: tell devices apart, see :func:`~ckprof.compare.side.side_of`.
    :raises InputError: there is no such file, it is of no known kind, or has no such tag.
    :raises StoreError: the store cannot be used.
    """
    path, tag = split_tag(name)
    side = side_of(name, _tagged(_attempts(path, formats, hints or ImportHints()), tag), by_device=by_device)
    if tag is not None and not side.rows:
        raise InputError(f"nothing was measured with the tag {tag!r}", path)
    return side


def split_tag(name: str) -> tuple[Path, str | None]:
    """Return the path and the tag of ``PATH@TAG``; a file whose whole name has the @ wins."""
    whole = Path(name)
    start, separator, tag = name.rpartition("@")
    if whole.exists() or not separator or not start:
        return whole, None
    return Path(start), tag


def _attempts(path: Path, formats: StoreFormats, hints: ImportHints) -> Iterator[Attempt]:
    try:
        with path.open("rb") as stream:
            head = stream.read(len(_SQLITE))
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    if head == _SQLITE:
        return _stored(path)
    read = formats.of_content(path).read
    if read is None:
        raise InputError("its format can be written, but not read", path)
    return read(path, hints)


def _stored(path: Path) -> Iterator[Attempt]:
    from ckprof.store.store import Store

    with Store(path) as store:
        yield from store.attempts(samples=False)


def _tagged(attempts: Iterator[Attempt], tag: str | None) -> Iterator[Attempt]:
    return attempts if tag is None else (one for one in attempts if tag in one.session.tags)
