"""Reads the table of devices: what the emulated device is told of a compute unit; the rest of the chip."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import UsageError
from ckprof.model.architecture import find_architecture
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TABLE: Final = Path(__file__).with_name("devices.json")
_ALL: Final = "all"
#: cycles of one pass of the matrix unit
PASS_CYCLES: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceModel:
    """A product: how many compute units share which memory."""

    name: str
    arch: str
    compute_units: int
    clock_mhz: float
    memory_gb_per_s: float
    last_level_gb_per_s: float


@cache
def table() -> Mapping[str, Any]:
    """Return the file."""
    content: Mapping[str, Any] = json.loads(TABLE.read_text())
    return content


def models(arch: str) -> tuple[DeviceModel, ...]:
    """Return the known products of an architecture, the usual one first."""
    return tuple(
        DeviceModel(
            name=name,
            **{
                field: record[field]
                for field in ("arch", "compute_units", "clock_mhz", "memory_gb_per_s", "last_level_gb_per_s")
            },
        )
        for name, record in table()["models"].items()
        if record["arch"] == arch
    )


def find_model(arch: str, name: str = "") -> DeviceModel:
    """Return a product by its name, or the usual one of the architecture.

    :raises UsageError: there is no such product, or none of the architecture.
    """
    known = models(arch)
    if not known:
        raise UsageError(f"no times are predicted for {arch}: its devices are not in the table")
    if not name:
        return known[0]
    for model in known:
        if model.name.lower() == name.lower():
            return model
    raise UsageError(f"--gpu: {unknown_name(f'device of {arch}', name, [model.name for model in known])}")


def device_value(name: str) -> float:
    """Return a number that all devices share."""
    return float(table()["device"][name]["value"])


def property_of(name: str, arch: str) -> float:
    """Return a number of the compute units of an architecture."""
    record = table()["properties"][name]
    return float(record[arch] if arch in record else record[_ALL])


def unit_table(arch: str, changes: Mapping[str, float] | None = None) -> str:
    """Return what the emulated device reads: a line for each number of a compute unit and each instruction.

    :param changes: numbers that are not those of the table.
    """
    return "\n".join((*_properties(arch, changes or {}), *_instructions(arch)))


def _properties(arch: str, changes: Mapping[str, float]) -> Iterator[str]:
    known = find_architecture(arch)
    machine = known.machine
    numbers: dict[str, float] = {"simds": known.simds_per_cu, "waves_per_simd": known.waves_per_simd}
    numbers["lds_bytes"] = known.lds_bytes
    if machine is not None:
        numbers |= {
            "workgroups_per_cu": machine.workgroups_per_cu,
            "vector_registers": machine.vgprs_per_simd,
            "vector_grain": machine.vgpr_grain,
            "scalar_registers": machine.sgprs_per_simd,
            "scalar_grain": machine.sgpr_grain,
            "lds_grain": machine.lds_grain,
        }
    numbers |= {name: property_of(name, arch) for name in table()["properties"]}
    for name, number in (numbers | dict(changes)).items():
        yield f"{name} {number:.10g}"


def _instructions(arch: str) -> Iterator[str]:
    for record in table()["instructions"]:
        if arch not in record["arch"] and _ALL not in record["arch"]:
            continue
        unit = record.get("unit", "matrix")
        busy, latency = record["passes"] * PASS_CYCLES, record["latency"] * PASS_CYCLES
        # the sum goes on where it is, without waiting for registers to be written
        chained = busy if unit == "matrix" else latency
        for pattern in record["patterns"]:
            yield f"instruction {pattern} {unit} {busy} {latency} {chained}"
