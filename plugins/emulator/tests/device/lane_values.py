"""Registers of 64 lanes for tests of memory: masks, random states, names of several registers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from plugins.emulator.tests.device.wave import ALL_LANES, LANES, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

SOME_LANES: Final = 0xF0F0_5555_0000_8001


#: stores of memory: name, bytes, lowest bit of what is stored
STORES: Final = (
    *(("byte", 1, 0), ("byte_d16_hi", 1, 16), ("short", 2, 0), ("short_d16_hi", 2, 16)),
    *(("dword", 4, 0), ("dwordx2", 8, 0), ("dwordx3", 12, 0), ("dwordx4", 16, 0)),
)


def active(mask: int) -> NDArray[np.bool_]:
    return np.array([mask >> lane & 1 for lane in range(LANES)], bool)


def random_bytes(seed: int, size: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def random_state(seed: int, mask: int = ALL_LANES, **fields: Any) -> State:
    """Return a state whose vector registers are random."""
    state = State(**fields)
    state.vector[:] = np.random.default_rng(seed).integers(0, 2**32, state.vector.shape, np.uint32)
    state.exec = mask
    return state


def span(first: int, count: int) -> str:
    """Return the name of consecutive vector registers."""
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


def words(data: NDArray[np.uint8], addresses: NDArray[Any], count: int) -> NDArray[np.uint32]:
    """Return ``[word, lane]`` of bytes at an address for each lane."""
    return np.array(
        [
            [int.from_bytes(data[a + 4 * w : a + 4 * w + 4].tobytes(), "little") for a in addresses]
            for w in range(count)
        ],
        np.uint32,
    )
