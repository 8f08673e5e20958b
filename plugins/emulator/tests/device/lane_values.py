"""Registers of 64 lanes for tests of memory: masks, random states, names of several registers."""

import numpy as np

from plugins.emulator.tests.device.wave import ALL_LANES, LANES, State

SOME_LANES = 0xF0F0_5555_0000_8001


#: stores of memory: name, bytes, lowest bit of what is stored
STORES = (
    *(("byte", 1, 0), ("byte_d16_hi", 1, 16), ("short", 2, 0), ("short_d16_hi", 2, 16)),
    *(("dword", 4, 0), ("dwordx2", 8, 0), ("dwordx3", 12, 0), ("dwordx4", 16, 0)),
)


def active(mask):
    return np.array([mask >> lane & 1 for lane in range(LANES)], bool)


def random_bytes(seed, size):
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def random_state(seed, mask=ALL_LANES, **fields):
    """Return a state whose vector registers are random."""
    state = State(**fields)
    state.vector[:] = np.random.default_rng(seed).integers(0, 2**32, state.vector.shape, np.uint32)
    state.exec = mask
    return state


def span(first, count):
    """Return the name of consecutive vector registers."""
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


def words(data, addresses, count):
    """Return ``[word, lane]`` of bytes at an address for each lane."""
    return np.array(
        [
            [int.from_bytes(data[a + 4 * w : a + 4 * w + 4].tobytes(), "little") for a in addresses]
            for w in range(count)
        ],
        np.uint32,
    )
