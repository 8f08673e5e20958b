"""JSON files of our own that say their schema and its version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec

from ckprof.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


class Versioned(Protocol):
    """A document with the two fields."""

    @property
    def schema(self) -> str:
        """Which kind of document it is."""

    @property
    def version(self) -> int:
        """Raised when readers of before would read it wrongly."""


D = TypeVar("D", bound=Versioned)


def read_versioned(path: Path, kind: type[D], schema: str, version: int, *, made_by: str) -> D:
    """Return the content of a file.

    :param made_by: what the document is and which command writes it, for messages.
    :raises InputError: the file cannot be read, or holds something else.
    """
    try:
        document = msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", path) from None
    except msgspec.DecodeError as exc:
        raise InputError(f"not {made_by}: {exc}", path) from None
    if (document.schema, document.version) != (schema, version):
        raise InputError(f"expected schema {schema} version {version}", path)
    return document
