"""From the arguments of a line to the fields of a GEMM record: the steps that families name.

Lines of the old library state the block size, the tile, the MMA tile and its repeats; a record states the
waves instead. All steps work on one dictionary that starts with the arguments and the fixed values.
"""

from __future__ import annotations

import math
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.conversion import ListReading
from ckprof.model.types import SHARED_TYPES, ComputeType, DataType, TypeSet, accumulator_of
from ckprof_converters.conf_family import Step, StepError
from ckprof_converters.drop_rules import DropRule, dropped_by
from ckprof_plugins.directions._convolution import string_kinds
from ckprof_plugins.elementwise.operations import PLAIN_OPERATIONS
from ckprof_plugins.pipelines.vocabulary import GemmPipeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ckprof.model.requirement import UnmetRequirement


#: lanes of a wave; the old library's lists are for GPUs with 64
WAVE_SIZE: Final = 64

#: K extents of the MMA tiles of the 32-bit type, (for 32-wide, for all others)
FLOAT_MMA_K: Final = (2, 4)

#: the same of types of 8 bits: one instruction, whatever K1 is
BYTE_MMA_K: Final = (16, 32)
_BYTES: Final = frozenset({DataType.FP8, DataType.BF8, DataType.INT8})

#: version of the old block-GEMM pipeline -> GEMM pipeline; the old fifth lives on as CK Tile's sixth
PIPELINES: Final = MappingProxyType(
    {"v1": "compv1", "v2": "mem", "v3": "compv3", "v4": "compv4", "v5": "compv6", "v6": "compv6"}
)
#: the same where global memory is loaded directly to LDS
DIRECT_PIPELINES: Final = MappingProxyType({"v1": "basic_async_v1", "v4": "mem"})


def _is_single(properties: ListReading) -> bool:
    return properties.dtype is DataType.FP32


def square_mma(values: dict[str, Any], properties: ListReading) -> None:
    """Insist on square MMA tiles, the only ones that CK Tile's kernels have."""
    mma_m, mma_n = values["mma_m"], values["mma_n"]
    if mma_m != mma_n:
        raise StepError(f"the MMA tile must be square, got {mma_m}x{mma_n}", "mma_n")


_AXES: Final = tuple(
    (axis, *(f"{name}_{axis}" for name in ("tile", "mma", "repeat", "warp", "warp_tile"))) for axis in "mn"
)


def waves(values: dict[str, Any], properties: ListReading) -> None:
    """Derive the grid of waves from block size, tile, MMA tile and repeats."""
    for axis, tile_key, mma_key, repeat_key, warp_key, warp_tile_key in _AXES:
        mma = values[mma_key]
        count, rest = divmod(values[tile_key], mma * values[repeat_key])
        if rest or not count:
            raise _uneven(values, axis)
        values[warp_key] = count
        values[warp_tile_key] = mma
    warp_m, warp_n, block_size = values["warp_m"], values["warp_n"], values["block_size"]
    lanes = WAVE_SIZE * warp_m * warp_n
    warp_k, rest = divmod(block_size, lanes)
    if rest or not warp_k:
        raise StepError(
            f"block size {block_size} is not a multiple of {lanes}, the lanes of {warp_m}x{warp_n} waves",
            "block_size",
        )
    values["warp_k"] = warp_k


def _uneven(values: dict[str, Any], axis: str) -> StepError:
    tile, mma, repeat = values[f"tile_{axis}"], values[f"mma_{axis}"], values[f"repeat_{axis}"]
    return StepError(
        f"tile_{axis} {tile} is not a multiple of {mma} x {repeat} (MMA tile x repeats per wave)",
        f"tile_{axis}",
    )


def mma_k(values: dict[str, Any], properties: ListReading) -> None:
    """Derive the K extent of the MMA tile from K1, at least that of one instruction, at most the tile."""
    if properties.dtype in _BYTES:
        extent = BYTE_MMA_K[0] if values["mma_m"] == 32 else BYTE_MMA_K[1]
        values["warp_tile_k"] = min(extent, values["tile_k"])
        return
    table = FLOAT_MMA_K if _is_single(properties) else properties.mma_k_table
    least = table[0] if values["mma_m"] == 32 else table[1]
    values["warp_tile_k"] = min(max(values["k1"], least), values["tile_k"])


def compute_type(values: dict[str, Any], properties: ListReading) -> None:
    """Keep the type that products are computed in where operands are rounded to it."""
    kept = compute_type_of(values["compute_type_a"], values["compute_type_b"], properties.dtype)
    if kept is not None:
        values["compute_type"] = kept


def short_mma_k(values: dict[str, Any], properties: ListReading) -> None:
    """Choose the K extent of the MMA tile for short lines, which do not print K1."""
    wide = values["mma_m"] == 32
    if not _is_single(properties):
        extent = properties.mma_k_table[0] if wide else properties.mma_k_table[1]
    else:
        extent = 4 if wide and not values["has_version"] else 8
    values["warp_tile_k"] = min(extent, values["tile_k"])


def pipeline_of_version(values: dict[str, Any], properties: ListReading) -> UnmetRequirement | None:
    """Translate the version of the old pipeline."""
    version = values["version"]
    if values["direct_load"]:
        pipeline = DIRECT_PIPELINES.get(version)
        if pipeline is None:
            return dropped_by(
                DropRule.UNSUPPORTED_DIRECT_LOAD,
                f"CK Tile loads directly with {' and '.join(DIRECT_PIPELINES)} only, not with {version}",
            )
        values["pipeline"] = pipeline
    else:
        values["pipeline"] = PIPELINES[version]
    values["double_smem_buffer"] = version == "v4"
    return None


def k_from_k0(values: dict[str, Any], properties: ListReading) -> None:
    """Multiply K0 and K1, which plain backward weight prints instead of the K extent."""
    values["tile_k"] = values["k0"] * values["k1"]


def same_k1(values: dict[str, Any], properties: ListReading) -> None:
    """Take K1 of backward data, which both operands agree about.

    In factories with an element-wise operation some kernels have two of them: the matrix instruction is
    fed by packs of their least common multiple.
    """
    if values["k1"] != values["k1_b"]:
        if values.get("elementwise_op"):
            values["k1"] = math.lcm(values["k1"], values["k1_b"])
            return
        raise StepError(f"K1 of both operands must agree, got {values['k1']} and {values['k1_b']}", "k1_b")


def explicit_shapes(values: dict[str, Any], properties: ListReading) -> None:
    """Take the joined numbers of an explicit-GEMM line apart."""
    values["tile_m"], values["tile_n"], values["tile_k"] = values["tile"]
    values["mma_m"], values["mma_n"] = values["mma"]
    values["repeat_m"], values["repeat_n"] = values["repeat"]
    values["k1"] = min(values["k1_pair"])
    values["vector_size_a"], values["vector_size_b"], values["vector_size_c"] = values["vectors"]


def explicit_two_stage(values: dict[str, Any], properties: ListReading) -> None:
    """Explicit GEMM in a half type needs a second stage where the result cannot be stored in pairs."""
    values["two_stage"] = not _is_single(properties) and values["vector_size_c"] % 2 == 1


def regular_vectors(values: dict[str, Any], properties: ListReading) -> UnmetRequirement | None:
    """Drop a vector width that is neither 1 nor even."""
    for operand in "abc":
        width = values[f"vector_size_{operand}"]
        if width != 1 and width % 2:
            return dropped_by(
                DropRule.IRREGULAR_VECTOR, f"vector_size_{operand} is {width}, neither 1 nor even"
            )
    return None


def coverage_of_mn(values: dict[str, Any], properties: ListReading) -> UnmetRequirement | None:
    """Drop a tile that one wave cannot load in one go along M or N."""
    return _coverage(values, "tile_m")


def coverage_of_kn(values: dict[str, Any], properties: ListReading) -> UnmetRequirement | None:
    """Drop a tile that one wave cannot load in one go along K or N."""
    return _coverage(values, "tile_k")


def _coverage(values: dict[str, Any], first: str) -> UnmetRequirement | None:
    for tile, vector in ((first, "vector_size_a"), ("tile_n", "vector_size_b")):
        reach = WAVE_SIZE * values[vector]
        if values[tile] > reach:
            return dropped_by(
                DropRule.ONE_WAVE_COVERAGE,
                f"{tile} {values[tile]} exceeds {reach}, what one wave loads with {vector} {values[vector]}",
            )
    return None


def thread_share(values: dict[str, Any], properties: ListReading) -> UnmetRequirement | None:
    """Drop a vector that is wider than what each thread has to load."""
    threads = WAVE_SIZE * values["warp_m"] * values["warp_n"] * values["warp_k"]
    for tile, vector in (("tile_m", "vector_size_a"), ("tile_n", "vector_size_b")):
        share = values[tile] * values["tile_k"] // threads
        if values[vector] > share:
            return dropped_by(
                DropRule.THREAD_SHARE,
                f"{vector} {values[vector]} exceeds {share}, "
                f"the share of one of {threads} threads in {tile} {values[tile]} x tile_k {values['tile_k']}",
            )
    return None


def stream_k_fields(values: dict[str, Any], properties: ListReading) -> None:
    """Check that the reduction strategy and the persistence are given for stream-K, and only then."""
    given = values["streamk_reduction_strategy"] is not None
    if values["streamk_enabled"] and not given:
        raise StepError(
            "stream-K is enabled: expected a reduction strategy and a persistence flag (34 arguments)",
            "streamk_enabled",
        )
    if given and not values["streamk_enabled"]:
        raise StepError(
            "stream-K is not enabled: expected no reduction strategy and no persistence flag (32 arguments)",
            "streamk_enabled",
        )


#: key of what a line gives: whether its annotation says the pipeline
PIPELINE_STATED: Final = "pipeline_stated"


def stream_k_float(values: dict[str, Any], properties: ListReading) -> UnmetRequirement | None:
    """Drop stream-K with asynchronous loads of the 32-bit type, as CK Builder does.

    CK Tile's own rule sets have such kernels: lines that ckprof wrote for them say so in an annotation.
    """
    # COMPUTE_ASYNC is asynchronous too, though catalogs have no name of their own for it.
    asynchronous = values["pipeline_name"] in ("BASIC_ASYNC_V1", "COMPUTE_ASYNC")
    if (
        values["streamk_enabled"]
        and _is_single(properties)
        and asynchronous
        and not values.get(PIPELINE_STATED)
    ):
        return dropped_by(
            DropRule.STREAM_K_ASYNC_FLOAT,
            f"stream-K with {values['pipeline_name']} does not exist for the 32-bit type",
        )
    return None


def whole_tiles(values: dict[str, Any], properties: ListReading) -> None:
    """Insist on tiles that the waves of a block fill, with one or more MMA tiles each."""
    for axis in "mn":
        tile, count, mma = values[f"tile_{axis}"], values[f"warp_{axis}"], values[f"warp_tile_{axis}"]
        if tile % (count * mma):
            raise StepError(
                f"tile_{axis} {tile} is not a multiple of {count} x {mma} (waves x MMA tile)", f"tile_{axis}"
            )


def native_pipeline(values: dict[str, Any], properties: ListReading) -> None:
    """Translate CK Tile's own name of the pipeline."""
    name = values["pipeline_name"]
    if name not in TILE_PIPELINES:
        raise StepError(
            f"expected one of {', '.join(TILE_PIPELINES)} for pipeline_name, got {name!r}", "pipeline_name"
        )
    values["pipeline"] = TILE_PIPELINES[name]
    values["epilogue"] = GemmPipeline(values["pipeline"]).properties.usual_epilogue.value


def native_two_stage(values: dict[str, Any], properties: ListReading) -> None:
    """Native lines do not print the second stage; half types need it for single-element stores.

    Lines with an operation tell it: what the first stage stores has another type.
    """
    fused = values["operation_result"] not in PLAIN_OPERATIONS and values["type_result"] != values["type_b"]
    values["two_stage"] = (
        not _is_single(properties)
        and not values["streamk_enabled"]
        and (values["vector_size_c"] == 1 or fused)
    )


#: where a catalog does not say what CK Tile calls the pipeline; ``None`` for those that no list may name
_OTHER_PIPELINES: Final[Mapping[str, str | None]] = MappingProxyType(
    {"COMPUTE_ASYNC": "mem", "BASIC_V2": None}
)

#: CK Tile's name of a GEMM pipeline -> what the catalog says
TILE_PIPELINES: Final[Mapping[str, str]] = MappingProxyType(
    {
        name: pipeline
        for name, usual in string_kinds.PIPELINES.items()
        if (pipeline := _OTHER_PIPELINES.get(name, usual)) is not None
    }
)


def missing(*names: str) -> Step:
    """Return a step that drops every line, since nothing says these values."""

    def not_printed(values: dict[str, Any], properties: ListReading) -> UnmetRequirement:
        """Drop a line that does not say all that a record needs."""
        verb = "is" if len(names) == 1 else "are"
        return dropped_by(
            DropRule.MISSING_INFORMATION,
            f"{', '.join(names)} {verb} not printed in this form, and follow"
            f"{'s' * (len(names) == 1)} from nothing that is; use the full instance strings",
        )

    return not_printed


#: Steps by the names that families use.
STEPS: Final = MappingProxyType[str, Step](
    {
        step.__name__.replace("_", "-"): step
        for step in (
            square_mma,
            waves,
            mma_k,
            compute_type,
            short_mma_k,
            pipeline_of_version,
            k_from_k0,
            same_k1,
            explicit_shapes,
            explicit_two_stage,
            regular_vectors,
            coverage_of_mn,
            coverage_of_kn,
            thread_share,
            stream_k_fields,
            stream_k_float,
            whole_tiles,
            native_pipeline,
            native_two_stage,
        )
    }
)


_COMPUTE_TYPE: Final = "compute_type_"
_ACCUMULATOR: Final = "type_accumulator"
_RESULT: Final = "type_result"
_NAMES: Final = frozenset({_ACCUMULATOR, _RESULT})
#: fields that decide what is lost, beside those that it is lost of
_ASKED: Final = (f"{_COMPUTE_TYPE}a", f"{_COMPUTE_TYPE}b", "compute_type", "type_b")

#: compute type of a line, where catalogs have a word for it -> type of the operands
_MADE_FROM: Final = MappingProxyType({kind.value: kind.operands for kind in ComputeType})


def fields_apart(names: Iterable[str]) -> tuple[str, ...]:
    """Return those of a line's fields that say something which its record may not be able to hold."""
    return tuple(name for name in names if name.startswith(_COMPUTE_TYPE) or name in _NAMES)


def compute_type_of(first: str, second: str, dtype: DataType | None) -> str | None:
    """Return what a catalog says of the types in which products are computed; ``None`` for nothing."""
    made_from = _MADE_FROM.get(first)
    return first if first == second and made_from is not None and dtype is made_from else None


def lost_fields(
    names: Iterable[str], values: Mapping[str, Any], dtype: DataType | None, *, two_stage: bool
) -> Mapping[str, tuple[str, str, str]]:
    """Return what a line says that its record does not: field -> id of a rule, what is said, what is kept.

    The first is stable, the second for messages, the third what the kernel has instead, as strings spell it.

    :param names: those of :func:`fields_apart`.
    :param values: of the line, by the names of its fields.
    :param dtype: of the operands; ``None`` if nothing says it.
    :param two_stage: the generated kernel has a second stage, so that its first one stores fp32.
    """
    if dtype is None:
        return {}
    names = tuple(names)
    said = tuple((name, values[name]) for name in (*names, *_ASKED) if name in values)
    return _lost_of(names, said, dtype, two_stage)


# lines of a list say few different things of their types
@lru_cache
def _lost_of(
    names: tuple[str, ...], said_of_all: tuple[tuple[str, Any], ...], dtype: DataType, two_stage: bool
) -> Mapping[str, tuple[str, str, str]]:
    values: dict[str, Any] = dict(said_of_all)
    lost = {}
    for name in names:
        said = values.get(name)
        if said is None:
            continue
        if name.startswith(_COMPUTE_TYPE):
            first, second = (values.get(f"{_COMPUTE_TYPE}{letter}", dtype.spelled) for letter in "ab")
            own = values.get("type_b") if name.endswith("b") and dtype not in SHARED_TYPES else None
            own = own or dtype.spelled
            kept = values.get("compute_type") or compute_type_of(first, second, dtype) or own
            if said not in (own, kept):
                lost[name] = "compute-type", f"{name} {said} of {own} operands", kept
        elif dtype in SHARED_TYPES:
            shared = TypeSet.shared(dtype)
            kept = (shared.acc if name == _ACCUMULATOR or two_stage else shared.result).value
            if said not in (kept, shared.result.value if name == _RESULT else kept):
                rule = "accumulator" if name == _ACCUMULATOR else "result-type"
                lost[name] = rule, f"{name} {said} of {dtype.value} operands", kept
        elif name == _ACCUMULATOR and said != (kept := accumulator_of(dtype).spelled):
            lost[name] = "accumulator", f"{name} {said} of {dtype.value} operands", kept
    return lost
