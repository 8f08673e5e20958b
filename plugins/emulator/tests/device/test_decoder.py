"""The decoder against LLVM's disassembler: names, lengths and registers of every opcode."""

import re
from collections import Counter

import pytest

from ckprof_plugins.emulator.library import SOURCE_DIR
from plugins.emulator.tests.device import instruction_table
from plugins.emulator.tests.device.wave import ARCHITECTURES, assembler, disassembled

pytestmark = [pytest.mark.amd]

#: the field of their destination is a number
_IMMEDIATE = {"s_atc_probe", "s_atc_probe_buffer", "s_set_gpr_idx_on"}
#: LLVM 19 reads them on gfx942 as well, which has other instructions for caches; LLVM 22 does not
_NOT_ON_GFX942 = {"buffer_wbinvl1", "buffer_wbinvl1_vol"}
_TABLE = SOURCE_DIR / "isa" / "instructions.def"


def registers(text):
    """Return kind, first number and count of the registers that a text names."""
    found = re.findall(r"\b(?:([sva])(?:\[(\d+):(\d+)\]|(\d+))\b|(vcc|exec|m0)\b)", re.sub(r"^\S+", "", text))
    return Counter(
        (special, 0, 0)
        if special
        else (kind, int(single or first), int(last or single) - int(first or single) + 1)
        for kind, first, last, single, special in found
    )


def plain(name):
    """Return a name without what spellings differ in."""
    return re.sub(r"_(e32|e64|dpp|sdwa)$|_(\d+b_)?|_1k", "", name)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_names_lengths_and_registers_are_those_of_llvm(arch):
    expected = instruction_table.disassembled(assembler(arch), arch)
    assert len(expected) > 1000
    differences = []
    for (encoding, op), (words, text) in expected.items():
        if arch != "gfx90a" and text.split()[0] in _NOT_ON_GFX942:
            continue
        size, decoded = disassembled(arch, words)[0]
        same = (
            size == 4 * len(words)
            and plain(decoded.split()[0]) == plain(text.split()[0])
            and set(registers(decoded)) == set(registers(text))
        )
        if not same and text.split()[0] not in _IMMEDIATE:
            differences.append(f"{encoding} {op}: {text} | {size} {decoded}")
    assert differences == []


def test_table_is_that_of_the_newest_disassembler():
    assert instruction_table.table(assembler("gfx950")) == _TABLE.read_text()
