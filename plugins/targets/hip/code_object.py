"""Reads a code object: what each of its kernels needs.

Registers, spills, LDS and scratch come from the MessagePack note that the compiler writes for the loader; the
size of the code from the symbol table; only the kinds of instructions from a disassembly. What was read is
kept, by the digest of the file.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError, ToolchainError, input_errors, system_errors
from ckprof.files import scratch_folder, write_atomically
from ckprof.kernels.keys import digest_file, digest_parts
from ckprof.model.architecture import find_architecture
from ckprof.model.device import DeviceKernel, Occupancy
from ckprof.paths import cache_dir
from ckprof_plugins.targets.hip.instructions import InstructionCounts, count_instructions, matrix_cycles

if TYPE_CHECKING:
    from pathlib import Path

#: raised whenever what is read or how it is counted changes
_SCHEMA: Final = 3
_OWNER: Final = "AMDGPU"
_METADATA: Final = 32
#: of code objects that lie in another one, which loads them when it runs
EMBEDDED_SECTION: Final = ".ckprof.code_object"


def read_kernels(path: Path, arch: str) -> tuple[DeviceKernel, ...]:
    """Return the kernels of a code object, in the order of its note.

    :param arch: what it was compiled for.
    :raises InputError: it is no code object.
    :raises ToolchainError: the library or the disassembler that reads it is missing.
    """
    with system_errors(InputError, "cannot read", path):
        memo = cache_dir() / "inspect" / f"{digest_parts(str(_SCHEMA), arch, digest_file(path))}.json"
    try:
        return msgspec.json.decode(memo.read_bytes(), type=tuple[DeviceKernel, ...])
    except (OSError, msgspec.DecodeError):
        pass  # not read yet
    kernels = _kernels(path, arch)
    try:
        write_atomically(memo, msgspec.json.encode(kernels).decode())
    except OSError:
        pass  # only costs time
    return kernels


def _kernels(path: Path, arch: str) -> tuple[DeviceKernel, ...]:
    """Return the kernels of a code object, and those of code objects that lie in it."""
    with system_errors(InputError, "cannot read", path):
        data = path.read_bytes()
    records, code_bytes, embedded = _read(data, path)
    counts = count_instructions(path, code_bytes) if records else {}
    kernels = [
        _kernel(record, code_bytes, counts.get(str(record[".name"])) or InstructionCounts(), arch)
        for record in records
    ]
    for one in embedded:
        with scratch_folder() as folder:
            inner = folder / "embedded.co"
            inner.write_bytes(one)
            kernels += _kernels(inner, arch)
    return tuple(kernels)


def read_metadata(path: Path) -> tuple[tuple[dict[str, Any], ...], dict[str, int]]:
    """Return the records of a code object's note, one per kernel, and the bytes of code of each function.

    :raises InputError: it is no code object.
    :raises ToolchainError: pyelftools is missing.
    """
    with system_errors(InputError, "cannot read", path):
        return _read(path.read_bytes(), path)[:2]


def metadata_of(data: bytes, where: str) -> tuple[tuple[dict[str, Any], ...], dict[str, int]]:
    """Return what :func:`read_metadata` returns, of a code object in memory.

    :param where: what it is, for messages.
    :raises InputError: it is no code object.
    :raises ToolchainError: pyelftools is missing.
    """
    return _read(data, where)[:2]


def _read(
    data: bytes, where: Path | str
) -> tuple[tuple[dict[str, Any], ...], dict[str, int], tuple[bytes, ...]]:
    """Return records, bytes of code per function, and the code objects that lie in this one."""
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
        from elftools.elf.sections import NoteSection, SymbolTableSection
    except ImportError:
        raise ToolchainError(
            "reading code objects needs the package pyelftools; "
            "install it with \"pip install 'ckprof[inspect]'\""
        ) from None
    with input_errors((OSError, ELFError), "not a code object", where):
        elf = ELFFile(BytesIO(data))
        sections = list(elf.iter_sections())
        notes = [
            note for section in sections if isinstance(section, NoteSection) for note in section.iter_notes()
        ]
        sizes = {
            symbol.name: int(symbol["st_size"])
            for section in sections
            if isinstance(section, SymbolTableSection)
            for symbol in section.iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC"
        }
        embedded = tuple(section.data() for section in sections if section.name == EMBEDDED_SECTION)
    for note in notes:
        if note["n_name"] == _OWNER and _note_type(note) == _METADATA:
            return _records(note["n_descdata"], where), sizes, embedded
    raise InputError("not a code object of an AMD GPU: it has no metadata note", where)


def _note_type(note: Any) -> int:
    kind = note["n_type"]
    return kind if isinstance(kind, int) else _METADATA if "METADATA" in str(kind) else -1


def _records(data: bytes | str, where: Path | str) -> tuple[dict[str, Any], ...]:
    raw = data.encode("latin-1") if isinstance(data, str) else data
    try:
        return tuple(msgspec.msgpack.decode(raw)["amdhsa.kernels"])
    except (msgspec.DecodeError, KeyError, TypeError) as exc:
        raise InputError(f"its metadata cannot be read: {exc!r}", where) from None


def _kernel(
    record: dict[str, Any], code_bytes: dict[str, int], counts: InstructionCounts, arch: str
) -> DeviceKernel:
    name = str(record[".name"])

    def number(field: str) -> int:
        return int(record.get(field, 0))

    vgprs, agprs, sgprs = number(".vgpr_count"), number(".agpr_count"), number(".sgpr_count")
    lds, lanes = number(".group_segment_fixed_size"), number(".max_flat_workgroup_size")
    return DeviceKernel(
        symbol=name,
        arch=arch,
        vgprs=vgprs,
        agprs=agprs,
        sgprs=sgprs,
        vgpr_spills=number(".vgpr_spill_count"),
        sgpr_spills=number(".sgpr_spill_count"),
        lds_bytes=lds,
        scratch_bytes=number(".private_segment_fixed_size"),
        wave_lanes=number(".wavefront_size"),
        workgroup_lanes=lanes,
        argument_bytes=number(".kernarg_segment_size"),
        code_bytes=code_bytes.get(name, 0),
        occupancy=occupancy(
            arch, vgprs=vgprs, agprs=agprs, sgprs=sgprs, lds_bytes=lds, workgroup_lanes=lanes
        ),
        matrix_instructions=dict(sorted(counts.matrix.items())),
        loads=dict(sorted(counts.loads.items())),
        stores=dict(sorted(counts.stores.items())),
        atomics=dict(sorted(counts.atomics.items())),
        lds_reads=dict(sorted(counts.lds_reads.items())),
        lds_writes=dict(sorted(counts.lds_writes.items())),
        direct_loads=counts.direct_loads,
        barriers=counts.barriers,
        instructions=counts.total,
        matrix_cycles=sum(matrix_cycles(kind, arch) * number for kind, number in counts.matrix.items()),
    )


def occupancy(
    arch: str, *, vgprs: int, agprs: int, sgprs: int, lds_bytes: int, workgroup_lanes: int
) -> Occupancy:
    """Return what fits onto a compute unit at once, and what allows no more.

    Registers are handed out to each wave in grains, LDS to each workgroup. A workgroup is resident as a
    whole, its waves spread over the SIMDs.

    :param arch: e.g. ``gfx942``.
    :param vgprs: vector registers of a lane; with accumulation registers where both share one file.
    :param agprs: accumulation registers of a lane.
    """
    properties = find_architecture(arch)
    machine = properties.machine
    if machine is None:
        return Occupancy(waves_per_simd=0, workgroups_per_cu=0, limited_by="unknown")
    waves = max(1, -(-workgroup_lanes // properties.lanes_per_wave))
    limits = {
        "waves": properties.waves_per_simd,
        "vgpr": _fitting(machine.vgprs_per_simd, vgprs, machine.vgpr_grain),
        "sgpr": _fitting(machine.sgprs_per_simd, sgprs, machine.sgpr_grain),
    }
    if machine.agprs_per_simd:
        limits["agpr"] = _fitting(machine.agprs_per_simd, agprs, machine.vgpr_grain)
    resident = {
        name: _workgroups(per_simd, waves, properties.simds_per_cu) for name, per_simd in limits.items()
    }
    resident["lds"] = _fitting(properties.lds_bytes, lds_bytes, machine.lds_grain)
    if waves > 1:
        resident["workgroup"] = machine.workgroups_per_cu
    workgroups = min(resident.values())
    # of several equal limits the first in this order is named: it is what a kernel can change
    order = ("lds", "vgpr", "agpr", "sgpr", "workgroup", "waves")
    limited_by = next(name for name in order if resident.get(name) == workgroups)
    return Occupancy(
        waves_per_simd=min(-(-workgroups * waves // properties.simds_per_cu), min(limits.values())),
        workgroups_per_cu=workgroups,
        limited_by=limited_by,
    )


def _fitting(available: int, needed: int, grain: int) -> int:
    rounded = -(-max(needed, 1) // grain) * grain
    return available // rounded


def _workgroups(waves_per_simd: int, waves: int, simds_per_cu: int) -> int:
    """Return how many workgroups fit if each SIMD takes so many waves."""
    if waves <= simds_per_cu:
        # a SIMD that gets no wave of one workgroup gets one of the next
        return waves_per_simd * simds_per_cu // waves
    return waves_per_simd // -(-waves // simds_per_cu)
