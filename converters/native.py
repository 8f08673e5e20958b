"""Catalogs written as list lines again, in the spelling of CK Tile's own kernels."""

from __future__ import annotations

import itertools
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from ckprof.errors import InputError
from ckprof.model.conversion import MMA_K_TABLE, ListReading
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.rendering import StringError, render
from ckprof.model.types import DataType
from ckprof_converters.compiled import CompiledFamily
from ckprof_converters.conf_family import StepError
from ckprof_converters.derivation import PIPELINE_STATED
from ckprof_converters.drop_rules import DropRule
from ckprof_converters.families.native import FAMILIES
from ckprof_converters.lines import annotation_of
from ckprof_plugins.directions._convolution import string_kinds
from ckprof_plugins.directions._convolution.layout import types_of
from ckprof_plugins.elementwise.operations import ElementwiseOp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof_plugins.directions._convolution.layout import ConvLayout

#: catalog variant -> kind of text
KERNELS: Final = MappingProxyType(
    {
        "forward": string_kinds.FORWARD,
        "bwd_data": string_kinds.BACKWARD_DATA,
        "bwd_weight": string_kinds.BACKWARD_WEIGHT,
    }
)
DEPTHWISE_KERNEL: Final = "GroupedConvolutionForwardDepthwise"

#: what catalogs say -> CK Tile's name of the GEMM pipeline
_PIPELINES: Final = MappingProxyType(
    {word: name for name, word in string_kinds.PIPELINES.items() if word is not None and name != "BASIC_V2"}
    | {"basic_v1": "BASIC_V1"}
)
_SCHEDULERS: Final = kinds.spelled(kinds.TILE_SCHEDULER)
_SPECIALIZATIONS: Final = kinds.spelled(kinds.SPECIALIZATION)
_REDUCTIONS: Final = kinds.spelled(kinds.REDUCTION)


#: comment lines that stand for missing ids: so many per record and list, else the ids are spelled out
_FILLERS: Final = (10, 1000)


def to_native(catalog: Catalog) -> list[str]:
    """Return the lines of a list that gives the catalog, its ids included.

    What CK Tile's text does not say follows in an annotation after it; ids are line numbers, so comment
    lines stand where ids are missing.

    :raises InputError: the variant has no native form, or a record cannot be said.
    """
    compiled = _family_of(catalog)
    properties = ListReading(
        layout=_layout(catalog),
        dtype=catalog.dtype,
        mma_k_table=MMA_K_TABLE,
    )
    fill = not compiled.family.index_ids and _can_be_filled([record.id for record in catalog.records])
    lines: list[str] = []
    seen: set[tuple[Any, ...]] = set()
    for count, record in enumerate(catalog.records):
        line = native_line(catalog, record)
        said, is_kept = _read_back(compiled, line, properties, record)
        wanted = msgspec.structs.asdict(record)
        id_ = wanted.pop("id")
        annotation = {name: value for name, value in wanted.items() if said[name] != value}
        if not is_kept:
            annotation["pipeline"] = wanted["pipeline"]
        if fill:
            lines.extend("#" for _ in range(id_ - len(lines)))
        values = msgspec.structs.astuple(record)[1:]
        if values in seen or id_ != (count if compiled.family.index_ids else len(lines)):
            annotation["id"] = id_
        seen.add(values)
        lines.append(line + annotation_of(annotation))
    return lines


def _family_of(catalog: Catalog) -> CompiledFamily:
    """Return the family of the lines of a catalog."""
    for family in FAMILIES:
        if family.variant == catalog.variant:
            return CompiledFamily(family)
    variants = ", ".join(family.variant for family in FAMILIES)
    raise InputError(f"catalog variant {catalog.variant!r} has no native form (known: {variants})")


def _can_be_filled(ids: Sequence[int]) -> bool:
    per_record, per_list = _FILLERS
    ascending = all(first < second for first, second in itertools.pairwise(ids))
    return ascending and (not ids or ids[-1] < per_record * len(ids) + per_list)


def _read_back(
    compiled: CompiledFamily, line: str, properties: ListReading, record: CatalogRecord
) -> tuple[dict[str, Any], bool]:
    """Return what the converter reads from a line, by the very steps that it takes.

    And whether it does so where no annotation says the pipeline.
    """
    values = compiled.read_fast(line, line.index("<") + 1)
    if values is None:
        raise InputError(f"instance {record.id}: a value is too large for a list: {line}")
    is_kept = True
    try:
        for step in compiled.steps:
            dropped = step(values, properties)
            if dropped is not None and dropped.rule == DropRule.STREAM_K_ASYNC_FLOAT.value:
                values[PIPELINE_STATED], is_kept = True, False
                dropped = step(values, properties)
            if dropped is not None:
                raise StepError(dropped.message)
    except StepError as error:
        raise InputError(f"instance {record.id} cannot be said in a list: {error.message}") from None
    return values, is_kept


def native_line(catalog: Catalog, record: Any) -> str:
    """Return the line of one record; see :func:`to_native`."""
    if catalog.variant == "forward_depthwise":
        numbers = [str(getattr(record, name)) for name in record.__struct_fields__[1:]]
        return f"{DEPTHWISE_KERNEL}<{','.join(numbers)}>"
    kernel = KERNELS[catalog.variant]
    layout = _layout(catalog)
    d_layouts = record.d_layouts.split(",") if record.d_layouts else []
    d_dtypes = tuple(map(DataType, record.d_dtypes.split(","))) if record.d_dtypes else ()
    types = types_of(catalog.dtype, _type(record.dtype_b), _type(record.dtype_result), d_dtypes)
    first, second = (dtype.spelled for dtype in types.operands)
    *further, result = (dtype.spelled for dtype in types.of_so_many(len(d_layouts) + 3)[2:])
    values: dict[str, Any] = {
        **{name: getattr(record, name) for name in record.__struct_fields__},
        "ndim": catalog.ndim,
        "layout_input": layout.input,
        "layout_weight": layout.weight,
        "layout_output": layout.output,
        "type_a": first,
        "type_b": second,
        "type_accumulator": types.acc.spelled,
        "type_result": result,
        "specialization": _spelled(_SPECIALIZATIONS, record, "specialization"),
        "pipeline_name": _spelled(_PIPELINES, record, "pipeline"),
        "scheduler": _spelled(_SCHEDULERS, record, "scheduler"),
    }
    # lines say nothing of what is done with operands
    if record.elementwise_op and not ElementwiseOp.parse(record.elementwise_op).properties.operands:
        values["operation_result"] = record.elementwise_op
    if d_layouts:
        values |= {
            "layout_extra": f"tuple({record.d_layouts})",
            "type_extra": f"tuple({','.join(further)})",
        }
    if catalog.variant == "bwd_weight" and record.streamk_enabled:
        values["streamk_reduction_strategy"] = _spelled(_REDUCTIONS, record, "streamk_reduction_strategy")
    try:
        return render(kernel, values)
    except StringError as exc:
        raise InputError(f"instance {record.id}: {exc.message}") from None


def _type(text: str | None) -> DataType | None:
    return DataType(text) if text else None


def _spelled(words: Mapping[str, str], record: CatalogRecord, name: str) -> str:
    value = getattr(record, name)
    if value not in words:
        spellings = ", ".join(words)
        raise InputError(f"instance {record.id}: {name} {value!r} has no native form (known: {spellings})")
    return words[value]


def _layout(catalog: Catalog) -> ConvLayout:
    """Return the layout of a catalog of one of these families, which are all of convolutions."""
    return cast("ConvLayout", catalog.layout)
