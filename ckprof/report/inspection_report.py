"""Inspections as tables and CSV."""

from __future__ import annotations

import csv
import io
import operator
import re
from typing import TYPE_CHECKING, Any, Final, cast

from tabulate import tabulate

from ckprof.errors import UsageError
from ckprof.plain_text import csv_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckprof.model.device_kernel import DeviceKernel
    from ckprof.model.gemm_work import Estimate
    from ckprof.model.inspection import Comparison, InspectedKernel, Inspection

#: column of tables -> field of a row
_SHOWN: Final = {
    "vgpr": "vgprs",
    "agpr": "agprs",
    "sgpr": "sgprs",
    "spills": "spills",
    "scratch": "scratch_bytes",
    "LDS": "lds_bytes",
    "waves": "waves_per_simd",
    "wg/CU": "workgroups_per_cu",
    "limit": "limited_by",
    "matrix": "matrix",
    "loads": "loads",
    "stores": "stores",
    "LDS r/w": "lds_accesses",
    "code": "code_bytes",
}
_ESTIMATED: Final = {
    "tile eff": "tile_efficiency",
    "wave eff": "wave_efficiency",
    "flop/byte": "arithmetic_intensity",
    "bound us": "bound_us",
    "eff bound": "efficiency_bound",
}
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_CONDITION: Final = re.compile(r"^\s*(\w+)\s*(<=|>=|!=|=|<|>)\s*([\w.]+)\s*$")


def row_of(kernel: InspectedKernel) -> dict[str, object]:
    """Return all figures of a kernel: those of its most demanding variant, spills of all."""
    worst = kernel.worst
    return {
        **_figures(worst),
        "name": kernel.name,
        "variants": len(kernel.variants),
        **{name: kernel.most(name) for name in ("vgprs", "agprs", "sgprs", "scratch_bytes", "code_bytes")},
        **{name: kernel.most(name) for name in ("vgpr_spills", "sgpr_spills", "lds_bytes")},
        "spills": kernel.most("vgpr_spills") + kernel.most("sgpr_spills"),
        "warnings": len(kernel.warnings),
        **_bounds(kernel.estimate),
    }


def rows_of(kernels: Sequence[InspectedKernel], *, variants: bool) -> list[dict[str, object]]:
    """Return a row for each kernel, or for each of their device functions."""
    if not variants:
        return [row_of(kernel) for kernel in kernels]
    return [
        {**_figures(variant), "name": kernel.name, "symbol": variant.symbol, **_bounds(kernel.estimate)}
        for kernel in kernels
        for variant in kernel.variants
    ]


def _figures(variant: DeviceKernel) -> dict[str, object]:
    return {
        "vgprs": variant.vgprs,
        "agprs": variant.agprs,
        "sgprs": variant.sgprs,
        "vgpr_spills": variant.vgpr_spills,
        "sgpr_spills": variant.sgpr_spills,
        "spills": variant.vgpr_spills + variant.sgpr_spills,
        "scratch_bytes": variant.scratch_bytes,
        "lds_bytes": variant.lds_bytes,
        "wave_lanes": variant.wave_lanes,
        "workgroup_lanes": variant.workgroup_lanes,
        "waves_per_simd": variant.occupancy.waves_per_simd,
        "workgroups_per_cu": variant.occupancy.workgroups_per_cu,
        "limited_by": variant.occupancy.limited_by,
        "matrix": sum(variant.matrix_instructions.values()),
        "matrix_kinds": " ".join(f"{kind}:{n}" for kind, n in variant.matrix_instructions.items()),
        "matrix_cycles": variant.matrix_cycles,
        "loads": widths(variant.loads),
        "stores": widths(variant.stores),
        "atomics": widths(variant.atomics),
        "direct_loads": variant.direct_loads,
        "tensor_copies": variant.tensor_copies,
        "lds_reads": widths(variant.lds_reads),
        "lds_writes": widths(variant.lds_writes),
        "lds_accesses": f"{sum(variant.lds_reads.values())}/{sum(variant.lds_writes.values())}",
        "barriers": variant.barriers,
        "instructions": variant.instructions,
        "argument_bytes": variant.argument_bytes,
        "code_bytes": variant.code_bytes,
    }


def _bounds(estimate: Estimate | None) -> dict[str, object]:
    if estimate is None:
        return {}
    return {
        name: getattr(estimate, name)
        for name in (
            *("flops", "tile_bytes", "arithmetic_intensity", "workgroups", "tile_efficiency"),
            *("wave_efficiency", "matrix_us", "memory_us", "bound_us", "efficiency_bound"),
        )
    } | {"matrix_cycles_per_workgroup": estimate.matrix_cycles}


def widths(accesses: Mapping[int, int]) -> str:
    """Return accesses by width in a few letters: ``96x16b 4x128b``."""
    return " ".join(f"{number}x{bits}b" for bits, number in accesses.items())


def condition(text: str) -> Callable[[Mapping[str, object]], bool]:
    """Return the test of a condition such as ``spills>0`` or ``limited_by=lds``.

    :raises UsageError: it is no condition, or compares a word by size.
    """
    matched = _CONDITION.match(text)
    if matched is None:
        raise UsageError(f"--where {text!r}: expected FIELD<VALUE, >, <=, >=, = or !=, e.g. spills>0")
    field, sign, wanted = matched.groups()

    def test(row: Mapping[str, object]) -> bool:
        if field not in row:
            known = ", ".join(sorted(row))
            raise UsageError(f"--where {text!r}: no field {field!r} (known: {known})")
        value = row[field]
        if isinstance(value, str):
            if sign not in ("=", "!="):
                raise UsageError(f"--where {text!r}: {field} is a word; compare it with = or !=")
            return _OPERATORS[sign](value, wanted)
        try:
            return _OPERATORS[sign](value, float(wanted))
        except ValueError:
            raise UsageError(f"--where {text!r}: {field} is a number") from None

    return test


def sort_rows(rows: list[dict[str, object]], field: str) -> list[dict[str, object]]:
    """Return rows by a field, largest first; words in alphabetical order.

    :raises UsageError: no such field.
    """
    for row in rows:
        if field not in row:
            raise UsageError(f"--sort {field}: no such field (known: {', '.join(sorted(row))})")
    if any(isinstance(row[field], str) for row in rows):
        return sorted(rows, key=lambda row: str(row[field]))
    return sorted(rows, key=lambda row: cast("float", row[field]), reverse=True)


def render_table(inspection: Inspection, rows: Sequence[Mapping[str, object]]) -> str:
    """Return the table with what it is about above it and what it means below."""
    columns = {name: field for name, field in _SHOWN.items()}
    estimated = any("bound_us" in row for row in rows)
    if estimated:
        columns |= _ESTIMATED
    body = [[_cell(row.get(field)) for field in columns.values()] + [row["name"]] for row in rows]
    head = f"{inspection.arch}, {inspection.compiler}, CK Tile API level {inspection.api_level}" + (
        f"\nproblem: {inspection.problem}" if inspection.problem else ""
    )
    table = tabulate(
        body, headers=[*columns, "kernel"], disable_numparse=True, colalign=("right",) * len(columns)
    )
    notes = [f"{len(rows)} rows; of kernels with several device functions the most demanding one"]
    if estimated:
        notes.append("bounds are estimates from instruction counts and peak rates: nothing was run")
    for kernel in inspection.kernels:
        notes += [f"{kernel.name}: {text}" for text in kernel.warnings]
    if inspection.unattributed:
        names = ", ".join(inspection.unattributed)
        notes.append(f"no device function found of: {names}")
    return "\n".join([head, "", table, "", *notes])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return str(value) or "-"


def render_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Return one line per row, all fields."""
    stream = io.StringIO()
    fields = [
        "name",
        *(field for field in dict.fromkeys(key for row in rows for key in row) if field != "name"),
    ]
    writer = csv.DictWriter(stream, fieldnames=fields, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: csv_cell(value) for name, value in row.items()} for row in rows)
    return stream.getvalue()


def render_comparison(comparison: Comparison) -> str:
    """Return what differs between two builds; what is worse comes first."""
    before, after = comparison.before, comparison.after
    lines = [
        f"before: {before.arch}, {before.compiler}, API level {before.api_level}",
        f"after:  {after.arch}, {after.compiler}, API level {after.api_level}",
        "",
    ]
    ordered = sorted(comparison.changes, key=lambda change: (not change.worse, change.name, change.field))
    body = [
        ["worse" if change.worse else "", change.field, change.before, change.after, change.name]
        for change in ordered
    ]
    if body:
        lines.append(
            tabulate(body, headers=("", "figure", "before", "after", "kernel"), disable_numparse=True)
        )
        lines.append("")
    for title, names in (("only before", comparison.only_before), ("only after", comparison.only_after)):
        lines += [f"{title}: {name}" for name in names]
    changed = len({change.name for change in comparison.changes})
    worse = len({change.name for change in comparison.worse})
    lines.append(f"{changed} kernels differ, {worse} of them with new spills or lost occupancy")
    return "\n".join(lines)
