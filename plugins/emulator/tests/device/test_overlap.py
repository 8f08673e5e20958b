"""No vector instruction reads what it has written: results over sources are the results beside them."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pytest

from ckprof_plugins.emulator.library import SOURCE_DIR
from plugins.emulator.tests.device.wave import ARCHITECTURES, LANES, DeviceFault, State, execute

pytestmark = [pytest.mark.amd]

_ROW = re.compile(
    r"^INSTRUCTION\((vop1|vop2|vop3|vop3p), (\d+), (\w+), (\d+), (\d+), (\d+), (\d+), (\d+)\)$", re.MULTILINE
)
_TABLE = SOURCE_DIR / "isa" / "instructions.def"
#: writes no vector register, both of its operands, or a register that another one numbers
_OTHER_RESULTS = re.compile(r"v_(readlane|readfirstlane|nop|swap|permlane\d+_swap|clrexcp|cmp|.*[ma][ak]_).*")
_DESTINATION = 0
_SOURCES = (64, 128, 192)
_REGISTERS = 256


class Instruction(NamedTuple):
    encoding: str
    opcode: int
    name: str
    #: 32-bit registers of the destination and of each source
    result: int
    sources: tuple[int, ...]

    def words(self, destination):
        first, second, third = (256 + number for number in _SOURCES)
        match self.encoding:
            case "vop1":
                return (0x3F << 25 | destination << 17 | self.opcode << 9 | first,)
            case "vop2":
                return (self.opcode << 25 | destination << 17 | _SOURCES[1] << 9 | first,)
            case "vop3":
                word = 0x34 << 26 | self.opcode << 16 | destination
                return word, first | second << 9 | third << 18
        word = 0x1A7 << 23 | self.opcode << 16 | destination
        if not self.name.startswith(("v_mfma", "v_smfmac", "v_accvgpr")):
            # both halves of all sources
            return word | 1 << 14, first | second << 9 | third << 18 | 3 << 27
        return word, first | second << 9 | third << 18


def _instructions(arch):
    bit = 1 << ARCHITECTURES.index(arch)
    for encoding, opcode, name, archs, result, *sources in _ROW.findall(_TABLE.read_text()):
        if int(archs) & bit and int(result) and not _OTHER_RESULTS.fullmatch(name):
            yield Instruction(encoding, int(opcode), name, int(result), tuple(map(int, sources)))


def _overlaps(one):
    """Yield first registers of the result that overlap a source; wide operands begin at even ones."""
    step = 2 if one.result > 1 else 1
    for first, count in zip(_SOURCES, one.sources, strict=True):
        if count:
            low = first - (one.result - 1) // step * step
            yield from (number for number in range(low, first + count, step))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_results_over_sources(arch):
    rng = np.random.default_rng(0)
    # numbers whose sums and products mostly are numbers, as fp32 and as fp16
    initial = rng.integers(0x38000000, 0x40000000, (_REGISTERS, LANES), dtype=np.uint32)
    tried = refused = 0
    for one in _instructions(arch):
        for number in _overlaps(one):
            over, beside = State(), State()
            over.vector[:_REGISTERS] = beside.vector[:_REGISTERS] = initial
            # some results keep a half of what was there, or add to it
            there = initial[number : number + one.result]
            beside.vector[_DESTINATION : _DESTINATION + one.result] = there
            try:
                execute(one.words(number), over, arch=arch)
            except DeviceFault:
                refused += 1  # a scalar where there is a register here
                break
            execute(one.words(_DESTINATION), beside, arch=arch)
            got = over.vector[number : number + one.result]
            wanted = beside.vector[_DESTINATION : _DESTINATION + one.result]
            assert np.array_equal(got, wanted), f"{one.name}, result in v{number}"
            tried += 1
    assert tried > 700
    assert refused < 60
