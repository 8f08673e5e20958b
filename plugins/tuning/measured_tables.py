"""Measured times from files: tables as CSV, and stores."""

from __future__ import annotations

import csv
import re
from contextlib import suppress
from dataclasses import MISSING, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast, runtime_checkable

from ckprof.errors import InputError, input_errors, system_errors
from ckprof.formatting import counted
from ckprof.model.outcome import Status
from ckprof.model.problem import Problem
from ckprof.model.problem_types import OPERATION_COLUMN, problem_of_cells
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Pipeline
from ckprof_plugins.tuning.model_use import KernelKind, executed_traits, ran_on
from ckprof_plugins.tuning.time_model.measurements import Measurements, merged, usual_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.types import DataType
    from ckprof.plugin.registry import Registry
    from ckprof.store.key import DeviceKey
    from ckprof.store.query import MeasurementSummary


#: columns that say nothing that is needed here
_IGNORED: Final = frozenset({"idx", "problem_idx", "tflops", "Ho", "Wo", "Do", "op", "gbps"})
#: columns that say what the measurements of other operations are of
_NAMED: Final = frozenset({OPERATION_COLUMN, "dtype", "layout"})
_LONG: Final = frozenset({"kernel", "latency_ms", "split_k", "non_zero"})
_NOTHING: Final = frozenset({"", "nan", "none", "inf"})
_ARCH: Final = re.compile(r"gfx[0-9a-f]{3,4}")


@runtime_checkable
class TableProblem(Protocol):
    """A type of problems that tables of measured times spell in columns of their own, all of them integers.

    Other types have a column for each field.
    """

    @property
    def table_columns(self) -> Mapping[str, int | None]:
        """Column -> value where it is missing; ``None``: it must be there."""

    def of_table(self, values: Mapping[str, int]) -> Problem:
        """Return the problem of a row; called on the type.

        :raises InputError: there is no such problem.
        """


#: the columns of a type of problems with what stands for each that is missing, ``None``: it must be there;
#: and what makes a problem of the cells of a row, which raises ``InputError``
_Columns: TypeAlias = "tuple[Mapping[str, int | None], Callable[[Mapping[str, str]], Problem]]"


def _columns_of(kind: type[object], header: Sequence[str]) -> _Columns:
    if isinstance(kind, TableProblem):
        return kind.table_columns, partial(_problem_of_numbers, kind.table_columns, kind.of_table)
    made = fields(cast("Any", kind))
    usual = {field.name: None if field.default is MISSING else cast("int", field.default) for field in made}
    if OPERATION_COLUMN in header:
        # a file that names the operation of each row may have problems with different fields
        return usual, partial(problem_of_cells, others=_LONG | _IGNORED | _NAMED)
    return usual, partial(_problem_of_numbers, usual, lambda values: cast("Any", kind)(**values))


def _problem_of_numbers(
    columns: Mapping[str, int | None], make: Callable[[dict[str, int]], Problem], cells: Mapping[str, str]
) -> Problem:
    values: dict[str, int] = {}
    for name, usual in columns.items():
        text = cells.get(name, "")
        try:
            values[name] = int(text) if text else -1 if usual is None else usual
        except ValueError:
            raise InputError(f"{name} is {text!r}, expected a whole number") from None
    return make(values)


def _columns_in(header: Sequence[str], kinds: Sequence[type[object]], path: Path) -> _Columns:
    """Return the columns of the first type of problems that a header has all of."""
    if not kinds:
        raise InputError("no loaded plugin has problems", path)
    every = [_columns_of(kind, header) for kind in kinds]
    required = [[name for name, usual in columns.items() if usual is None] for columns, _ in every]
    for columns, needed in zip(every, required, strict=True):
        if set(needed) <= set(header):
            return columns
    missing = [name for name in required[0] if name not in header]
    expected = ",".join(required[0])
    raise InputError(f"no column {', '.join(missing)}; expected {expected} and times", path, 1)


def read_csv(
    path: Path, describe: Callable[[str], KernelTraits | None], problem_types: Sequence[type[object]]
) -> Measurements:
    """Return the measurements of a file.

    :param describe: returns the traits that a kernel's name implies; ``None`` if it implies none.
    :param problem_types: what the rows may be; a type is a :class:`TableProblem`, or a
        dataclass of integers whose fields are the columns.
    :raises InputError: the file cannot be read, has no problem columns or no kernels, or a value is wrong.
    """
    with system_errors(InputError, "cannot read", path), input_errors(UnicodeDecodeError, "not text", path):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    dropped: list[str] = []
    header, rows = _table(path, lines, dropped)
    columns = _columns_in(header, problem_types, path)
    comments = "\n".join(line for line in lines if line.startswith("#"))
    arches = set(_ARCH.findall(comments)) or set(_ARCH.findall(path.name))
    is_long = {"kernel", "latency_ms"} <= set(header)
    names = [name for name in header if name not in columns[0] and name not in _IGNORED]
    problems: dict[Problem, int] = {}
    times: dict[tuple[int, str, int], list[float]] = {}
    kernels: dict[str, KernelTraits] = {}
    for row in rows:
        try:
            found = (
                _long(row)
                if is_long
                else [(name, 1, time) for name in names if (time := _time(row, name)) is not None]
            )
            for name in {name for name, _, _ in found} - kernels.keys():
                traits = describe(name)
                if traits is None:
                    raise InputError(
                        f"{name!r} is neither a problem's column nor a kernel: expected a tile and a GEMM "
                        "pipeline, such as 64x64x64_compv3",
                    )
                kernels[name] = traits
            problem = columns[1](row[1])
        except InputError as error:
            # one row that cannot be read costs no other row
            dropped.append(f"{path.name}:{row[0]}: {error.message}")
            continue
        if not found:
            continue
        index = problems.setdefault(problem, len(problems))
        for name, splits, time_us in found:
            times.setdefault((index, name, splits), []).append(time_us)
    if not times:
        reason = f"; {counted(len(dropped), 'row')} excluded, the first: {dropped[0]}" if dropped else ""
        raise InputError(f"it holds no measured time{reason}", path)
    kernels = {name: kernels[name] for name in dict.fromkeys(name for _, name, _ in times)}
    return Measurements(
        sources=(path.name,),
        problems=tuple(problems),
        kernels=kernels,
        times=usual_times(times),
        arch=arches.pop() if len(arches) == 1 else "",
        dropped=tuple(dropped),
    )


#: number of a line, and its cells by column
_Row = tuple[int, dict[str, str]]


def _long(row: _Row) -> list[tuple[str, int, float]]:
    """Return kernel, splits and microseconds of a row.

    :raises InputError: there is no time in it, or that of a wrong result.
    """
    _, cells = row
    name = cells["kernel"]
    said = cells.get("non_zero", "True").lower()
    if said not in ("true", "false") and not said.isdecimal():
        raise InputError(f"non_zero is {cells['non_zero']!r}, expected True, False or a count")
    if said in ("false", "0"):
        raise InputError(f"{name} wrote nothing but zeros: a wrong result")
    time = _time(row, "latency_ms")
    if time is None:
        raise InputError(f"{name} has no time")
    splits = cells.get("split_k") or "1"
    if not splits.isdecimal():
        raise InputError(f"split_k is {splits!r}, expected a whole number")
    return [(name, max(1, int(splits)), 1000.0 * time)]


def _table(path: Path, lines: Sequence[str], dropped: list[str]) -> tuple[list[str], list[_Row]]:
    """Return the names of the columns and the rows; say of which rows the number of values is another one."""
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and line[0] != "#"]
    if not numbered:
        raise InputError("it is empty: expected a header line and measurements", path)
    # line by line: a quotation mark that is never closed costs its own line
    parsed = [next(csv.reader([line])) for _, line in numbered]
    header = [name.strip() for name in parsed[0]]
    repeated = {name for name in header if header.count(name) > 1}
    if repeated:
        raise InputError(f"column {', '.join(sorted(repeated))} occurs twice", path, numbered[0][0])
    rows = []
    for (number, _), cells in zip(numbered[1:], parsed[1:], strict=True):
        if len(cells) != len(header):
            dropped.append(
                f"{path.name}:{number}: {len(cells)} values, expected {len(header)} as in the header"
            )
            continue
        rows.append((number, dict(zip(header, map(str.strip, cells), strict=True))))
    return header, rows


def _time(row: _Row, column: str) -> float | None:
    text = row[1][column]
    if text.lower() in _NOTHING:
        return None
    try:
        time = float(text)
    except ValueError:
        raise InputError(f"{column} is {text!r}, expected a time") from None
    if not 0 < time < float("inf"):
        raise InputError(f"{column} is {text}, expected a positive time")
    return time


#: how the file of every SQLite database begins
_SQLITE: Final = b"SQLite format 3\0"


def read_tables(registry: Registry, paths: tuple[Path, ...], kind: KernelKind) -> Measurements:
    """Return the measured times of some files as one table.

    :param kind: direction and type whose measurements are taken from stores; what ran the kernels of tables.
    :raises InputError: a file is wrong, or they are of several devices.
    """
    operations = [registry.operation(kind.direction)] if kind.direction else registry.operations.registered
    problem_types = tuple(dict.fromkeys(of for operation in operations for of in operation.problem_types))

    def describe(name: str) -> KernelTraits | None:
        for pipeline in registry.pipelines:
            traits = pipeline.traits_of_name(name)
            if traits is not None:
                return executed_traits(registry, kind, pipeline, pipeline.fields_of_name(name) or {}, traits)
        return None

    tables = tuple(
        _of_store(registry, path, kind)
        if _is_store(path)
        else replace(read_csv(path, describe, problem_types), target=kind.target)
        for path in paths
    )
    for what, values in (
        ("devices", {table.arch for table in tables if table.arch}),
        ("targets", {table.target for table in tables}),
    ):
        if len(values) > 1:
            names = ", ".join(sorted(value or "the architecture itself" for value in values))
            raise InputError(f"the files are of several {what}: {names}", paths[0])
    return merged(tables)


def _is_store(path: Path) -> bool:
    # the reader of tables says why it cannot be read
    with suppress(OSError), path.open("rb") as stream:
        return stream.read(len(_SQLITE)) == _SQLITE
    return False


def kinds_in_stores(paths: Iterable[Path]) -> set[tuple[str, DataType]]:
    """Return the directions and types of which those files that are stores have times.

    :raises InputError: a store cannot be read.
    """
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store

    kinds: set[tuple[str, DataType]] = set()
    for path in filter(_is_store, paths):
        with Store(path) as store:
            rows = store.measurements(StoreQuery())
            kinds |= {
                (row.key.operation.direction, row.kernel.dtype)
                for row in rows
                if row.time_ms is not None and row.kernel.dtype is not None
            }
    return kinds


def _only_device(devices: Iterable[DeviceKey], path: Path) -> DeviceKey:
    """Return the one device, by target, name, architecture and compute units."""
    found = {(one.target, one.model, one.arch, one.compute_units, one.is_emulated): one for one in devices}
    if len(found) > 1:
        names = ", ".join(sorted(f"{one.target} {one.model} {one.arch}".strip() for one in found.values()))
        raise InputError(f"it holds times of several devices, which no model can be of: {names}", path)
    return next(iter(found.values()))


def _of_store(registry: Registry, path: Path, kind: KernelKind) -> Measurements:
    """Return what a store holds: verified measurements alone."""
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store

    problems: dict[Problem, int] = {}
    times: dict[tuple[int, str, int], list[float]] = {}
    kernels: dict[str, KernelTraits] = {}
    devices: set[DeviceKey] = set()
    dropped: dict[str, None] = {}
    tried: dict[Problem, None] = {}
    with Store(path) as store:
        for row in store.measurements(StoreQuery(direction=kind.direction or None, dtype=kind.dtype or None)):
            tried[row.key.problem] = None
            reason = _reason_to_drop(registry, row)
            if reason:
                dropped[reason] = None
            if reason or row.time_ms is None:
                continue
            name = row.kernel.name
            device = row.key.device
            pipeline = registry.pipelines.find(row.kernel.pipeline)
            if name not in kernels and offers(pipeline, Pipeline.traits):
                ran = replace(kind, target=device.target)
                kernels[name] = executed_traits(registry, ran, pipeline, row.kernel.fields)
            devices.add(device)
            index = problems.setdefault(row.key.problem, len(problems))
            key = index, name, max(1, row.key.split_k)
            times.setdefault(key, []).append(1000 * row.time_ms)
    if not times:
        raise InputError(f"it holds no verified time of {kind.direction} {kind.dtype}".rstrip(), path)
    device = _only_device(devices, path)
    target, arch = ran_on(registry, device, device.arch)
    return Measurements(
        sources=(path.name,),
        problems=tuple(problems),
        kernels=kernels,
        times=usual_times(times),
        arch=arch,
        target=target,
        compute_units=device.compute_units or None,
        dropped=tuple(dropped),
        unserved=tuple(problem for problem in tried if problem not in problems),
    )


def _reason_to_drop(registry: Registry, row: MeasurementSummary) -> str:
    """Return why a measurement is excluded; empty if it is not."""
    name = row.kernel.name
    if row.time_ms is None:
        return "" if row.status is Status.UNSUPPORTED else f"{name}: {row.status.value}, {row.reason}"
    if row.key.split_k < 1:
        return f"{name}: the number of splits was left to the kernel"
    if row.kernel.pipeline not in registry.pipelines.ids or not row.kernel.fields:
        return f"{name}: nothing is known about its configuration"
    if not offers(registry.pipelines.find(row.kernel.pipeline), Pipeline.traits):
        return f"{name}: the family {row.kernel.pipeline} has no time model"
    return ""
