"""What the header of a matrix-product kernel shows, as plain strings and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ckprof.kernels.c_interface import boolean
from ckprof.model.architecture import API_LEVEL_2025_07
from ckprof.version import __version__
from ckprof_plugins.elementwise.combination import Functor
from ckprof_plugins.elementwise.operation import STORED_AS_IT_IS
from ckprof_plugins.pipelines.fixed_tails import FIXED_TAILS_LEVELS, loop_ends
from ckprof_plugins.pipelines.level_rules import SURFACES
from ckprof_plugins.pipelines.rules import turns_last_of_two
from ckprof_plugins.pipelines.universal_gemm.instance import BatchedGemmInstance, MultiDGemmInstance
from ckprof_plugins.pipelines.universal_gemm.reading import VARIANT
from ckprof_plugins.pipelines.vocabulary import Epilogue, GemmPipeline

if TYPE_CHECKING:
    from ckprof.model.architecture import Architecture
    from ckprof.model.types import DataType
    from ckprof_plugins.pipelines.universal_gemm.instance import UniversalGemmInstance


_HALF_BYTES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class UniversalGemmHeader:
    """The values of one header."""

    #: fields that the template prints and does nothing else with
    literal_fields: ClassVar[tuple[str, ...]] = ("name", "key", "types", "constants")

    version: str
    name: str
    key: str
    variant: str
    #: (name, C++ type) of the launcher's type aliases
    types: tuple[tuple[str, str], ...]
    #: (C++ type, name, value) of the launcher's constants, in groups
    constants: tuple[tuple[tuple[str, str, str | int], ...], ...]
    #: enumerator of ``GemmPipelineScheduler``
    scheduler: str
    pipeline_class: str
    pipeline_base: str
    #: the pipeline is built from the problem without a scheduler, and its loop has no tail
    basic: bool
    #: the accumulators are stored as they are
    default_epilogue: bool
    persistent: bool
    #: hot loop, tail and the way of storing are template arguments
    fixed_tails: bool
    #: the headers are those of API level 2025-07
    is_2025_07: bool
    #: numbers of blocks along K where the loop multiplies others after the end
    overruns: tuple[int, ...]
    #: what follows the first block along K is read wrongly
    first_block_only: bool
    #: so is the last of two blocks
    turns_last_of_two: bool
    #: device functions that the launcher instantiates
    device_functions: int
    #: class template of the kernel, and the type of its host arguments
    kernel_class: str
    host_args: str
    #: strides of A and B among the host arguments
    strides: tuple[str, str]
    #: numbers of the D tensors that the product is combined with, the C++ types of them and of their layouts
    d_tensors: tuple[int, ...]
    d_types: str
    d_layouts: str
    #: C++ type of how, CK Tile's name of it, and what it does where the headers do not say
    combination: str
    elementwise_op: str
    functor: Functor | None
    #: the kernel computes a batch of products
    batched: bool
    #: splits can be added up
    adds: bool


def _cpp(dtype: DataType) -> str:
    name = dtype.properties.cpp_type
    return name if name == "float" else f"ck_tile::{name}"


def _layout(axes: str, row_major: str) -> str:
    order = "RowMajor" if axes == row_major else "ColumnMajor"
    return f"ck_tile::tensor_layout::gemm::{order}"


def _types(instance: UniversalGemmInstance) -> tuple[tuple[str, str], ...]:
    types, layout = instance.types, instance.layout
    return (
        ("ADataType", _cpp(types.operands[0])),
        ("BDataType", _cpp(types.operands[1])),
        ("AccDataType", _cpp(types.acc)),
        ("EDataType", _cpp(types.result)),
        ("ALayout", _layout(layout.a, "MK")),
        ("BLayout", _layout(layout.b, "KN")),
        ("ELayout", _layout(layout.e, "MN")),
    )


def _imposed(instance: UniversalGemmInstance) -> tuple[int, int, int]:
    """Return the widths as template arguments, which are 1 where none is imposed."""
    a, b, c = instance.vector_sizes
    return max(a, 1), max(b, 1), max(c, 1)


def _constants(instance: UniversalGemmInstance) -> tuple[tuple[tuple[str, str, str | int], ...], ...]:
    def indices(names: str, values: tuple[int, int, int]) -> tuple[tuple[str, str, int], ...]:
        return tuple(
            ("ck_tile::index_t", name, value) for name, value in zip(names.split(), values, strict=True)
        )

    def flags(**values: bool) -> tuple[tuple[str, str, str], ...]:
        return tuple(("bool", name, boolean(value)) for name, value in values.items())

    return (
        indices("TileM TileN TileK", instance.tile.sizes),
        indices("WarpPerBlock_M WarpPerBlock_N WarpPerBlock_K", instance.wave_grid.sizes),
        indices("WarpTileM WarpTileN WarpTileK", instance.mma_tile.sizes),
        indices("ImposedVectorSizeA ImposedVectorSizeB ImposedVectorSizeC", _imposed(instance)),
        flags(
            kPadM=instance.pad_m,
            kPadN=instance.pad_n,
            kPadK=instance.pad_k,
            TransposeC=False,
            UsePersistentKernel=instance.persistent,
            DoubleSmemBuffer=instance.double_smem_buffer,
            UseStructuredSparsity=False,
            Preshuffle=False,
            FixedVectorSize=instance.imposes_vectors,
        ),
        (("ck_tile::index_t", "NumWaveGroups", 1), ("int", "kBlockPerCu", 1)),
    )


def _adds(instance: UniversalGemmInstance) -> bool:
    """Say whether splits of K are added up.

    They are not where D tensors would be combined with each of them, nor where the epilogue stores single
    elements of 16 bits, which no instruction adds: the kernel that would do it does not compile.
    """
    if isinstance(instance, MultiDGemmInstance):
        return False
    halves = instance.types.result.properties.size_bytes == _HALF_BYTES
    single = instance.epilogue is Epilogue.DEFAULT and isinstance(instance, BatchedGemmInstance)
    return not (halves and single)


def _variant(instance: UniversalGemmInstance) -> dict[str, Any]:
    """Return what tells kernels of one product, with D tensors and of batches apart."""
    batched = isinstance(instance, BatchedGemmInstance)
    plain = {
        "kernel_class": "BatchedGemmKernel" if batched else "GemmKernel",
        "host_args": "ck_tile::BatchedGemmHostArgs" if batched else "ck_tile::GemmHostArgs",
        "strides": ("stride_As[0]", "stride_Bs[0]") if batched else ("stride_A", "stride_B"),
        "d_tensors": (),
        "d_types": "ck_tile::tuple<>",
        "d_layouts": "ck_tile::tuple<>",
        "combination": f"ck_tile::element_wise::{STORED_AS_IT_IS}",
        "elementwise_op": STORED_AS_IT_IS,
        "functor": None,
        "batched": batched,
    }
    if not isinstance(instance, MultiDGemmInstance):
        return plain
    count = instance.num_d_tensors
    return {
        **plain,
        "kernel_class": "GemmKernelMultiD",
        "host_args": f"ck_tile::GemmMultiDHostArgs<{count}>",
        "d_tensors": tuple(range(count)),
        "d_types": f"ck_tile::tuple<{', '.join(('EDataType',) * count)}>",
        "d_layouts": f"ck_tile::tuple<{', '.join(('ELayout',) * count)}>",
        "combination": "Combination",
        "elementwise_op": instance.elementwise_op.value,
        "functor": Functor.of(instance.elementwise_op),
    }


def header_values(
    instance: UniversalGemmInstance, name: str, arch: Architecture, api_level: str
) -> UniversalGemmHeader:
    """Return the values of an instance's header.

    :param name: the kernel's name, unique in its library.
    """
    properties = instance.gemm_pipeline.properties
    fixed = api_level in FIXED_TAILS_LEVELS
    surface = SURFACES[api_level] if fixed else None
    adds = _adds(instance)
    turned = instance.layout.a != "MK" or instance.layout.b == "KN"
    # elsewhere one of the operands is zero after the end of K
    reaches_end = instance.layout.name == "rcr" and not instance.pad_k
    return UniversalGemmHeader(
        version=__version__,
        name=name,
        key=instance.key,
        variant=VARIANT,
        types=_types(instance),
        constants=_constants(instance),
        scheduler=instance.scheduler.enumerator,
        pipeline_class=properties.cpp_class,
        pipeline_base=properties.cpp_base,
        basic=instance.gemm_pipeline is GemmPipeline.COMPV1,
        default_epilogue=instance.epilogue is Epilogue.DEFAULT,
        persistent=instance.persistent,
        fixed_tails=fixed,
        is_2025_07=api_level == API_LEVEL_2025_07,
        overruns=surface.wrong_split_loops.get(instance.gemm_pipeline, ()) if surface and reaches_end else (),
        first_block_only=bool(surface and turned and instance.gemm_pipeline in surface.first_block_only),
        turns_last_of_two=turned and turns_last_of_two(instance.gemm_pipeline, arch, api_level),
        device_functions=loop_ends(instance, api_level) * (2 if adds else 1) if fixed else 1,
        adds=adds,
        **_variant(instance),
    )
