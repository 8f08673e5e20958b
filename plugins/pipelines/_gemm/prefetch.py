"""How many tiles the memory-bound GEMM pipeline loads ahead."""

from __future__ import annotations

from typing import Final

#: what it keeps under way on a compute unit, and the lanes that keep a unit busy
_BYTES_IN_FLIGHT: Final = 32768
_BUSY_LANES: Final = 256
_FEWEST: Final = 2
_MOST: Final = 8


def mem_prefetch_stages(stage_bytes: int, lanes: int) -> int:
    """Return the number of prefetch stages.

    :param stage_bytes: of the tiles of both operands.
    :param lanes: of a block.
    """
    in_flight = _BYTES_IN_FLIGHT // max(1, _BUSY_LANES // lanes)
    return min(max(-(-in_flight // stage_bytes), _FEWEST), _MOST)
