"""States of CK Tile's interface for which the generator knows how to write kernels."""

from __future__ import annotations

from typing import Final

#: The state that is assumed where no target says which headers it has.
LATEST_API_LEVEL: Final = "2026-06"
