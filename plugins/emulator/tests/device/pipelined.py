"""A pipelined exchange through LDS, for tests: waves load tiles there, each a part, and read parts of others.

Each step of the loop, which is unrolled, is

.. code-block:: text

    begin k:   a barrier, if waves are staggered or there is no other one
    load k:    tile k + DEPTH, into the buffer that step k - 1 has read
    read k:    the part of tile k of a wave of the other half
    arrived k: the wave's own read
    wait k:    the wave's own load of tile k + 1
    end k:     a barrier

Staggered, the upper half of the waves is one barrier behind: it passes one before its first step, the others
one after their last. What a wave has waited for at the end of a step, the waves ahead read right then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from plugins.emulator.tests.device.wave import LANES, State, assembled, execute_group

WAVES, STEPS, DEPTH = 4, 5, 2
CHECKS = "races,uninitialised,waits,async,bounds,barriers"
#: bytes that a lane loads
WIDTHS = {"gfx942": 4, "gfx950": 16}
_LOAD = {4: "global_load_lds_dword v1, s[2:3]", 16: "global_load_lds_dwordx4 v1, s[2:3]"}
_READ = {4: "ds_read_b32 v{to}, v2 offset:{at}", 16: "ds_read_b128 v[{to}:{last}], v2 offset:{at}"}


class Ran(NamedTuple):
    """What checks have found, and what waves have read."""

    findings: list[str]
    exact: bool


def program(arch: str, *, staggered: bool, buffers: int = DEPTH + 1) -> dict[str, str]:
    """Return the instructions by what they are, in their order."""
    width = WIDTHS[arch]
    part = width * LANES
    tile = part * WAVES
    lines = {
        "wave": "v_readfirstlane_b32 s10, v0",
        "part": f"s_mul_i32 s11, s10, {width}",
        "own": f"v_lshlrev_b32 v1, {width.bit_length() - 1}, v0",
        "other": f"v_xor_b32 v2, {part * WAVES // 2}, v1",
        # staggered: the upper half of the waves
        "upper": f"s_cmp_lt_u32 s10, {LANES * WAVES // 2}",
    }

    def load(step: int) -> None:
        lines[f"buffer {step}"] = f"s_add_u32 m0, s11, {step % buffers * tile}"
        # the comparison above is in scc
        lines[f"again {step}"] = lines["upper"]
        lines[f"load {step}"] = _LOAD[width]
        lines[f"next {step}"] = f"v_add_u32 v1, {tile}, v1"

    for step in range(DEPTH):
        load(step)
    lines["wait"] = f"s_waitcnt vmcnt({DEPTH - 1})"
    if staggered:
        lines["lead"] = "s_cbranch_scc1 1"
        lines["behind"] = "s_barrier"
    for step in range(STEPS):
        if staggered or step == 0:
            lines[f"begin {step}"] = "s_barrier"
        if step + DEPTH < STEPS:
            load(step + DEPTH)
        to = 10 + 4 * step
        lines[f"read {step}"] = _READ[width].format(to=to, last=to + 3, at=step % buffers * tile)
        lines[f"arrived {step}"] = "s_waitcnt lgkmcnt(0)"
        lines[f"wait {step}"] = f"s_waitcnt vmcnt({max(0, min(DEPTH - 1, STEPS - 2 - step))})"
        lines[f"end {step}"] = "s_barrier"
    if staggered:
        lines["lag"] = "s_cbranch_scc0 1"
        lines["ahead"] = "s_barrier"
    return lines


def changed(lines: Mapping[str, str], change: Mapping[str, str]) -> dict[str, str]:
    """Return a program with other instructions in some places; several in one are separated by ``;``."""
    assert change.keys() <= lines.keys()
    return {**lines, **change}


def offset(lines: Mapping[str, str], place: str, arch: str) -> str:
    """Return where the first instruction of a place lies, as findings write it."""
    names = list(lines)
    before = [
        text.replace(";", "\n") for name, text in lines.items() if names.index(name) < names.index(place)
    ]
    return hex(4 * len(assembled(arch, "\n".join(before))))


def run(lines: Mapping[str, str], arch: str, checks: str = CHECKS) -> Ran:
    """Execute the program with four waves."""
    width = WIDTHS[arch]
    words = WAVES * LANES * width // 4
    data = np.random.default_rng(0).integers(0, 2**32, STEPS * words, dtype=np.uint32)
    states = [State() for _ in range(WAVES)]
    for number, state in enumerate(states):
        state.vector[0] = number * LANES + np.arange(LANES)
        state.set_scalar64(2, data.ctypes.data)
    states[0].lds = np.zeros(1 << 15, np.uint8)
    text = "\n".join(lines.values()).replace(";", "\n")
    findings = execute_group(text, states, arch=arch, memory=[data], checks=checks)
    tiles = data.reshape(STEPS, WAVES, LANES, width // 4)
    exact = all(
        np.array_equal(state.vector[10 + 4 * step :][: width // 4].T, tiles[step, number ^ WAVES // 2])
        for number, state in enumerate(states)
        for step in range(STEPS)
    )
    return Ran(findings, exact)
