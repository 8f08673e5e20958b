"""States of CK Tile's interface for which the generator knows how to write kernels.

Which of them a set of headers has is for the target to find out; what a kernel family can express at a level
is for the family to say.
"""

from __future__ import annotations

from typing import Final

#: forward and backward weight; hot loop and tail are template arguments of a kernel
API_LEVEL_2025_07: Final = "2025-07"
#: all directions; hot loop and tail are still template arguments, what is read and written by vectors as well
API_LEVEL_2025_11: Final = "2025-11"
#: all directions and families
API_LEVEL_2026_06: Final = "2026-06"

#: oldest first
API_LEVELS: Final = (API_LEVEL_2025_07, API_LEVEL_2025_11, API_LEVEL_2026_06)

#: The state that is assumed where no target says which headers it has.
LATEST_API_LEVEL: Final = API_LEVELS[-1]
