"""Files of exports: complete, or not there."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def export_path(path: Path) -> Iterator[Path]:
    """Give a path beside the file, which takes the file's place if the block succeeds.

    :raises InputError: the file cannot be written.
    """
    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
        temporary = Path(name)
        os.close(handle)
        yield temporary
        # made for the user alone; others get what the user's mask grants them
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as exc:
        raise InputError(f"cannot be written: {exc.strerror}", path) from None
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextmanager
def export_stream(path: Path) -> Iterator[BinaryIO]:
    """Give a stream whose content becomes the file if the block succeeds.

    :raises InputError: the file cannot be written.
    """
    with export_path(path) as temporary, temporary.open("wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
