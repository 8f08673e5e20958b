"""Reads a code object of an NVIDIA GPU: what each of its kernels needs.

Registers, memory and code size lie in the sections of the ELF file. Instructions are counted in a
disassembly where NVIDIA's tool for that is installed.
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import InputError, ToolchainError, input_errors
from ckprof.kernels.toolchain import ask
from ckprof.model.device import DeviceKernel, Occupancy
from ckprof_plugins.cuda.devices import shared_bytes
from ckprof_plugins.cuda.toolchain import find_tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TIMEOUT_S: Final = 120.0
_TEXT: Final = ".text."
_INFO: Final = ".nv.info."
_SHARED: Final = ".nv.shared."
#: attributes of a kernel in its info section: what the linker's name for them is says what they hold
_MAX_THREADS: Final = 0x05
_PARAMETER_BYTES: Final = 0x19
#: of all functions together: symbol and value
_FRAME_BYTES: Final = 0x11
_REGISTERS: Final = 0x2F
#: bytes of the value by the attribute's format; the fourth has a length of its own
_NO_VALUE, _BYTE, _HALF, _SIZED = 1, 2, 3, 4
_REGISTERS_OF_MULTIPROCESSOR: Final = 65536
_WARPS_OF_MULTIPROCESSOR: Final = 64
_LANES: Final = 32
#: shared memory that a block takes for itself
_RESERVED_OF_BLOCK: Final = 1024
#: a part of a kernel's name: the shared memory that a block of it is started with
_STARTED_WITH: Final = re.compile(r"own_codeILi(\d+)E")
#: opcodes of copies of boxes between tensors and shared memory
_TENSOR_COPIES: Final = ("UTMALDG", "UTMASTG", "UTMAREDG")
#: opcodes of matrix products: warpgroup products, warp products
_MATRIX: Final = ("HGMMA", "QGMMA", "IGMMA", "HMMA", "IMMA", "DMMA")
#: modifier of those that multiply words of 32 bits, which are counted apart: they take half as many per cycle
_TF32: Final = ".TF32"
_MATRIX_KINDS: Final = (*_MATRIX, *(f"{opcode}{_TF32}" for opcode in ("HGMMA", "HMMA")))
#: fills functions up to their alignment, behind their last instruction
_PADDING: Final = "NOP"
_BITS: Final = re.compile(r"\.(U8|S8|U16|S16|64|128)\b")
_WIDTH: Final = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128}


def read_kernels(path: Path, arch: str) -> tuple[DeviceKernel, ...]:
    """Return the kernels of a code object.

    :param arch: the modelled AMD device, for the record.
    :raises InputError: it is no code object of an NVIDIA GPU.
    :raises ToolchainError: pyelftools is missing.
    """
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        raise ToolchainError(
            "reading code objects needs the package pyelftools; "
            "install it with \"pip install 'ckprof[cuda]'\""
        ) from None
    with input_errors((OSError, ELFError), "not a code object", path):
        with path.open("rb") as stream:
            kernels = tuple(_kernels(ELFFile(stream), path, arch))
    if not kernels:
        raise InputError("not a code object of an NVIDIA GPU: it has no kernels", path)
    return kernels


def _kernels(elf: Any, path: Path, arch: str) -> Iterator[DeviceKernel]:
    """Yield the kernels of an opened code object."""
    sections = {section.name: section for section in elf.iter_sections()}
    frames = _values_of_functions(sections, _FRAME_BYTES)
    registers = _values_of_functions(sections, _REGISTERS)

    def size(name: str) -> int:
        return int(sections[name]["sh_size"]) if name in sections else 0

    names = [name.removeprefix(_TEXT) for name in sections if name.startswith(_TEXT)]
    names = [name for name in names if _INFO + name in sections]
    counts = _count(path) if names else {}
    for name in names:
        opcodes, attributes = counts.get(name, Counter()), dict(_attributes(sections[_INFO + name].data()))
        threads = attributes.get(_MAX_THREADS, b"")
        lanes = struct.unpack("<I", threads[:4])[0] if len(threads) >= 4 else 0
        started_with = _STARTED_WITH.search(name)
        block_bytes = size(_SHARED + name) + (int(started_with[1]) if started_with else 0)
        vgprs = registers.get(name, 0)
        yield DeviceKernel(
            symbol=name,
            arch=arch,
            vgprs=vgprs,
            agprs=0,
            sgprs=0,
            # the machine code tells memory that is used, not why
            vgpr_spills=opcodes["LDL"] + opcodes["STL"],
            sgpr_spills=0,
            lds_bytes=block_bytes,
            scratch_bytes=frames.get(name, 0),
            wave_lanes=_LANES,
            workgroup_lanes=lanes,
            argument_bytes=struct.unpack("<H", attributes.get(_PARAMETER_BYTES, b"\0\0")[:2])[0],
            code_bytes=size(_TEXT + name),
            occupancy=occupancy(vgprs, lanes, block_bytes, _capability(int(elf["e_flags"]))),
            matrix_instructions={op: opcodes[op] for op in _MATRIX_KINDS if opcodes[op]},
            loads=_widths(opcodes, "LDG"),
            stores=_widths(opcodes, "STG"),
            atomics=_widths(opcodes, "RED", "REDG", "ATOMG"),
            lds_reads=_widths(opcodes, "LDS", "LDSM"),
            lds_writes=_widths(opcodes, "STS", "STSM"),
            direct_loads=opcodes["LDGSTS"],
            tensor_copies=sum(opcodes[name] for name in _TENSOR_COPIES),
            barriers=opcodes["BAR"] + opcodes["SYNCS"],
            instructions=opcodes["all"],
        )


def _values_of_functions(sections: Mapping[str, Any], wanted: int) -> dict[str, int]:
    """Return an attribute that one section holds for all functions."""
    table = sections.get(".nv.info")
    symbols = sections.get(".symtab")
    if table is None or symbols is None:
        return {}
    values: dict[str, int] = {}
    for kind, value in _attributes(table.data()):
        if kind == wanted and len(value) == 8:
            index, number = struct.unpack("<II", value)
            values[symbols.get_symbol(index).name] = number
    return values


def _attributes(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and value of the attributes of an info section."""
    at = 0
    while at + 4 <= len(data):
        form, kind, short = data[at], data[at + 1], data[at + 2 : at + 4]
        at += 4
        if form == _SIZED:
            length = struct.unpack("<H", short)[0]
            yield kind, data[at : at + length]
            at += length
        elif form in (_NO_VALUE, _BYTE, _HALF):
            yield kind, short
        else:
            return


def _capability(flags: int) -> int:
    """Return the compute capability times ten that the flags of an ELF file name: in its second byte."""
    return flags >> 8 & 0xFF


def occupancy(registers: int, lanes: int, block_bytes: int, capability: int) -> Occupancy:
    """Return how many blocks a multiprocessor holds at once, and what allows no more.

    :param registers: of a lane.
    :param lanes: of a block.
    :param block_bytes: shared memory of a block.
    :param capability: compute capability times ten.
    """
    warps = max(1, -(-lanes // _LANES))
    # registers are handed out to warps in portions of 256
    per_warp = max(1, -(-registers // 8) * 8) * _LANES
    shared = shared_bytes(capability)
    limits = {
        "vgpr": _REGISTERS_OF_MULTIPROCESSOR // (per_warp * warps),
        "lds": shared // max(_RESERVED_OF_BLOCK, block_bytes),
        "waves": _WARPS_OF_MULTIPROCESSOR // warps,
    }
    limit = min(limits, key=lambda name: limits[name])
    blocks = limits[limit]
    return Occupancy(waves_per_simd=blocks * warps // 4, workgroups_per_cu=blocks, limited_by=limit)


def _count(path: Path) -> dict[str, Counter[str]]:
    """Return the opcodes of each function; empty where no disassembler is installed."""
    tool = find_tool("cuobjdump")
    if tool is None:
        return {}
    try:
        done = ask((str(tool), "-sass", str(path)), _TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise ToolchainError(f"{tool} cannot be run: {exc}") from exc
    if done.returncode != 0:
        raise ToolchainError(f"{tool} cannot read {path.name}: {done.stderr.strip()[:120]}")
    return read_disassembly(done.stdout)


def read_disassembly(text: str) -> dict[str, Counter[str]]:
    """Return the opcodes of each function, alone and with the bits of a lane, e.g. ``LDG`` and ``LDG:128``.

    :param text: what ``cuobjdump -sass`` prints.
    """
    functions: dict[str, list[str]] = {}
    opcodes: list[str] = []
    for line in text.splitlines():
        if "Function :" in line:
            opcodes = functions.setdefault(line.partition("Function :")[2].strip(), [])
        elif match := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", line):
            opcodes.append(match[1])
    return {name: _counted(opcodes) for name, opcodes in functions.items()}


def _counted(opcodes: list[str]) -> Counter[str]:
    while opcodes and opcodes[-1] == _PADDING:
        opcodes.pop()
    counts: Counter[str] = Counter()
    for opcode in opcodes:
        plain = opcode.partition(".")[0]
        if plain in _MATRIX and _TF32 in opcode:
            plain += _TF32
        counts["all"] += 1
        counts[plain] += 1
        bits = _BITS.search(opcode)
        counts[f"{plain}:{_WIDTH[bits[1]] if bits else 32}"] += 1
    return counts


def _widths(opcodes: Counter[str], *names: str) -> dict[int, int]:
    counts: Counter[int] = Counter()
    for opcode, number in opcodes.items():
        name, _, bits = opcode.partition(":")
        if bits and name in names:
            counts[int(bits)] += number
    return dict(sorted(counts.items()))
