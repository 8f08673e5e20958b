"""What the old library prints for a kernel of plain matrix products, and which kernel is its successor.

Both are texts of one kind: an old string becomes the fields of the kernel that is generated for it, and a
kernel's name the fields of the old string that it stands for, so that the two can be compared. The way from
an old string to the name is written for that alone; the converter of lists has its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError
from ckprof.model.parity import Loss
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.strings import argument_kinds as kinds
from ckprof.model.strings.fields import unread, unread_all
from ckprof.model.strings.kind import StringKind
from ckprof.model.strings.rendering import StringError
from ckprof.model.types import DataType
from ckprof_converters.drop_rules import DropRule, dropped_by
from ckprof_plugins.operations.gemm.problem import find_layout
from ckprof_plugins.pipelines.universal_gemm.reading import UniversalGemmRecord, instance_of, native_vectors
from ckprof_plugins.pipelines.vocabulary import mem_prefetch_stages

if TYPE_CHECKING:
    from collections.abc import Mapping


UNIVERSAL: Final = "DeviceGemmXdlUniversal"
OLDEST: Final = "DeviceGemm_Xdl_CShuffle"

_LANES: Final = 64
_SPEC: Final = r"(?P<padding>Default|[MNK]{1,3}Padding)"
_N: Final = r"[1-9][0-9]{0,8}"
_UNIVERSAL: Final = re.compile(
    rf"{UNIVERSAL}<{_SPEC}, *(?P<orders>[RC]{{3}})> BlkSize: (?P<block_size>{_N}), "
    rf"BlkTile: (?P<tile>{_N}x{_N}x{_N}), WaveTile: (?P<wave_tile>{_N}x{_N}), "
    rf"WaveMap: (?P<wave_map>{_N}x{_N}), "
    rf"VmemReadVec: (?P<reads>{_N}x{_N}), BlkGemmPipelineScheduler: (?P<scheduler>Intrawave|Interwave), "
    rf"BlkGemmPipelineVersion: (?P<version>v[1-5]), BlkGemmPipelinePrefetchStages: (?P<stages>{_N})"
)
_OLDEST_NUMBERS: Final = (
    *("block_size", "tile_m", "tile_n", "tile_k", "k1_a", "k1_b", "mma_m", "mma_n", "map_m", "map_n"),
    *("read_a", "read_b", "shuffle_m", "shuffle_n"),
)
_OLDEST: Final = re.compile(
    rf"{OLDEST}<{_SPEC}, *"
    + ", *".join(rf"(?P<{name}>{_N})" for name in _OLDEST_NUMBERS)
    + r"> LoopScheduler: (?P<scheduler>Default|Interwave), PipelineVersion: (?P<version>v[12])"
)
_KERNEL: Final = re.compile(
    r"gemm_(?P<dtype>[a-z0-9]+)_(?P<layout>[rc]{3,4})_(?P<pipeline>[a-z0-9_]+?)_(?P<epilogue>cshuffle|default)_"
    r"(?P<scheduler>intrawave|interwave)_(?P<pad_m>True|False)_(?P<pad_n>True|False)_(?P<pad_k>True|False)_"
    rf"(?P<persistent>True|False)_(?P<tile>{_N}x{_N}x{_N})_(?P<grid>{_N}x{_N}x{_N})_(?P<mma>{_N}x{_N}x{_N})"
    r"(?:_vec(?P<vectors>[0-9]+_[0-9]+_[0-9]+))?(?P<variant>_batched|_multid_[A-Za-z]+_d[0-9])?"
)

#: version of the old block-GEMM pipeline -> GEMM pipeline, and tiles loaded ahead; 0 if the tile decides
_VERSIONS: Final = {
    "v1": ("compv1", 1),
    "v2": ("mem", 0),
    "v3": ("compv3", 2),
    "v4": ("compv4", 4),
    "v5": ("compv5", 3),
}
_OF_PIPELINE: Final = {pipeline: version for version, (pipeline, _) in _VERSIONS.items()}

#: what an old string prints, in its order
_PRINTED: Final = (
    *("padding", "orders", "block_size", "tile", "wave_tile", "wave_map", "reads", "scheduler", "version"),
    "stages",
)
#: what it does not print
_UNPRINTED: Final = ("mma_k", "vector_c", "dtype", "epilogue", "persistent", "imposed_vectors", "variant")
#: what only the oldest strings print; kernels have nothing like it
_OLDEST_ONLY: Final = ("k1_a", "k1_b", "shuffle_m", "shuffle_n")

NOT_PRINTED: Final = Loss(
    rule="not-printed",
    reason="the string does not print K1, the vector width of the result and the repeats of the shuffle: the "
    "kernel's follow from its tile",
)
OTHER_ACCESSES: Final = Loss(
    rule="other-accesses",
    reason="the line says other vector widths of the operands or tiles loaded ahead than the kernel has",
)
NO_COUNTERPART: Final = Loss(
    rule="no-counterpart", reason="the kernel has no K1 and no repeats of the shuffle of its own"
)


class OldStrings:
    """The strings of lists and the names of kernels, as one kind."""

    def recognises(self, text: str) -> bool:
        """Say whether a text begins like an old string, or is the name of a kernel."""
        return text.startswith((f"{UNIVERSAL}<", f"{OLDEST}<")) or _KERNEL.fullmatch(text) is not None

    def read(self, text: str) -> Mapping[str, str | None]:
        """Return the fields of either.

        :raises StringError: it is spelled wrong.
        """
        if (match := _KERNEL.fullmatch(text)) is not None:
            return _of_kernel(match.groupdict())
        if (match := _UNIVERSAL.fullmatch(text)) is not None:
            return {**match.groupdict(), **_OLD_ONLY}
        if (match := _OLDEST.fullmatch(text)) is not None:
            return _of_oldest(match.groupdict())
        name = text.partition("<")[0]
        raise StringError(f"this is not a string of {name}: a field is missing, too many or wrong")

    def write(self, values: Mapping[str, str | None]) -> str:
        """Return the name of a kernel with these fields, else the old string.

        :raises StringError: the fields are those of the oldest strings.
        """
        if values.get("dtype"):
            return _kernel_name(values)
        if values.get("k1_a"):
            raise StringError(f"{OLDEST}: what its list says of the kernel is not known")
        labels = zip(_LABELS, _PRINTED[2:], strict=True)
        fields = ", ".join(f"{label}: {values[name]}" for label, name in labels)
        return f"{UNIVERSAL}<{values['padding']}, {values['orders']}> {fields}"

    def generated(
        self,
        values: Mapping[str, str | None],
        *,
        layout: str,
        dtype: str,
        mma_k_table: tuple[int, int],
    ) -> tuple[str, tuple[Loss, ...], UnmetRequirement | None]:
        """Return the name of the kernel that is generated for an old string.

        :raises StringError: the fields contradict each other, or neither line nor list say type or layout.
        """
        if values.get("dtype"):
            return _kernel_name(values), (), None
        if values.get("k1_a") and values["version"] != "v1":
            rejected = dropped_by(
                DropRule.UNSUPPORTED_FAMILY,
                "pipeline v2 of the oldest kernels loads two tiles ahead in a way of its own",
            )
            return "", (), rejected
        name = _kernel_name({**values, **_unsaid(values, layout, dtype, mma_k_table)})
        kernel = self.read(name)
        losses = [NO_COUNTERPART if values.get("k1_a") else NOT_PRINTED]
        if any(values.get(field) not in (None, kernel[field]) for field in ("reads", "stages")):
            losses.append(OTHER_ACCESSES)
        return name, tuple(losses), None


_LABELS: Final = (
    *("BlkSize", "BlkTile", "WaveTile", "WaveMap", "VmemReadVec", "BlkGemmPipelineScheduler"),
    *("BlkGemmPipelineVersion", "BlkGemmPipelinePrefetchStages"),
)
#: all old kernels shuffle, and none of them stays on the device
_OLD_ONLY: Final = {"epilogue": "cshuffle", "persistent": "False"}


def _of_oldest(words: Mapping[str, str]) -> dict[str, str | None]:
    return {
        **{name: words[name] for name in ("padding", "block_size", "version", *_OLDEST_ONLY)},
        "tile": f"{words['tile_m']}x{words['tile_n']}x{words['tile_k']}",
        "wave_tile": f"{words['mma_m']}x{words['mma_n']}",
        "wave_map": f"{words['map_m']}x{words['map_n']}",
        "reads": f"{words['read_a']}x{words['read_b']}",
        "scheduler": "Interwave" if words["scheduler"] == "Interwave" else "Intrawave",
        **_OLD_ONLY,
    }


def _numbers(text: str | None) -> list[int]:
    return [int(part) for part in (text or "").split("x")]


def _unsaid(
    said: Mapping[str, str | None], layout: str, dtype: str, mma_k_table: tuple[int, int]
) -> dict[str, str | None]:
    """Return what the list says and the string does not.

    :raises StringError: it does not say it.
    """
    orders = said.get("orders") or layout.upper()
    for what, value in (("layout", orders), ("data type", dtype)):
        if not value:
            raise StringError(f"neither the line nor the file name say the {what}: pass --layout and --dtype")
    (mma_m, mma_n), (_, _, tile_k) = _numbers(said["wave_tile"]), _numbers(said["tile"])
    if mma_m != mma_n:
        raise StringError(f"the MMA tile must be square, got {mma_m}x{mma_n}")
    wide = mma_m == 32
    single = DataType.parse(dtype) is DataType.FP32
    depth = 8 if single else mma_k_table[0 if wide else 1]
    return {"orders": orders, "dtype": dtype, "mma_k": str(min(depth, tile_k))}


def _kernel_name(values: Mapping[str, str | None]) -> str:
    """Return the name of the kernel with these fields.

    :raises StringError: tile, waves and block contradict each other.
    """
    tile, mma = _numbers(values["tile"]), _numbers(values["wave_tile"])
    steps = [size * count for size, count in zip(mma, _numbers(values["wave_map"]), strict=True)]
    waves = [size // step for size, step in zip(tile[:2], steps, strict=True)]
    if any(size % step for size, step in zip(tile[:2], steps, strict=True)):
        raise StringError(
            f"tile {values['tile']} is not a multiple of {steps[0]} x {steps[1]}, what a wave computes"
        )
    if _LANES * waves[0] * waves[1] != int(values["block_size"] or 0):
        raise StringError(f"block size {values['block_size']} is not {_LANES} x {waves[0]} x {waves[1]}")
    padding = (values["padding"] or "").removesuffix("Padding")
    padded = "" if padding == "Default" else padding
    orders, variant = (values["orders"] or "").lower(), values.get("variant") or ""
    words = (
        *("gemm", values["dtype"], f"{orders}{orders[-1]}" if "_multid" in variant else orders),
        _pipeline_of(values["version"] or ""),
        *(values["epilogue"], (values["scheduler"] or "").lower()),
        *(str(axis in padded) for axis in "MNK"),
        *(values["persistent"], values["tile"], f"{waves[0]}x{waves[1]}x1"),
        f"{mma[0]}x{mma[1]}x{values['mma_k']}",
    )
    name = "_".join(map(str, words))
    imposed = values.get("imposed_vectors")
    return f"{name}_vec{imposed}{variant}" if imposed else f"{name}{variant}"


def _pipeline_of(version: str) -> str:
    """Return the GEMM pipeline of a version; one that no old kernel has stands for itself."""
    return _VERSIONS[version][0] if version in _VERSIONS else version


def _of_kernel(words: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the old string's fields for the name of a kernel, and what old strings do not print.

    :raises StringError: the name is that of no kernel that old strings could mean.
    """
    layout = words["layout"] or ""
    if layout[3:] != (layout[2] if "_multid" in (words["variant"] or "") else ""):
        raise StringError("a name has the layout of D tensors, that of E, if, and only if, there are any")
    tile, grid, mma = (_numbers(words[name]) for name in ("tile", "grid", "mma"))
    pipeline = words["pipeline"] or ""
    version = _OF_PIPELINE.get(pipeline)
    whole = all(size % (waves * step) == 0 for size, waves, step in zip(tile, grid, mma, strict=True))
    padded = "".join(axis.upper() for axis in "mnk" if words[f"pad_{axis}"] == "True")
    threads = _LANES * grid[0] * grid[1] * grid[2]
    reads_a, reads_b, stores = _vectors(words, tile, grid, mma)
    element = DataType.parse(words["dtype"] or "").properties.size_bytes
    stages = _VERSIONS[version][1] if version is not None else 0
    depth = stages or mem_prefetch_stages((tile[0] + tile[1]) * tile[2] * element, threads)
    return {
        "padding": f"{padded}Padding" if padded else "Default",
        # the letter of a D tensor is that of the result
        "orders": (words["layout"] or "")[:3].upper(),
        "block_size": str(threads),
        "tile": words["tile"],
        "wave_tile": f"{mma[0]}x{mma[1]}",
        "wave_map": f"{tile[0] // (grid[0] * mma[0])}x{tile[1] // (grid[1] * mma[1])}" if whole else "-",
        "reads": f"{reads_a}x{reads_b}",
        "scheduler": (words["scheduler"] or "").capitalize(),
        "version": version or pipeline,
        "stages": str(depth),
        "mma_k": str(mma[2]),
        "vector_c": str(stores),
        **{name: words[name] for name in ("dtype", "epilogue", "persistent")},
        "imposed_vectors": words["vectors"],
        "variant": words["variant"],
    }


def _vectors(
    values: Mapping[str, str | None], tile: list[int], grid: list[int], mma: list[int]
) -> tuple[int, int, int]:
    """Return the widths that the kernel chooses, or those that are imposed on it.

    :raises StringError: there is no such type or layout of matrices.
    """
    if values["vectors"]:
        a, b, c = map(int, values["vectors"].split("_"))
        return a, b, c
    layout = find_layout((values["layout"] or "")[:3])
    if layout is None:
        raise StringError(f"no kernel of matrices has layout {values['layout']}")
    sizes = {"tile": tile, "warp": grid, "warp_tile": mma}
    shapes = {
        f"{name}_{axis}": size
        for name, extent in sizes.items()
        for axis, size in zip("mnk", extent, strict=True)
    }
    pads = {f"pad_{axis}": values[f"pad_{axis}"] == "True" for axis in "mnk"}
    words = {name: values[name] or "" for name in ("pipeline", "scheduler", "epilogue")}
    try:
        record = msgspec.convert({"id": 0, **shapes, **pads, **words}, UniversalGemmRecord)
        instance = instance_of(record, layout, DataType.parse(values["dtype"] or ""), "gemm")
        return native_vectors(instance, _LANES)
    except InputError as error:
        raise StringError(error.message) from None


KIND: Final = StringKind(
    id="gemm",
    title="kernel of matrix products",
    name=UNIVERSAL,
    other_names=(OLDEST,),
    direction="gemm",
    fields=(
        unread("padding", kinds.GEMM_PADDING),
        unread("orders", kinds.MATRIX_ORDERS),
        *unread_all(kinds.POSITIVE, "block_size", *_PRINTED[3:7]),
        unread("scheduler", kinds.SCHEDULER),
        *unread_all(kinds.OPERATION, "version", "stages", *_UNPRINTED, *_OLDEST_ONLY),
    ),
    spelling=OldStrings(),
)
