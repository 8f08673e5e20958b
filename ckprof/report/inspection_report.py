"""Inspections as tables and CSV."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any, Final, cast

from ckprof.errors import UsageError
from ckprof.formatting import agreeing, counted
from ckprof.report.document import Document
from ckprof.report.layout import Align
from ckprof.report.table import ESSENTIAL, Column, Table, csv_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckprof.kernels.inspection import BuildComparison, FigureChange, InspectedKernel, Inspection
    from ckprof.model.device import DeviceKernel
    from ckprof.model.gemm_work import Estimate

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
#: fields whose columns stay however narrow the terminal is
_ESSENTIAL: Final = ("name", "vgprs", "spills", "waves_per_simd", "limited_by", "bound_us")
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
    return {
        **_figures(kernel.worst),
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
    def of(*names: str, shown: Callable[[Any], object] = lambda value: value) -> dict[str, object]:
        return {name: shown(getattr(variant, name)) for name in names}

    matrix, occupancy = variant.matrix_instructions, variant.occupancy
    return {
        **of("vgprs", "agprs", "sgprs", "vgpr_spills", "sgpr_spills"),
        "spills": variant.vgpr_spills + variant.sgpr_spills,
        **of("scratch_bytes", "lds_bytes", "wave_lanes", "workgroup_lanes"),
        **{name: getattr(occupancy, name) for name in ("waves_per_simd", "workgroups_per_cu", "limited_by")},
        "matrix": sum(matrix.values()),
        "matrix_kinds": " ".join(f"{kind}:{n}" for kind, n in matrix.items()),
        **of("matrix_cycles"),
        **of("loads", "stores", "atomics", shown=widths),
        **of("direct_loads", "tensor_copies"),
        **of("lds_reads", "lds_writes", shown=widths),
        "lds_accesses": f"{sum(variant.lds_reads.values())}/{sum(variant.lds_writes.values())}",
        **of("barriers", "instructions", "argument_bytes", "code_bytes"),
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
            fields = ", ".join(sorted(row))
            raise UsageError(f"--where {text!r}: no field {field!r} (known: {fields})")
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


def inspection_document(inspection: Inspection, rows: Sequence[Mapping[str, object]]) -> Document:
    """Return the table with what it is about above it and what it means below."""
    estimated = any("bound_us" in row for row in rows)
    fields = _SHOWN | _ESTIMATED if estimated else _SHOWN
    columns = [*map(_column, fields, fields.values()), _column("kernel", "name", align="left")]
    about = f"{inspection.arch}, {inspection.compiler}, CK Tile API level {inspection.api_level}"
    if inspection.problem:
        about += f"\nproblem: {inspection.problem}"
    notes = [f"{counted(len(rows), 'row')}; of kernels with several device functions the most demanding one"]
    if estimated:
        notes.append("bounds are estimates from instruction counts and peak rates: nothing was run")
    for kernel in inspection.kernels:
        notes += [f"{kernel.name}: {text}" for text in kernel.warnings]
    if inspection.unattributed:
        notes.append(f"no device function found of: {', '.join(inspection.unattributed)}")
    table = Table(columns, rows, elsewhere="--format csv has every figure")
    return Document([about, table, "\n".join(notes)])


def _column(name: str, field: str, align: Align = "right") -> Column[Mapping[str, object]]:
    return Column(
        name,
        lambda row: row.get(field),
        align=align,
        text=lambda row: _cell(row.get(field)),
        priority=ESSENTIAL if field in _ESSENTIAL else 1,
    )


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return str(value) or "-"


def render_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Return one line per row, all fields."""
    return csv_text(rows, [*dict.fromkeys(("name", *(field for row in rows for field in row)))])


def comparison_document(comparison: BuildComparison) -> Document:
    """Return what differs between two builds; what is worse comes first."""
    before, after = comparison.before, comparison.after
    about = (
        f"before: {before.arch}, {before.compiler}, API level {before.api_level}\n"
        f"after:  {after.arch}, {after.compiler}, API level {after.api_level}"
    )
    columns: list[Column[FigureChange]] = [
        Column("", lambda change: "worse" if change.worse else ""),
        Column("figure", lambda change: change.field),
        Column("before", lambda change: change.before),
        Column("after", lambda change: change.after),
        Column("kernel", lambda change: change.name, names=lambda change: change.name),
    ]
    ordered = sorted(comparison.changes, key=lambda change: (not change.worse, change.name, change.field))
    lines = [f"only before: {name}" for name in comparison.only_before]
    lines += [f"only after: {name}" for name in comparison.only_after]
    changed = len({change.name for change in comparison.changes})
    worse = len({change.name for change in comparison.worse})
    differ = f"{counted(changed, 'kernel')} {agreeing(changed, 'differs', 'differ')}"
    lines.append(f"{differ}, {worse} of them with new spills or lost occupancy")
    return Document([about, *([Table(columns, ordered)] if ordered else []), "\n".join(lines)])
