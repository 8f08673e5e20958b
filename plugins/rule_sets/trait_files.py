"""Trait files of the dispatcher's instance builder: its ten tiles with the values that a file lists.

A file is ``{"variant": "forward", "trait_config": {"pipeline": {"values": ["compv3"]}, ...}}``. A trait that
is not named has its usual values. Every combination becomes a record, tile by tile as in the rule set
``default``. The rules of their pipelines say which of them are valid, and so does the table of the tiles that
``compv4`` has kernels of.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ckprof.errors import InputError
from ckprof.lists.catalogs import decode_json, text_position
from ckprof.lists.list_files import is_json
from ckprof.model.catalog import Catalog
from ckprof.model.conversion import Conversion
from ckprof.model.types import DataType
from ckprof.plugin.protocols import Converter
from ckprof.sanitize import unknown_name
from ckprof_converters.records import GEMM_DEFAULTS, GemmRecord
from ckprof_plugins.pipelines.kernel_name import DEFAULT_VECTOR_SIZES
from ckprof_plugins.pipelines.vocabulary import (
    GEMM_PIPELINE_ALIASES,
    Epilogue,
    GemmPipeline,
    Scheduler,
    SmemBuffering,
    Specialization,
)
from ckprof_plugins.rule_sets.tiles import GEMM_LAYOUTS, ROWS, compv4_defect

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.conversion import ConversionRequest
    from ckprof.model.requirement import UnmetRequirement

#: misspelled ones are named by the error
_MARK: Final = re.compile(rb'"trait\w*"\s*:')

#: variant -> GEMM pipelines where a file names none
VARIANTS: Final[Mapping[str, tuple[str, ...]]] = {
    "forward": ("compv3", "compv4", "compv5"),
    "bwd_data": ("compv3", "mem"),
    "bwd_weight": ("compv3", "mem"),
}


class _TraitFile(msgspec.Struct, forbid_unknown_fields=True):
    """The document. The values of traits are checked one by one, for messages that name their place."""

    variant: str
    trait_config: dict[str, Any]
    #: of no influence
    description: Any = None
    metadata: Any = None


def _tile(row: tuple[Any, ...]) -> dict[str, int]:
    """Return the fields of a record that a row of the table of tiles decides."""
    parts = zip(("tile", "warp", "warp_tile"), row, strict=False)
    return {f"{name}_{axis}": size for name, sizes in parts for axis, size in zip("mnk", sizes, strict=True)}


_TILES: Final = tuple(_tile(row) for row in ROWS)
_NUMBERS: Final = {"num_groups_to_merge": (1, 2, 4, 8, 16, 32), "num_wave_groups": (1, 2, 4)}
_BOTH: Final = (False, True)

#: trait -> the values that it can have
TRAITS: Final[Mapping[str, tuple[str | int | bool, ...]]] = {
    "data_type": tuple(dtype.value for dtype in (DataType.FP16, DataType.BF16, DataType.FP32)),
    "ndim_spatial": (1, 2, 3),
    "layout": tuple(layout.name for layout in GEMM_LAYOUTS.values()),
    "pipeline": (*(pipeline.value for pipeline in GemmPipeline), *GEMM_PIPELINE_ALIASES),
    "scheduler": tuple(scheduler.value for scheduler in Scheduler),
    "epilogue": tuple(epilogue.value for epilogue in Epilogue),
    "double_smem_buffer": _BOTH,
    **_NUMBERS,
    "specialization": tuple(specialization.value for specialization in Specialization),
    **dict.fromkeys(("split_image", "explicit_gemm", "two_stage"), _BOTH),
    # kernels always pad
    **dict.fromkeys(("pad_m", "pad_n", "pad_k"), (True,)),
    **{name: tuple(sorted({tile[name] for tile in _TILES})) for name in _TILES[0]},
    **{f"vector_size_{name}": (size,) for name, size in zip("abc", DEFAULT_VECTOR_SIZES, strict=True)},
}
#: second name of a trait -> its first one
ALIASES: Final = {
    "wave_mode": "scheduler",
    "datatype": "data_type",
    "dtype": "data_type",
    "ndim": "ndim_spatial",
    "gemm_pipeline": "pipeline",
    **{f"wave_{axis}": f"warp_{axis}" for axis in "mnk"},
}
#: traits of which every combination is made of each tile, in the order of the nest
_COMBINED: Final = (
    *("pipeline", "scheduler", "epilogue", "num_groups_to_merge", "num_wave_groups", "double_smem_buffer"),
    *("split_image", "explicit_gemm", "two_stage", "specialization"),
)


class TraitFiles(Converter):
    """Reads trait files."""

    id: Final = "traits"
    label: Final = "trait files of the dispatcher's instance builder"

    def recognises(self, request: ConversionRequest) -> bool:
        """Say yes to JSON documents with a ``trait_config``."""
        return is_json(request.data) and _MARK.search(request.data) is not None

    def convert(self, request: ConversionRequest) -> Conversion:
        """Return one catalog per data type and number of dimensions.

        :raises InputError: the text is no JSON, or a trait or value is unknown.
        """
        try:
            document = decode_json(msgspec.json.Decoder(_TraitFile), request.data, request.path)
        except InputError as error:
            message = f"{error.message}; a trait file of convolutions has variant and trait_config"
            raise InputError(message, error.path, error.line, error.column) from None
        json.loads(request.data.decode("utf-8-sig"), object_pairs_hook=partial(_once, request))
        if document.variant not in VARIANTS:
            message = unknown_name("variant", document.variant, VARIANTS)
            raise _error(request, "variant", f"variant: {message}")
        chosen = _chosen(document, request)
        records, defects = _records(document.variant, chosen)
        catalogs = tuple(
            Catalog(
                variant=document.variant,
                ndim=ndim,
                layout=GEMM_LAYOUTS[ndim],
                dtype=DataType(dtype),
                records=records,
            )
            for dtype, ndim in product(chosen["data_type"], chosen["ndim_spatial"])
            if _asked_for(request, dtype, ndim)
        )
        if not catalogs:
            wanted = [f"--dtype {request.dtype.value}"] if request.dtype else []
            wanted += [f"--layout {request.layout.name}"] if request.layout else []
            raise InputError(f"its traits give no kernel for {' and '.join(wanted)}", request.path)
        return Conversion(
            path=request.path,
            converter=self.id,
            catalogs=catalogs,
            lines=request.data.count(b"\n") + 1,
            defects=defects,
        )


def _once(request: ConversionRequest, pairs: list[tuple[str, Any]]) -> None:
    """Refuse an object that has a key twice, of which the first value would be lost.

    :raises InputError: so it is.
    """
    name, count = next(iter(Counter(name for name, _ in pairs).most_common(1)), ("", 0))
    if count > 1:
        raise _error(request, name, f"{name} stands {count} times in one object: name it once")


def _asked_for(request: ConversionRequest, dtype: str, ndim: int) -> bool:
    right_type = request.dtype is None or request.dtype.value == dtype
    return right_type and (request.layout is None or request.layout.name == GEMM_LAYOUTS[ndim].name)


def _error(request: ConversionRequest, name: str, message: str, value: str = "") -> InputError:
    """Return the error at the place of a key, or of a value behind it."""
    start = request.data.find(json.dumps(name).encode())
    found = request.data.find(value.encode(), start + len(name) + 2) if value else start
    return InputError(message, request.path, *text_position(request.data, found if found >= 0 else start))


def _chosen(document: _TraitFile, request: ConversionRequest) -> dict[str, Any]:
    """Return trait -> its values: those of the file, or the usual ones.

    :raises InputError: a trait or value is unknown, or a trait has no values.
    """
    chosen: dict[str, Any] = {
        **dict.fromkeys(("num_groups_to_merge", "num_wave_groups"), (1,)),
        **dict.fromkeys(("split_image", "explicit_gemm", "two_stage"), (False,)),
        "data_type": TRAITS["data_type"],
        "ndim_spatial": (2,),
        "pipeline": VARIANTS[document.variant],
        "scheduler": (Scheduler.INTRAWAVE.value,),
        # what the pipeline needs
        "epilogue": (None,),
        "double_smem_buffer": (None,),
        "specialization": (Specialization.DEFAULT.value,),
    }
    named: dict[str, str] = {}
    for name, listed in document.trait_config.items():
        trait = ALIASES.get(name, name)
        if trait not in TRAITS:
            raise _error(request, name, unknown_name("trait", name, [*TRAITS, *ALIASES]))
        if trait in named:
            raise _error(request, name, f"{name} and {named[trait]} are the same trait: name it once")
        named[trait] = name
        chosen[trait] = _values(name, trait, listed, request)
    return chosen


def _values(name: str, trait: str, listed: object, request: ConversionRequest) -> list[Any]:
    known = {json.dumps(value): value for value in TRAITS[trait]}
    given: dict[str, Any] = listed if isinstance(listed, dict) else {}
    values = given.get("values")
    example = f'{{"values": [{next(iter(known))}]}}'
    if not isinstance(values, list) or not values:
        raise _error(request, name, f"{name}: expected one or more values, as in {example}")
    further = ", ".join(key for key in given if key != "values")
    if further:
        message = f"{name}: {further} is unknown here, expected values alone, as in {example}"
        raise _error(request, name, message)
    # 1 and true are equal, and no text of JSON is a number
    texts = [json.dumps(value).lower() if isinstance(value, str) else json.dumps(value) for value in values]
    for text in texts:
        if text not in known:
            bare = [item.strip('"') for item in known]
            # a number in quotation marks is named with them: it is not the number that is known
            shown = text if text.strip('"') in bare else text.strip('"')
            raise _error(request, name, unknown_name(f"value of {name}", shown, bare), text)
    return [known[text] for text in dict.fromkeys(texts)]


def _records(
    variant: str, chosen: Mapping[str, Any]
) -> tuple[tuple[GemmRecord, ...], dict[tuple[str, int], UnmetRequirement]]:
    """Return the records of one data type, and what upstream's table of tiles has against them."""
    usual = {name: GEMM_DEFAULTS[name] for name in GemmRecord.__struct_fields__ if name in GEMM_DEFAULTS}
    vectors = {f"vector_size_{name}": size for name, size in zip("abc", DEFAULT_VECTOR_SIZES, strict=True)}
    records: dict[tuple[Any, ...], GemmRecord] = {}
    defects: dict[tuple[str, int], UnmetRequirement] = {}
    for tile, row in zip(_TILES, ROWS, strict=True):
        if any(size not in chosen.get(name, (size,)) for name, size in tile.items()):
            continue
        for combined in product(*(chosen[name] for name in _COMBINED)):
            values = dict(zip(_COMBINED, combined, strict=True))
            pipeline = GEMM_PIPELINE_ALIASES.get(values["pipeline"]) or GemmPipeline(values["pipeline"])
            values["pipeline"] = pipeline.value
            if values["epilogue"] is None:
                values["epilogue"] = pipeline.properties.usual_epilogue.value
            if values["double_smem_buffer"] is None:
                values["double_smem_buffer"] = pipeline.properties.buffering is SmemBuffering.DOUBLE
            number = len(records)
            record = GemmRecord(**{**usual, **tile, **vectors, **values, "id": number})
            if records.setdefault(msgspec.structs.astuple(record)[1:], record) is not record:
                continue
            defect = compv4_defect(row[0]) if pipeline is GemmPipeline.COMPV4 else None
            if defect is not None:
                defects[variant, number] = defect
    return tuple(records.values()), defects
