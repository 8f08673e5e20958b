"""The names of GEMM kernels, and what these or the fields of instances say of their times.

A name identifies a kernel for people and for files. It is written here; names of tables of measured times are
read as far as they tell something, since what a kernel of ckprof is travels as data beside its name.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.gemm_work import KernelTraits, Reduction, Schedule
from ckprof.model.kernel import KEPT
from ckprof_plugins.pipelines.vocabulary import (
    GEMM_PIPELINE_ALIASES,
    ChannelPadding,
    Epilogue,
    GemmPipeline,
    Scheduler,
    SmemBuffering,
    Specialization,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ckprof.model.kernel import NamePart
    from ckprof_plugins.pipelines.gemm_instance import GemmInstance


#: Vector sizes that a name leaves out.
DEFAULT_VECTOR_SIZES = (4, 8, 8)


#: how much parts of names tell (see :meth:`ckprof.plugin.protocols.Pipeline.name_parts`): what is computed,
#: and whatever the next ones do not name
HEAD, OTHER = 5, 6
#: the same of fields of all kernels of matrix products
_TELLING: Final = {
    **{"epilogue": 1, "scheduler": 2, "mma_tile": 3, "wave_grid": 4},
    **{"gemm_pipeline": KEPT, "tile": KEPT + 1},
}


def parts_of(rank: int, **texts: str) -> list[NamePart]:
    """Return parts that tell equally much; without those that are empty.

    :param texts: field -> text.
    """
    return [(rank, field, text) for field, text in texts.items() if text]


def field_parts(instance: Any, *fields: str) -> list[NamePart]:
    """Return the parts that are fields of kernels of matrix products."""
    values = ((field, getattr(instance, field)) for field in fields)
    return [(_TELLING[name], name, str(getattr(value, "value", value))) for name, value in values]


def joined(parts: Iterable[NamePart]) -> str:
    """Return the name that has these parts."""
    return "_".join(text for *_, text in parts)


def gemm_name_parts(
    instance: GemmInstance, *, two_stage: bool = False, stream_k: str = ""
) -> tuple[NamePart, ...]:
    """Return the parts of the name of an instance's kernel, a C++ identifier.

    Every value that distinguishes two kernels is in the name; those that have their usual value are omitted.
    All families are named by the same rule.

    :param two_stage: a second kernel converts the sums.
    :param stream_k: how a stream-K kernel reduces, e.g. ``tree`` or ``tree_persistent``; empty for others.
    """
    i = instance
    vectors = "vec{}_{}_{}".format(*i.vector_sizes) if i.vector_sizes != DEFAULT_VECTOR_SIZES else ""
    words = i.specialization.value.split("_") if i.specialization is not Specialization.DEFAULT else ()
    specialization = {f"specialization_{number}": word for number, word in enumerate(words)}
    return (
        *parts_of(HEAD, direction=f"grouped_conv_{i.direction}", dtype=i.dtype.value),
        *parts_of(HEAD, layout=i.layout.name.lower(), ndim=f"{i.ndim}d"),
        *field_parts(i, "gemm_pipeline", "epilogue", "scheduler", "tile", "wave_grid", "mma_tile"),
        *parts_of(
            OTHER,
            vector_size=vectors,
            num_wave_groups=f"wg{i.num_wave_groups}" if i.num_wave_groups != 1 else "",
            num_groups_to_merge=f"gm{i.num_groups_to_merge}" if i.num_groups_to_merge != 1 else "",
            double_smem_buffer=DOUBLE_BUFFER_MARK if i.double_smem_buffer else "",
            store_immediate="si" if i.store_immediate else "",
            two_stage=TWO_STAGE_MARK if two_stage else "",
            **specialization,
            explicit_gemm="explicit_gemm" if i.explicit_gemm else "",
            strategy=f"streamk_{stream_k}" if stream_k else "",
            split_image="large_tensor" if i.split_image else "",
            fold_stride="folded" if i.fold_stride else "",
            channel_padding=f"padded_{i.channel_padding.value}" if i.channel_padding else "",
            compute_type=i.compute_type.value if i.compute_type else "",
            elementwise_op=i.elementwise_op.value if i.elementwise_op else "",
            d_layouts=f"d{i.d_layouts.replace(',', '_')}" if i.d_layouts else "",
            dtype_b=f"b{i.dtype_b.value}" if i.dtype_b else "",
            dtype_result=f"c{i.dtype_result.value}" if i.dtype_result else "",
            d_dtypes=f"d{i.d_dtypes.replace(',', '_')}" if i.d_dtypes else "",
            pad="" if all(i.pads) else "pad" + "".join(str(int(pad)) for pad in i.pads),
        ),
    )


#: Three sizes, as kernel names write tiles, wave grids and MMA tiles.
_SIZES: Final = re.compile(r"(?<![0-9x])(\d+)x(\d+)x(\d+)(?![0-9x])")
#: Words of kernel names: two buffers in local memory, parts of the reduction that meet in a workspace.
DOUBLE_BUFFER_MARK: Final = "dsb"
TWO_STAGE_MARK: Final = "2stage"
#: what three sizes are, in the order of kernel names
_SIZE_FIELDS: Final = ("tile", "wave_grid", "mma_tile")
_PIPELINES: Final = {**{pipeline.value: pipeline for pipeline in GemmPipeline}, **GEMM_PIPELINE_ALIASES}


def _either(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


#: a GEMM pipeline, not within a longer word
_PIPELINE: Final = re.compile(rf"(?<![a-z])(?:{_either(_PIPELINES)})(?![a-z0-9])")

#: A part of a name, named for the field of instances that it tells. ``si`` stands in upstream's table of
#: variants, whose comment calls it "store immediate"; the code generator has no such switch, so it is a fact
#: of the name alone.
_PART: Final = re.compile(
    "(?:^|_)(?:"
    + "|".join(
        (
            rf"(?P<gemm_pipeline>{_either(_PIPELINES)})",
            rf"(?P<epilogue>{_either(epilogue.value for epilogue in Epilogue)})",
            rf"(?P<scheduler>{_either(scheduler.value for scheduler in Scheduler)})",
            rf"(?P<specialization>{_either(one.value for one in Specialization if one.value != 'default')})",
            r"(?P<sizes>\d+x\d+x\d+)",
            r"v(?:ec)?(?P<vectors>\d+_\d+_\d+)",
            r"wg(?P<num_wave_groups>\d+)",
            r"gm(?P<num_groups_to_merge>\d+)",
            rf"(?P<double_smem_buffer>{DOUBLE_BUFFER_MARK})",
            r"(?P<store_immediate>si)",
            rf"(?P<two_stage>{TWO_STAGE_MARK})",
            r"(?P<explicit_gemm>explicit_gemm)",
            r"streamk_(?P<strategy>tree|linear)(?P<persistent>_persistent)?",
            r"(?P<split_image>large_tensor)",
            r"(?P<fold_stride>folded)",
            rf"padded_(?P<channel_padding>{_either(padding.value for padding in ChannelPadding)})",
        )
    )
    + ")(?=_|$)"
)
#: parts whose text is the value; others are numbers, or are there or not
_TEXTS: Final = frozenset({"epilogue", "scheduler", "specialization", "strategy", "channel_padding"})


def gemm_traits(
    fields: Mapping[str, Any],
    *,
    schedule: Schedule = Schedule.TILES,
    reduction: Reduction = Reduction.ATOMIC,
) -> KernelTraits:
    """Return the traits of an instance of a convolution.

    :param fields: see :meth:`ckprof.model.instance.Instance.fields`.
    """
    named = ("compute_type", "elementwise_op", "channel_padding")
    rounded = tuple(fields[name] for name in named if name in fields)
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
    named = _PIPELINE.findall(name.lower())
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

    :param name: as :func:`traits_of_name` takes it; wave grid and MMA tile follow the block tile, the other
        parts stand anywhere.
    :returns: ``None`` if the name has no block tile or no GEMM pipeline; see :func:`parts_of_name`.
    """
    return None if traits_of_name(name) is None else parts_of_name(name.lower())[0]


def parts_of_name(text: str) -> tuple[dict[str, Any], str]:
    """Return the fields that the parts of a name tell, in any order, and what of the text is no such part.

    Fields that are there or not are true where the name has them, but for ``double_smem_buffer``, which every
    name decides.
    """
    fields: dict[str, Any] = {"double_smem_buffer": False}
    sizes = iter(_SIZE_FIELDS)

    def read(part: re.Match[str]) -> str:
        for name, value in part.groupdict().items():
            if value is None:
                continue
            if name == "gemm_pipeline":
                fields[name] = _PIPELINES[value].value
            elif name == "vectors":
                numbers = map(int, value.split("_"))
                fields.update(
                    (f"vector_size_{operand}", size) for operand, size in zip("abc", numbers, strict=True)
                )
            elif name == "sizes":
                prefix = next(sizes, None)
                if prefix is None:
                    return part[0]
                fields.update(
                    (f"{prefix}_{axis}", int(size))
                    for axis, size in zip("mnk", value.split("x"), strict=True)
                )
            elif name in _TEXTS:
                fields[name] = value
            else:
                fields[name] = int(value) if value.isdecimal() else True
        return ""

    return fields, _PART.sub(read, text)
