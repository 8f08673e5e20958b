"""How wide the accesses to a tile are where CK Tile chooses, and which widths share a tile among threads."""

from __future__ import annotations

from typing import Final

#: bytes of the widest access, and of the narrower one that is tried after it; then single elements are loaded
_WIDTHS: Final = (16, 8)


def native_width(fast: int, share: int, element: int) -> int:
    """Return the elements of the widest access that divides the tile's fast axis and a thread's share.

    :param fast: elements along the fast axis.
    :param share: elements of the tile per thread.
    :param element: bytes of one.
    """
    for size in _WIDTHS:
        width = size // element
        if width and fast % width == 0 and share % width == 0:
            return width
    return 1


def covers(fast: int, other: int, width: int, waves: int, lanes: int) -> bool:
    """Say whether waves that load ``width`` elements per lane along the fast axis cover a tile by rows."""
    if fast % width:
        return False
    share = fast * other // (waves * lanes)
    across = fast // max(1, min(width, share))
    return lanes % across == 0 and other % (lanes // across * waves) == 0
