"""Writes the table of instructions that the emulated device decodes, from what LLVM's disassembler says.

Every opcode of every encoding is disassembled with operands of known numbers, so that the text shows which
field holds which operand and how wide it is. With an ``llvm-mc`` of LLVM 22 or later as its argument,
``python -m plugins.emulator.tests.device.instruction_table`` prints the table.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import NamedTuple

ARCHITECTURES = ("gfx90a", "gfx942", "gfx950")
#: numbers of registers by the slot of the table: destination, first to third source
_NUMBERS = {16: 0, 32: 0, 96: 1, 48: 1, 128: 2, 64: 2, 160: 3, 80: 3}
_SCALAR_NUMBERS = {16: 0, 32: 1, 48: 1, 64: 2, 80: 3}
_MARK = 0x50000000
_VECTOR = 256

Words = tuple[int, ...]


def _bits(*fields):
    """Return a word with values at their first bits."""
    word = 0
    for value, first in fields:
        word |= value << first
    return word


def _scalar_candidates():
    for op in range(96):
        yield "sop2", op, [(_bits((2, 30), (op, 23), (16, 16), (64, 8), (32, 0)),)]
    for op in range(32):
        word = _bits((0xB, 28), (op, 23), (16, 16), (1, 0))
        yield "sopk", op, [(word,), (word, 0x11223344)]
    for op in range(256):
        yield "sop1", op, [(_bits((0x17D, 23), (16, 16), (op, 8), (32, 0)),)]
    for op in range(128):
        yield "sopc", op, [(_bits((0x17E, 23), (op, 16), (64, 8), (32, 0)),)]
        yield "sopp", op, [(_bits((0x17F, 23), (op, 16), (immediate, 0)),) for immediate in (1, 0)]
    for op in range(256):
        word = _bits((0x30, 26), (op, 18))
        fields = word | _bits((1, 17), (16, 6), (24, 0))
        yield "smem", op, [(fields, 0x10), (word | 16 << 6, 0), (word, 0)]


def _vector_candidates():
    source = _VECTOR + 96
    for op in range(62):
        word = _bits((op, 25), (32, 17), (128, 9), (source, 0))
        yield "vop2", op, [(word,), (word, 0x11223344)]
    for op in range(256):
        yield "vop1", op, [(_bits((0x3F, 25), (32, 17), (op, 9), (source, 0)),)]
        yield "vopc", op, [(_bits((0x3E, 25), (op, 17), (128, 9), (source, 0)),)]
    for op in range(1024):
        if op >> 7 != 7:  # that prefix is the one of packed operations
            word = _bits((0x34, 26), (op, 16), (32, 0))
            yield (
                "vop3",
                op,
                [
                    (word, _bits((first, 0), (second, 9), (third, 18)))
                    for first in (source, 32)
                    for second in (_VECTOR + 128, 64, 0)
                    for third in (_VECTOR + 160, 80, 0)
                ],
            )
    for op in range(128):
        word = _bits((0x1A7, 23), (op, 16), (32, 0))
        yield (
            "vop3p",
            op,
            [
                (word | high << 14, _bits((source, 0), (_VECTOR + 128, 9), (third, 18), (fields, 27)))
                for fields in (3, 0)
                for third in (_VECTOR + 160, 0)
                for high in (1, 0)
            ],
        )


def _memory_candidates():
    for op in range(256):
        word = _bits((0x36, 26), (op, 17))
        fields = [(160, 128, 32), (0, 128, 32), (0, 0, 32), (160, 128, 0), (0, 128, 0), (0, 0, 0)]
        yield (
            "ds",
            op,
            [
                (word | wave << 16, _bits((address, 0), (data, 8), (second, 16), (result, 24)))
                for address in (96, 0)
                for wave in (0, 1)
                for second, data, result in fields
            ],
        )
    for segment, name in enumerate(("flat", "scratch", "global")):
        for op in range(128):
            word = _bits((0x37, 26), (segment, 14), (op, 18))
            yield (
                name,
                op,
                [
                    (word | flags, _bits((96, 0), (data, 8), (0x7F if segment else 0, 16), (result, 24)))
                    for flags in (0, 1 << 16, 1 << 13)
                    for result in (32, 0)
                    for data in (128, 0)
                ],
            )
    for op in range(128):
        word = _bits((0x38, 26), (op, 18), (1, 12))
        operands = _bits((96, 0), (32, 8), (12, 16), (80, 24))
        fields = [(word | flag, operands) for flag in (0, 1 << 14, 1 << 16)]
        yield "mubuf", op, [*fields, (_bits((0x38, 26), (op, 18)), 0)]
    for op in range(16):
        word = _bits((0x3A, 26), (op, 15), (1, 12), (4, 19), (7, 23))
        yield "mtbuf", op, [(word, _bits((96, 0), (32, 8), (12, 16), (80, 24)))]


def _brackets(words):
    return "[" + " ".join(f"0x{byte:02x}" for word in words for byte in word.to_bytes(4, "little")) + "]"


class Disassembled(NamedTuple):
    """An instruction and what LLVM calls it."""

    words: Words
    text: str


def disassembled(llvm_mc, arch):
    """Return the first operands of each opcode that the architecture accepts, by encoding and opcode."""
    tried = [
        (encoding, op, words)
        for source in (_scalar_candidates, _vector_candidates, _memory_candidates)
        for encoding, op, choices in source()
        for words in choices
    ]
    lines = []
    for number, (_, _, words) in enumerate(tried):
        lines += [_brackets((0xBE8000FF, _MARK + number)), _brackets(words)]
    ran = subprocess.run(
        [llvm_mc, "-disassemble", "-triple=amdgcn", f"-mcpu={arch}", "--show-encoding"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    texts = {}
    mark = -1
    for line in ran.stdout.splitlines():
        if marked := re.match(r"\s*s_mov_b32 s0, 0x5([0-9a-f]{7})\b", line):
            mark = int(marked[1], 16)
        elif "encoding:" in line:
            texts.setdefault(mark, []).append(line)
    found = {}
    for number, (encoding, op, words) in enumerate(tried):
        text = texts.get(number, [])
        # an opcode that is none can still be read as two others
        if len(text) == 1 and text[0].count("0x", text[0].index("encoding:")) == 4 * len(words):
            said = re.split(r"[;/]+ encoding:", text[0])[0].strip()
            found.setdefault((encoding, op), Disassembled(words, said))
    return found


def _widths(encoding, text):
    """Return the 32-bit registers of destination and sources; 0 where there is no such operand."""
    widths = [0, 0, 0, 0]
    scalar = encoding.startswith("s") and encoding != "scratch"
    for kind, first, last, single in re.findall(r"\b([sva])(?:\[(\d+):(\d+)\]|(\d+)\b)", text):
        number = int(single or first)
        if encoding == "vop3" and kind == "s" and number in (32, 64, 80):
            slot = {32: 1 if widths[0] else 0, 64: 2, 80: 3}[number]
        else:
            slot = (_SCALAR_NUMBERS if scalar else _NUMBERS).get(number, -1)
        if encoding in ("mubuf", "mtbuf") and kind == "s":
            continue
        if slot >= 0:
            widths[slot] = 1 if single else int(last) - int(first) + 1
    if encoding == "scratch":
        widths[1] = 1  # an offset, which only some forms have
    return widths[0], widths[1], widths[2], widths[3]


def _name(text):
    name = text.split()[0]
    return re.sub(r"_(e32|e64|dpp|sdwa)$", "", name)


def rows(llvm_mc):
    """Return encoding, opcode, name in the newest spelling, architectures and widths of operands."""
    merged = {}
    for arch in ARCHITECTURES:
        for (encoding, op), (_, text) in disassembled(llvm_mc, arch).items():
            name, widths = _name(text), _widths(encoding, text)
            # v_mfma_f32_32x32x8f16, v_mfma_f32_32x32x8_f16 and ..._2b_f16 are spellings of one instruction
            alike = re.sub(r"_(\d+b_)?", "", name.removesuffix("_1k"))
            _, arches = merged.setdefault((encoding, op, widths, alike), (name, []))
            arches.append(arch)
            merged[encoding, op, widths, alike] = (name, arches)
    order = list(dict.fromkeys(key[0] for key in merged))
    return sorted(
        (
            (encoding, op, name, tuple(arches), widths)
            for (encoding, op, widths, _), (name, arches) in merged.items()
        ),
        key=lambda row: (order.index(row[0]), row[1], row[3]),
    )


def table(llvm_mc):
    """Return the file of instructions: one macro call for each."""
    masks = {arch: 1 << bit for bit, arch in enumerate(ARCHITECTURES)}
    lines = [
        "// SPDX-License-Identifier: MIT",
        "// Instructions of gfx90a (1), gfx942 (2) and gfx950 (4) as LLVM's disassembler knows them;",
        "// generated by plugins/emulator/tests/device/instruction_table.py.",
        "// INSTRUCTION(encoding, opcode, name, architectures, 32-bit registers of destination and sources)",
    ]
    for encoding, op, name, arches, widths in rows(llvm_mc):
        mask = sum(masks[arch] for arch in arches)
        lines.append(f"INSTRUCTION({encoding}, {op}, {name}, {mask}, {', '.join(map(str, widths))})")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table(sys.argv[1]))
