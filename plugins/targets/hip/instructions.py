"""Counts the instructions of kernels.

Opcodes are data in no part of a code object but the code itself, so the code is disassembled, by LLVM's own
disassembler.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.kernels.toolchain import ask
from ckprof.model.architecture import find_architecture
from ckprof_plugins.targets.hip.rocm import rocm_roots

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_TIMEOUT_S: Final = 120.0
_NEWEST_MAJOR: Final = 24
_OLDEST_MAJOR: Final = 17
#: bits of a lane, by what the mnemonic ends in
_WORDS: Final = {
    **{"ubyte": 8, "sbyte": 8, "byte": 8, "ushort": 16, "sshort": 16, "short": 16},
    **{"dword": 32, "dwordx2": 64, "dwordx3": 96, "dwordx4": 128},
}
_WIDTH: Final = re.compile(r"_[biuf](\d+)(?:_|$)")
_MATRIX: Final = re.compile(
    r"v_(?:mfma|wmma)_[fi]\d+_(\d+)x(\d+)x(\d+)_?(?:(\d+)b_)?((?:bf16|f16|f32|f64|i8|iu8|fp8|bf8|xf32)\w*)"
)
#: elements of an operand that one lane holds, for mnemonics without the number of blocks
_PER_LANE: Final = {"f16": 4, "bf16_1k": 4, "bf16": 2, "f32": 1, "i8": 4}
_LANES: Final = 64
#: ``0000000000001900 <name>:``
_FUNCTION: Final = re.compile(r"^([0-9a-f]+) <(.*)>:$", re.MULTILINE)
#: ``    s_endpgm    // 00000000183C: BF810000``; what cannot be decoded begins with a point or a bracket
_INSTRUCTION: Final = re.compile(r"^[ \t]+([a-z].*?)[ \t]*// ([0-9A-Fa-f]+):", re.MULTILINE)


@dataclass(slots=True)
class InstructionCounts:
    """How often a function holds instructions of some kinds."""

    total: int = 0
    barriers: int = 0
    direct_loads: int = 0
    matrix: Counter[str] = field(default_factory=Counter)
    loads: Counter[int] = field(default_factory=Counter)
    stores: Counter[int] = field(default_factory=Counter)
    atomics: Counter[int] = field(default_factory=Counter)
    lds_reads: Counter[int] = field(default_factory=Counter)
    lds_writes: Counter[int] = field(default_factory=Counter)


@lru_cache(maxsize=1)
def find_disassembler() -> str:
    """Return the newest ``llvm-objdump``, by path.

    :raises ToolchainError: there is none.
    """
    for root in rocm_roots():
        for below in ("lib/llvm/bin/llvm-objdump", "llvm/bin/llvm-objdump"):
            if (root / below).is_file():
                return str(root / below)
    for name in (f"llvm-objdump-{major}" for major in range(_NEWEST_MAJOR, _OLDEST_MAJOR - 1, -1)):
        tool = shutil.which(name)
        if tool:
            return tool
    plain = shutil.which("llvm-objdump")
    if plain:
        return plain
    raise ToolchainError("no llvm-objdump found to read machine code; install it: apt-get install llvm-19")


def count_instructions(code_object: Path, code_bytes: Mapping[str, int]) -> dict[str, InstructionCounts]:
    """Return the instructions of each function of a code object, by the linker's names.

    :param code_bytes: length of each function; what lies behind it is padding.
    :raises ToolchainError: there is no disassembler, or it fails.
    """
    command = (find_disassembler(), "-d", str(code_object))
    try:
        done = ask(command, _TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ToolchainError(f"{command[0]} cannot be run: {exc}") from exc
    if done.returncode != 0:
        why = next((line for line in done.stderr.splitlines() if "rror" in line), "no message")
        raise ToolchainError(
            f"{command[0]} cannot read {code_object.name}: {why.strip()[:120]}; it may be too old for the "
            "architecture: install a newer one, e.g. with 'apt-get install llvm-22'"
        )
    return read_disassembly(done.stdout, code_bytes)


def read_disassembly(text: str, code_bytes: Mapping[str, int]) -> dict[str, InstructionCounts]:
    """Return the instructions of each function in the text of ``llvm-objdump -d``.

    Only what is decoded counts: neither the padding behind a function nor ``...``, which stands for zeros.

    :param code_bytes: length of each function.
    """
    functions: dict[str, InstructionCounts] = {}
    starts = [*_FUNCTION.finditer(text)]
    for start, following in zip(starts, [*starts[1:], None], strict=True):
        body = text[start.end() : following.start() if following else len(text)]
        end = int(start[1], 16) + code_bytes.get(start[2], 0)
        lines = [line[1] for line in _INSTRUCTION.finditer(body) if int(line[2], 16) < end]
        functions[start[2]] = _count(lines)
    return functions


def _count(lines: list[str]) -> InstructionCounts:
    counts = InstructionCounts(total=len(lines))
    names = Counter(line.split(None, 1)[0] for line in lines)
    for name, number in names.items():
        kind = name.partition("_")[0]
        if kind == "v" and name.startswith(("v_mfma", "v_smfmac", "v_wmma", "v_swmmac")):
            counts.matrix[name.removesuffix("_e64")] += number
        elif kind in ("buffer", "global", "flat", "tbuffer"):
            _count_access(counts, name, number)
        elif kind == "ds":
            _count_lds(counts, name, number)
        elif name.startswith("s_barrier"):
            counts.barriers += number
    counts.direct_loads = sum(1 for line in lines if line.endswith(" lds") and line.startswith("buffer_load"))
    return counts


def _count_access(counts: InstructionCounts, name: str, number: int) -> None:
    if "_load" in name:
        counts.loads[_bits(name)] += number
    elif "_store" in name:
        counts.stores[_bits(name)] += number
    elif "_atomic" in name:
        # a pair of halves is one access
        counts.atomics[32 if "pk" in name else _bits(name) or 32] += number


def _count_lds(counts: InstructionCounts, name: str, number: int) -> None:
    twice = 2 if re.match(r"ds_(?:read|write|load|store)_?2", name) else 1
    if name.startswith(("ds_read", "ds_load")):
        counts.lds_reads[_bits(name) * twice] += number
    elif name.startswith(("ds_write", "ds_store")):
        counts.lds_writes[_bits(name) * twice] += number


@lru_cache(maxsize=512)
def _bits(name: str) -> int:
    """Return how many bits of a lane an access moves."""
    for word in name.split("_")[1:]:
        if word in _WORDS:
            return _WORDS[word]
    width = _WIDTH.search(name)
    return int(width[1]) if width else 0


@lru_cache(maxsize=512)
def matrix_cycles(name: str, arch: str) -> int:
    """Return the cycles that a matrix instruction keeps a SIMD's matrix unit busy, 0 if that is unknown."""
    machine = find_architecture(arch).machine
    if machine is None:
        return 0
    cycles = machine.mfma_cycles.get(name)
    if cycles is not None:
        return cycles
    operations = matrix_operations(name)
    if not operations:
        return 0
    rate = machine.flops_per_cycle.get(operand_type(name), 0)
    return operations // rate if rate else 0


def operand_type(name: str) -> str:
    """Return the type that a matrix instruction multiplies, as its name spells it; empty if it does not."""
    matched = _MATRIX.match(name)
    return matched[5].partition("_")[0] if matched else ""


@lru_cache(maxsize=512)
def matrix_operations(name: str) -> int:
    """Return the multiplications and additions of a matrix instruction, 0 if its name does not tell them."""
    matched = _MATRIX.match(name)
    if matched is None:
        return 0
    m, n, k = (int(matched[index]) for index in (1, 2, 3))
    if matched[4]:
        blocks = int(matched[4])
    else:
        blocks = max(1, _LANES * _PER_LANE.get(matched[5], 0) // (m * k))
    return 2 * m * n * k * blocks
