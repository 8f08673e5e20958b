"""Lines of the old library's lists of plain matrix products.

They print neither types nor the vector width of the result. What they say of the operands' vector widths is
compared with what the kernels choose: a catalog leaves the widths to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import BLOCK_SIZE, MMA, REPEATS, SHUFFLE, TILE, Field, number, unread_all
from ckprof_converters.conf_family import LOST, ConfFamily, StepError
from ckprof_converters.derivation import WAVE_SIZE
from ckprof_converters.drop_rules import DropRule, dropped_by
from ckprof_plugins.elementwise.operation import STORED_AS_IT_IS
from ckprof_plugins.operations.gemm.problem import GEMM_TYPES, LAYOUTS
from ckprof_plugins.pipelines.universal_gemm.reading import VARIANT, UniversalGemmRecord
from ckprof_plugins.pipelines.vocabulary import mem_prefetch_stages

if TYPE_CHECKING:
    from ckprof.model.conversion import ListReading
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType

#: version of the old block-GEMM pipeline -> GEMM pipeline of plain matrix products
PIPELINES: Final = {"v1": "compv1", "v2": "mem", "v3": "compv3", "v4": "compv4", "v5": "compv5"}
#: version -> tiles that are loaded ahead; that of v2 depends on the tile
_PREFETCH: Final = {"v1": 1, "v3": 2, "v4": 4, "v5": 3}
_FIXED: Final[dict[str, Any]] = {
    "epilogue": "cshuffle",
    "persistent": False,
    **{f"vector_size_{letter}": 0 for letter in "abc"},
    "elementwise_op": STORED_AS_IT_IS,
    "num_d_tensors": 0,
    "batched": UNSET,
    "has_version": True,
}

_COMMON: Final[dict[str, Any]] = {
    "direction": "gemm",
    "variant": VARIANT,
    "record_type": UniversalGemmRecord,
    "layouts": LAYOUTS,
    "dtypes": GEMM_TYPES,
    "separator": ", ",
    "fixed": _FIXED,
}


def joined_numbers(values: dict[str, Any], properties: ListReading) -> None:
    """Take numbers that are joined by ``x`` apart."""
    values["tile_m"], values["tile_n"], values["tile_k"] = values["tile"]
    values["mma_m"], values["mma_n"] = values["mma"]
    values["repeat_m"], values["repeat_n"] = values["repeat"]


def pads_of_padding(values: dict[str, Any], properties: ListReading) -> None:
    """Read which axes are padded, e.g. m and n by ``MNPadding``."""
    text = values["padding"]
    letters = "" if text == "Default" else text.removesuffix("Padding")
    for axis in "mnk":
        values[f"pad_{axis}"] = axis.upper() in letters


def gemm_pipeline(values: dict[str, Any], properties: ListReading) -> None:
    """Translate the version of the block-GEMM pipeline."""
    values["pipeline"] = PIPELINES[values["version"]]


def oldest_gemm_pipeline(values: dict[str, Any], properties: ListReading) -> UnmetRequirement | None:
    """Translate the pipeline of the oldest kernels, of which only the first version has a counterpart."""
    if values["version"] != "v1":
        return dropped_by(
            DropRule.UNSUPPORTED_FAMILY,
            f"pipeline {values['version']} of the oldest kernels loads two tiles ahead in a way of its own",
        )
    values["pipeline"] = PIPELINES["v1"]
    return None


def one_wave_along_k(values: dict[str, Any], properties: ListReading) -> None:
    """Insist on one wave along K, by the block size."""
    if values["warp_k"] != 1:
        m, n = values["warp_m"], values["warp_n"]
        raise StepError(
            f"block size {values['block_size']} is not {WAVE_SIZE} x {m} x {n}, the lanes of {m}x{n} waves",
            "block_size",
        )


def usual_prefetch(values: dict[str, Any], properties: ListReading) -> None:
    """Note another depth than the one that the pipeline has."""
    usual = _PREFETCH.get(values["version"]) or _mem_stages(values, properties)
    if values["prefetch"] != usual:
        values.setdefault(LOST, []).append(
            f"BlkGemmPipelinePrefetchStages {values['prefetch']}, the kernel has {usual}"
        )


def _mem_stages(values: dict[str, Any], properties: ListReading) -> int:
    _, dtype = _layout_and_type(properties)
    elements: int = (values["tile_m"] + values["tile_n"]) * values["tile_k"]
    stage_bytes = elements * dtype.properties.size_bytes
    return mem_prefetch_stages(stage_bytes, values["block_size"])


def native_reads(values: dict[str, Any], properties: ListReading) -> None:
    """Note other widths of the operands' accesses than those that the kernel chooses."""
    said = values["vectors"] if "vectors" in values else (values["vector_a"], values["vector_b"])
    native = _native(values, properties)[:2]
    if said != native:
        texts = ["x".join(map(str, pair)) for pair in (said, native)]
        values.setdefault(LOST, []).append(f"VmemReadVec {texts[0]}, the kernel has {texts[1]}")


def _native(values: dict[str, Any], properties: ListReading) -> tuple[int, int, int]:
    layout, dtype = _layout_and_type(properties)
    _, *names = UniversalGemmRecord.__struct_fields__
    record = UniversalGemmRecord(id=0, **{name: values[name] for name in names})
    # The tables are loaded for every list, the kernels for lists of matrix products alone.
    from ckprof_plugins.pipelines.universal_gemm.reading import instance_of, native_vectors

    return native_vectors(instance_of(record, layout, dtype, _COMMON["direction"]), WAVE_SIZE)


def _layout_and_type(properties: ListReading) -> tuple[Layout, DataType]:
    if properties.layout is None or properties.dtype is None:
        raise StepError("what the kernel does depends on layout and data type: pass --layout and --dtype", "")
    return properties.layout, properties.dtype


_SHAPE_STEPS: Final = ("square-mma", "waves", one_wave_along_k, "short-mma-k")

FAMILIES: Final = (
    ConfFamily(
        id="gemm_universal",
        title="universal GEMM",
        names=("DeviceGemmXdlUniversal",),
        inside=2,
        fields=(
            Field("padding", kinds.GEMM_PADDING),
            Field("orders", kinds.MATRIX_ORDERS),
            Field("block_size", kinds.POSITIVE, label="BlkSize"),
            Field("tile", kinds.extents(3), label="BlkTile"),
            Field("mma", kinds.extents(2), label="WaveTile"),
            Field("repeat", kinds.extents(2), label="WaveMap"),
            Field("vectors", kinds.extents(2), label="VmemReadVec"),
            Field("scheduler", kinds.SCHEDULER, label="BlkGemmPipelineScheduler"),
            Field("version", kinds.VERSION, label="BlkGemmPipelineVersion"),
            Field("prefetch", kinds.POSITIVE, label="BlkGemmPipelinePrefetchStages"),
        ),
        layout_name_field="orders",
        steps=(joined_numbers, pads_of_padding, gemm_pipeline, *_SHAPE_STEPS, usual_prefetch, native_reads),
        note="universal GEMM lines do not print K1 and the vector width of the result: warp_tile_k follows "
        "from the MMA tile, vector widths are left to the kernel",
        **_COMMON,
    ),
    ConfFamily(
        id="gemm_oldest",
        title="GEMM of the oldest kind",
        names=("DeviceGemm_Xdl_CShuffle",),
        inside=15,
        fields=(
            Field("padding", kinds.GEMM_PADDING),
            BLOCK_SIZE,
            *TILE,
            *unread_all(kinds.POSITIVE, "k1_a", "k1_b"),
            *MMA,
            *REPEATS,
            number("vector_a"),
            number("vector_b"),
            *SHUFFLE,
            Field("scheduler", kinds.LOOP_SCHEDULER, label="LoopScheduler"),
            Field("version", kinds.VERSION, label="PipelineVersion"),
        ),
        steps=(pads_of_padding, oldest_gemm_pipeline, *_SHAPE_STEPS, native_reads),
        **_COMMON,
    ),
)
