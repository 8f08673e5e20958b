"""Tables of vector instructions with references, executed on lanes of edge and random values.

In texts, A, B and C are sources of 32 bits and D is the destination; doubled they have 64 bits.
S is a mask to read (also in VCC), M one to write.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from plugins.emulator.tests.device.wave import ALL_LANES, LANES, USUAL_MODE, VCC, State, assembled, execute

M16, M32, M64 = (1 << 16) - 1, (1 << 32) - 1, (1 << 64) - 1
#: what destinations hold before
BEFORE = 0x01234567DEADBEEF
#: the mask that is read
MASK = 0xF0F0123400FF5678
EDGES_32 = (0, 1, 2, 31, 32, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFF, 0xFFFFFF)
EDGES_32_HIGH = (0x1000000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFF80, 0xFFFF0000)
_FIRST_RESULT = 16
_ROWS_AT_ONCE = 34
#: registers of sources, and the first scalar register of masks that are written
_SOURCES = {"A": 2, "B": 4, "C": 6}
_FIRST_MASK = 20


class Lane(NamedTuple):
    """What a reference computes with: sources, what the destination held, the lane's bit of the mask."""

    a: Any
    b: Any
    c: Any
    d: Any
    s: bool
    number: int


def signed(value, bits):
    """Return the low bits as a number in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def clamped(value, low, high):
    return max(low, min(high, value))


def integers(seed):
    """Return edge values in an order of their own, and random bits."""
    random = np.random.default_rng(seed)
    edges = np.array([*EDGES_32, *EDGES_32_HIGH, 1 << 32, 1 << 63, M64, (1 << 63) - 1], np.uint64)
    drawn = random.integers(0, M64, LANES - len(edges), np.uint64, endpoint=True)
    return random.permutation(np.concatenate([edges, drawn]))


def _with_registers(text, row):
    registers = {**_SOURCES, "D": _FIRST_RESULT + 2 * row}

    def register(match):
        letters = match[0]
        if letters in ("S", "M"):
            first = 8 if letters == "S" else _FIRST_MASK + 2 * row
            return f"s[{first}:{first + 1}]"
        first = registers[letters[0]]
        return f"v{first}" if len(letters) == 1 else f"v[{first}:{first + 1}]"

    return re.sub(r"\b(?:[ABCD]{1,2}|S|M)\b", register, text)


def _chunks(texts):
    for first in range(0, len(texts), _ROWS_AT_ONCE):
        yield texts[first : first + _ROWS_AT_ONCE]


def run_rows(texts, sources, *, arch="gfx942", mode=USUAL_MODE, lanes=ALL_LANES):
    """Execute instructions; yield text, 64 bits of the destination in each lane, and the written mask."""
    for chunk in _chunks(texts):
        program = assembled(arch, "\n".join(_with_registers(text, row) for row, text in enumerate(chunk)))
        state = State(mode=mode)
        for register, values in zip(_SOURCES.values(), sources, strict=False):
            state.vector[register], state.vector[register + 1] = values & M32, values >> np.uint64(32)
        state.vector[_FIRST_RESULT::2], state.vector[_FIRST_RESULT + 1 :: 2] = BEFORE & M32, BEFORE >> 32
        state.set_scalar64(8, MASK)
        state.set_scalar64(VCC, MASK)
        state.exec = lanes
        after = execute(program, state, arch=arch)
        for row, text in enumerate(chunk):
            low, high = after.vector[_FIRST_RESULT + 2 * row : _FIRST_RESULT + 2 * row + 2].astype(np.uint64)
            yield text, low | high << np.uint64(32), after.scalar64(_FIRST_MASK + 2 * row)


def _width(text, letter):
    return 64 if re.search(rf"\b{letter * 2}\b", text) else 32


def wrong_rows(references, seed=0, *, lanes=ALL_LANES, sources=None, **options):
    """Return descriptions of results that are not those of the references.

    A reference returns the destination's value (or what has ``matches``), a truth value for M, or both.
    """
    sources = sources or tuple(integers(10 * seed + n) for n in range(3))
    wrong = []
    for text, results, mask in run_rows(list(references), sources, lanes=lanes, **options):
        has_result, has_mask = bool(re.search(r"\bDD?\b", text)), bool(re.search(r"\bM\b", text))
        masks = {letter: (1 << _width(text, letter)) - 1 for letter in "ABCD"}
        for number in range(LANES):
            a, b, c = (int(s[number]) & masks[letter] for s, letter in zip(sources, "ABC", strict=True))
            on = bool(lanes >> number & 1)
            place = f"{text}: lane {number} of {a:#x}, {b:#x}, {c:#x}"
            lane = Lane(a, b, c, BEFORE & masks["D"], bool(MASK >> number & 1), number)
            outcome = references[text](lane)
            value, bit = outcome if has_result and has_mask else (outcome, outcome)
            if has_mask and (mask >> number & 1) != (bool(bit) and on):
                wrong.append(f"{place}: bit {mask >> number & 1}")
            if not has_result:
                continue
            if on and hasattr(value, "matches"):
                if not value.matches(int(results[number]) & masks["D"], lane):
                    wrong.append(f"{place}: {int(results[number]):#x}, {value}")
                continue
            expected = (int(value) & masks["D"]) | (BEFORE & ~masks["D"]) if on else BEFORE
            if int(results[number]) != expected:
                wrong.append(f"{place}: {int(results[number]):#x}, not {expected:#x}")
    return wrong
