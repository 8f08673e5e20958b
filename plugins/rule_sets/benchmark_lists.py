"""Kernels of the tile engine as lists: tables of its benchmark, and what its instance builder exports.

A table (CSV) has a kernel and a problem in each row, in the columns ``kernel`` and ``latency_ms`` among
others; each kernel is taken once. An export is
``{"metadata": ..., "kernels": [{"name": ..., "signature": {...}, "algorithm": {...}}]}``.
Names are those of the code generator (``grouped_conv_fwd_bf16_nhwgc_2d_compv3_...``) or of the tile engine
(``grouped_conv_forward_bf16_2d_64x64x64_compv3_...``); these have no wave grid and no MMA tile, which the
table of tiles knows.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError
from ckprof.formatting import counted
from ckprof.lists.catalogs import decode_json
from ckprof.lists.list_files import is_json
from ckprof.model.catalog import Catalog
from ckprof.model.conversion import Conversion
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from ckprof.plugin.protocols import Converter
from ckprof.sanitize import unknown_name
from ckprof_converters.records import GEMM_DEFAULTS, GemmRecord, record_values
from ckprof_plugins.directions._convolution.layout import LAYOUTS
from ckprof_plugins.pipelines.kernel_name import DEFAULT_VECTOR_SIZES, parts_of_name
from ckprof_plugins.rule_sets.tiles import GEMM_LAYOUTS, ROWS, SI_OPTION, SPLIT_IMAGE, is_split_image

if TYPE_CHECKING:
    from ckprof.model.conversion import ConversionRequest, ExplainedLine
    from ckprof_plugins.directions._convolution.layout import ConvLayout

_EXPORT: Final = re.compile(rb'"kernels"\s*:\s*\[')
_TABLE: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:[ \t]*(?:#[^\n]*)?\n)*(?=[^\n]*\bkernel\b)[^\n]*\blatency_ms\b"
)
_HEAD: Final = re.compile(
    r"grouped_conv_(?P<variant>[a-z]+(?:_data|_weight)?)_(?P<dtype>[a-z]+\d+)(?:_(?P<layout>[a-z]+))?_(?P<ndim>[123])d(?=_)"
)
#: direction in names -> variant of catalogs
_VARIANTS: Final = {
    **{"fwd": "forward", "forward": "forward"},
    **{name: name for name in ("bwd_data", "bwd_weight")},
}
_TILES: Final = {tile: (grid, mma) for tile, grid, mma, _ in ROWS}

#: variant, layout and type of a catalog, and the values of a record but for its id
_Kernel = tuple[str, "ConvLayout", DataType, dict[str, Any]]


class _Algorithm(msgspec.Struct):
    """What an export says of a kernel; its other fields follow from these, or are in the name alone."""

    tile_m: int
    tile_n: int
    tile_k: int
    wave: str
    warp: str
    pipeline: str
    epilogue: str
    scheduler: str
    vector_sizes: tuple[int, int, int]
    num_wave_groups: int = 1
    num_groups_to_merge: int = 1


class _Signature(msgspec.Struct):
    variant: str
    dtype: str
    ndim_spatial: int
    layout: str


class _Exported(msgspec.Struct):
    name: str
    signature: _Signature
    algorithm: _Algorithm


class _Export(msgspec.Struct):
    kernels: list[_Exported]


class BenchmarkLists(Converter):
    """Reads tables of the tile engine's benchmark, and exports of its instance builder."""

    id: Final = "benchmark"
    label: Final = "tables of the tile engine's benchmark, and kernels that its instance builder exports"

    def recognises(self, request: ConversionRequest) -> bool:
        """Say yes to JSON documents with ``kernels``, and to CSV with the columns of a table."""
        if is_json(request.data):
            return _EXPORT.search(request.data) is not None
        return _TABLE.match(request.data.replace(b"\r", b"")) is not None

    def convert(self, request: ConversionRequest) -> Conversion:
        """Return one catalog per direction, layout and type; rows that cannot be read are dropped.

        :raises InputError: the text is no JSON, a kernel of an export is wrong, there is no kernel at all, or
            ``--si-as`` has no meaning.
        """
        collected = _Collected(request)
        lines = _read_export if is_json(request.data) else _read_table
        return collected.conversion(lines(request, collected))

    def explain(
        self, text: str, request: ConversionRequest, number: int | None = None
    ) -> ExplainedLine | None:
        """Refuse rows of a table, whose names have no arguments.

        :raises InputError: the line is one of a table.
        """
        if number is not None and self.recognises(request):
            listing = "'ckprof list instances --conf' names what is excluded"
            message = f"is a table of kernels; only lines of lists and logs can be explained ({listing})"
            raise InputError(message, request.path)
        return None


class _Collected:
    """The kernels of a file, each once."""

    def __init__(self, request: ConversionRequest) -> None:
        self._request = request
        self._catalogs: dict[tuple[str, ConvLayout, DataType], dict[tuple[Any, ...], GemmRecord]] = {}
        self._splits = is_split_image(request.plugin_options)
        self._count = self._split = 0
        self.dropped: dict[int, UnmetRequirement] = {}
        self.unlisted: Counter[str] = Counter()
        self.source_lines: dict[tuple[str, int], int] = {}

    def add(self, kernel: _Kernel, line: int | None = None) -> None:
        """Add a kernel, unless it is there or others were asked for.

        :raises InputError: its values are not those of a record.
        """
        variant, layout, dtype, values = kernel
        request = self._request
        if request.dtype not in (None, dtype) or (request.layout and request.layout.name != layout.name):
            self.unlisted["another type or layout"] += 1
            return
        if request.direction not in (None, {"forward": "fwd"}.get(variant, variant)):
            self.unlisted["another direction"] += 1
            return
        if self._splits and values.pop("store_immediate", None):
            values["split_image"] = True
            self._split += 1
        try:
            record = msgspec.convert({**_USUAL, **values, "id": self._count}, GemmRecord)
        except msgspec.ValidationError as error:
            raise InputError(str(error).replace("`", "'")) from None
        records = self._catalogs.setdefault((variant, layout, dtype), {})
        if records.setdefault(msgspec.structs.astuple(record)[1:], record) is not record:
            self.unlisted["duplicate"] += 1
            return
        if line is not None:
            self.source_lines[variant, record.id] = line
        self._count += 1

    def conversion(self, lines: int) -> Conversion:
        """Return all of it.

        :raises InputError: there is no kernel.
        """
        if not self._count:
            first = next((f"; line {line}: {why.message}" for line, why in self.dropped.items()), "")
            others = ", ".join(name for name in self.unlisted if name.startswith("another"))
            said = f"it names no kernel that is asked for{': ' if others else ''}{others}{first}"
            raise InputError(said, self._request.path)
        note = f"_si in names: {counted(self._split, 'kernel')} with {SPLIT_IMAGE} ({SI_OPTION})"
        return Conversion(
            path=self._request.path,
            converter=BenchmarkLists.id,
            catalogs=tuple(
                Catalog(
                    variant=variant,
                    ndim=layout.ndim,
                    layout=layout,
                    dtype=dtype,
                    records=tuple(records.values()),
                )
                for (variant, layout, dtype), records in self._catalogs.items()
            ),
            lines=lines,
            dropped=self.dropped,
            unlisted=self.unlisted,
            source_lines=self.source_lines,
            notes=(note,) if self._split else (),
        )


_USUAL: Final = {
    name: GEMM_DEFAULTS[name] for name in GemmRecord.__struct_fields__ if name in GEMM_DEFAULTS
} | {"specialization": "default"}


def _read_export(request: ConversionRequest, collected: _Collected) -> int:
    document = decode_json(msgspec.json.Decoder(_Export), request.data, request.path)
    for number, one in enumerate(document.kernels):
        try:
            collected.add(_exported_kernel(one))
        except InputError as error:
            raise InputError(f"kernels[{number}]: {error.message}", request.path) from None
    return request.data.count(b"\n") + 1


def _read_table(request: ConversionRequest, collected: _Collected) -> int:
    try:
        lines = request.data.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text ({error.reason})", request.path) from None
    names: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            collected.unlisted["comment" if line.strip() else "blank"] += 1
            continue
        # line by line: a quotation mark that is never closed costs its own line
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        if not names:
            if "kernel" not in cells:
                message = "the header has no column 'kernel': expected names with commas between them"
                raise InputError(message, request.path, number)
            names = cells
            collected.unlisted["header"] += 1
            continue
        try:
            if len(cells) != len(names):
                raise InputError(f"{len(cells)} values, expected {len(names)} as in the header")
            collected.add(_named_kernel(cells[names.index("kernel")]), number)
        except InputError as error:
            collected.dropped[number] = UnmetRequirement(rule="error", message=error.message)
    return len(lines)


def _parts_of(name: str) -> tuple[re.Match[str], dict[str, Any]]:
    """Return the head of a kernel's name, and the fields that its other parts tell.

    :raises InputError: it has a part without meaning, or lacks one.
    """
    head = _HEAD.match(name)
    if head is None:
        raise InputError(
            f"{name!r} does not begin as names of kernels do: grouped_conv_fwd_bf16_nhwgc_2d_..."
        )
    fields, rest = parts_of_name(name[head.end() :])
    if rest:
        raise InputError(f"{name}: {rest.strip('_')!r} is not part of a kernel's name")
    if "tile_m" not in fields or "gemm_pipeline" not in fields:
        raise InputError(f"{name}: expected a tile and a GEMM pipeline, such as 64x64x64_compv3")
    return head, fields


def _named_kernel(name: str) -> _Kernel:
    """Return the kernel that a name means.

    :raises InputError: it has a part without meaning, or lacks one.
    """
    head, fields = _parts_of(name)
    tile = fields["tile_m"], fields["tile_n"], fields["tile_k"]
    if "mma_tile_m" not in fields:
        if tile not in _TILES:
            text = "x".join(map(str, tile))
            raise InputError(f"{name}: has no wave grid and MMA tile, and {text} is not one of the ten tiles")
        grid, mma_tile = ("x".join(map(str, sizes)) for sizes in _TILES[tile])
        fields |= _sizes(tile, grid, mma_tile)
    return _kernel(head["variant"], head["dtype"], int(head["ndim"]), head["layout"] or "", fields)


def _exported_kernel(one: _Exported) -> _Kernel:
    """Return a kernel of an export: two buffers, ``si`` and a second stage are in its name alone."""
    _, fields = _parts_of(one.name)
    algorithm, signature = one.algorithm, one.signature
    fields |= _sizes((algorithm.tile_m, algorithm.tile_n, algorithm.tile_k), algorithm.wave, algorithm.warp)
    names = ("epilogue", "scheduler", "num_wave_groups", "num_groups_to_merge")
    fields |= {"gemm_pipeline": algorithm.pipeline, **{name: getattr(algorithm, name) for name in names}}
    fields |= _vectors(algorithm.vector_sizes)
    return _kernel(signature.variant, signature.dtype, signature.ndim_spatial, signature.layout, fields)


def _sizes(tile: tuple[int, ...], wave_grid: str, mma_tile: str) -> dict[str, int]:
    fields, rest = parts_of_name("_".join(("x".join(map(str, tile)), wave_grid, mma_tile)))
    if rest or "mma_tile_m" not in fields:
        raise InputError(f"wave is {wave_grid!r}, warp is {mma_tile!r}: expected sizes such as 4x1x1")
    del fields["double_smem_buffer"]
    return fields


def _vectors(sizes: tuple[int, int, int]) -> dict[str, int]:
    return {f"vector_size_{operand}": size for operand, size in zip("abc", sizes, strict=True)}


def _kernel(variant: str, dtype: str, ndim: int, layout: str, fields: dict[str, Any]) -> _Kernel:
    """Return a kernel of which the fields of its instance are known, but for usual ones."""
    if "strategy" in fields:
        fields["strategy"] = fields["strategy"].upper()
    family = "two_stage" if fields.pop("two_stage", False) else "implicit_gemm"
    if "strategy" in fields:
        family = "stream_k"
    values = record_values(family, {**_vectors(DEFAULT_VECTOR_SIZES), **fields})
    return (*_kind(variant, dtype, ndim, layout), values)


def _kind(variant: str, dtype: str, ndim: int, layout: str) -> tuple[str, ConvLayout, DataType]:
    """Return what a catalog says once for its kernels.

    :param layout: that of two dimensions stands for those of others, too; empty for the usual one.
    :raises InputError: a name is unknown.
    """
    if variant not in _VARIANTS:
        raise InputError(unknown_name("direction", variant, _VARIANTS))
    types = {one.value: one for one in DataType}
    if dtype not in types:
        raise InputError(unknown_name("data type", dtype, types))
    layouts = {one.name.lower(): one for one in LAYOUTS if one.ndim == ndim}
    if layout not in ("", GEMM_LAYOUTS[2].name.lower()) and layout not in layouts:
        raise InputError(unknown_name(f"layout of {ndim}D", layout, layouts))
    return _VARIANTS[variant], layouts.get(layout, GEMM_LAYOUTS[ndim]), types[dtype]
