"""The names of GEMM kernels, and what these or the fields of instances say of their times.

A name identifies a kernel for people and for files. It is written here; names of tables of measured times are
read as far as they tell something, since what a kernel of ckprof is travels as data beside its name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.gemm_work import KernelTraits, Reduction, Schedule
from ckprof_plugins.pipelines.vocabulary import (
    GEMM_PIPELINE_ALIASES,
    GemmPipeline,
    SmemBuffering,
    Specialization,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof_plugins.pipelines.gemm_instance import GemmInstance


#: Vector sizes that a name leaves out.
DEFAULT_VECTOR_SIZES = (4, 8, 8)


def gemm_kernel_name(instance: GemmInstance, *, two_stage: bool = False, stream_k: str = "") -> str:
    """Return the name of an instance's kernel, a C++ identifier.

    Every value that distinguishes two kernels is in the name; those that have their usual value are left out.
    All families are named by the same rule.

    :param two_stage: a second kernel converts the sums.
    :param stream_k: how a stream-K kernel reduces, e.g. ``tree`` or ``tree_persistent``; empty for others.
    """
    i = instance
    sizes = (i.tile, i.wave_grid, i.mma_tile)
    parts = (
        f"grouped_conv_{i.direction}_{i.dtype.value}_{i.layout.name.lower()}_{i.ndim}d",
        f"_{i.gemm_pipeline.value}_{i.epilogue.value}_{i.scheduler.value}",
        *(f"_{extent}" for extent in sizes),
        "_vec{}_{}_{}".format(*i.vector_sizes) if i.vector_sizes != DEFAULT_VECTOR_SIZES else "",
        f"_wg{i.num_wave_groups}" if i.num_wave_groups != 1 else "",
        f"_gm{i.num_groups_to_merge}" if i.num_groups_to_merge != 1 else "",
        "_dsb" if i.double_smem_buffer else "",
        "_2stage" if two_stage else "",
        f"_{i.specialization.value}" if i.specialization is not Specialization.DEFAULT else "",
        "_explicit_gemm" if i.explicit_gemm else "",
        f"_streamk_{stream_k}" if stream_k else "",
        "_large_tensor" if i.split_image else "",
        "_folded" if i.fold_stride else "",
        f"_{i.compute_type.value}" if i.compute_type else "",
        f"_{i.elementwise_op.value}" if i.elementwise_op else "",
        f"_d{i.d_layouts.replace(',', '_')}" if i.d_layouts else "",
        f"_b{i.dtype_b.value}" if i.dtype_b else "",
        f"_c{i.dtype_result.value}" if i.dtype_result else "",
        f"_d{i.d_dtypes.replace(',', '_')}" if i.d_dtypes else "",
        "" if all(i.pads) else "_pad" + "".join(str(int(pad)) for pad in i.pads),
    )
    return "".join(parts)


#: Three sizes, as kernel names write tiles, wave grids and MMA tiles.
_SIZES: Final = re.compile(r"(?<![0-9x])(\d+)x(\d+)x(\d+)(?![0-9x])")
#: Words of kernel names: two buffers in local memory, parts of the reduction that meet in a workspace.
DOUBLE_BUFFER_MARK: Final = "dsb"
TWO_STAGE_MARK: Final = "2stage"
#: what three sizes are, in the order of kernel names
_SIZE_FIELDS: Final = ("tile", "wave_grid", "mma_tile")
_VECTORS: Final = re.compile(r"_v(?:ec)?(\d+)_(\d+)_(\d+)(?!\d)")
_MERGED: Final = re.compile(r"_gm(\d+)(?![0-9a-z])")
_SCHEDULERS: Final = frozenset({"intrawave", "interwave"})
_WORD: Final = re.compile(r"basic_v[12](?![0-9])|[a-z][a-z0-9]*(?:_async_v1|_async)?")
_PIPELINES: Final = {**{pipeline.value: pipeline for pipeline in GemmPipeline}, **GEMM_PIPELINE_ALIASES}
#: Word of names in upstream's table of variants. Its comment calls it "store immediate"; the code generator
#: has no such switch, so it is a fact of the name alone.
STORE_IMMEDIATE_MARK: Final = "si"


def gemm_traits(
    fields: Mapping[str, Any],
    *,
    schedule: Schedule = Schedule.TILES,
    reduction: Reduction = Reduction.ATOMIC,
) -> KernelTraits:
    """Return the traits of an instance of a convolution.

    :param fields: see :meth:`ckprof.model.instance.Instance.fields`.
    """
    rounded = tuple(fields[name] for name in ("compute_type", "elementwise_op") if name in fields)
    folded = ("folded",) if fields.get("fold_stride") else ()
    traits = _traits(fields, fields["double_smem_buffer"], (fields["specialization"], *rounded, *folded))
    return replace(traits, schedule=schedule, reduction=reduction)


def product_traits(fields: Mapping[str, Any]) -> KernelTraits:
    """Return the traits of an instance of a plain matrix product.

    :param fields: see :meth:`ckprof.model.instance.Instance.fields`.
    """
    pads = "".join(axis for axis in "mnk" if fields[f"pad_{axis}"])
    kind = "persistent" if fields["persistent"] else "tiles"
    return _traits(fields, False, (fields["epilogue"], kind, pads))


def _traits(fields: Mapping[str, Any], asks_for_two_buffers: bool, labels: tuple[str, ...]) -> KernelTraits:
    """Return what kernels of all operations have.

    :param labels: those that follow the others.
    """

    def sizes(name: str) -> tuple[int, int, int]:
        return fields[f"{name}_m"], fields[f"{name}_n"], fields[f"{name}_k"]

    pipeline = GemmPipeline(fields["gemm_pipeline"])
    double = asks_for_two_buffers or pipeline.properties.buffering is SmemBuffering.DOUBLE
    vectors = ",".join(str(fields[f"vector_size_{operand}"]) for operand in "abc")
    return KernelTraits(
        tile=sizes("tile"),
        lds_stages=max(2 if double else 1, pipeline.properties.lds_stages),
        # two buffers of local memory leave no room for a second workgroup
        workgroups_per_unit=1 if double else 2,
        labels=(
            pipeline.value,
            "x".join(map(str, sizes("wave_grid"))),
            "x".join(map(str, sizes("mma_tile"))),
            vectors,
            fields["scheduler"],
            *labels,
        ),
    )


def traits_of_name(name: str) -> KernelTraits | None:
    """Return the traits that a kernel's name in a table of measured times tells.

    :param name: block tile and GEMM pipeline, such as ``64x64x64_compv3``; more words may surround them.
    :returns: ``None`` if it has not both.
    """
    sizes = _SIZES.search(name)
    named = [word for word in _WORD.findall(name.lower()) if word in _PIPELINES]
    if sizes is None or not named:
        return None
    word = max(named, key=len)
    pipeline = _PIPELINES[word]
    m, n, k = (int(part) for part in sizes.groups())
    if not m * n * k:
        return None
    rest = name.replace(sizes[0], "", 1).replace(word, "", 1).strip("_")
    marks = name.lower().split("_")
    lds_stages = max(2 if DOUBLE_BUFFER_MARK in marks else 1, pipeline.properties.lds_stages)
    return KernelTraits(
        tile=(m, n, k),
        reduction=Reduction.WORKSPACE if TWO_STAGE_MARK in marks else Reduction.ATOMIC,
        lds_stages=lds_stages,
        workgroups_per_unit=1 if lds_stages > 1 else 2,
        labels=(pipeline.value, rest) if rest else (pipeline.value,),
    )


def fields_of_name(name: str) -> dict[str, Any] | None:
    """Return the fields of an instance that a kernel's name in a table of measured times tells.

    :param name: as :func:`traits_of_name` takes it; wave grid and MMA tile follow the block tile, then vector
        widths (``v8_8_8``), and words for scheduler, merged groups, two buffers and "store immediate": no
        instance has that field, the result does where the name has the word.
    :returns: ``None`` if the name has no block tile or no GEMM pipeline.
    """
    traits = traits_of_name(name)
    if traits is None:
        return None
    words = name.lower().split("_")
    fields: dict[str, Any] = {
        "gemm_pipeline": traits.labels[0],
        "double_smem_buffer": DOUBLE_BUFFER_MARK in words,
    }
    for prefix, sizes in zip(_SIZE_FIELDS, _SIZES.findall(name), strict=False):
        fields |= {f"{prefix}_{axis}": int(size) for axis, size in zip("mnk", sizes, strict=True)}
    vectors = _VECTORS.search(name.lower())
    if vectors:
        fields |= {
            f"vector_size_{operand}": int(size) for operand, size in zip("abc", vectors.groups(), strict=True)
        }
    if STORE_IMMEDIATE_MARK in words:
        fields["store_immediate"] = True
    merged = _MERGED.search(name.lower())
    if merged:
        fields["num_groups_to_merge"] = int(merged[1])
    scheduler = next((word for word in words if word in _SCHEDULERS), None)
    return fields if scheduler is None else {**fields, "scheduler": scheduler}
