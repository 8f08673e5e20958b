"""The configuration of a kernel that multiplies two matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ckprof.errors import InputError
from ckprof.model.instance import Instance
from ckprof_plugins.elementwise.operations import ElementwiseOp
from ckprof_plugins.operations.gemm.problem import check_d_tensors, types_of
from ckprof_plugins.pipelines.gemm_instance import UPSTREAM_NAMES
from ckprof_plugins.pipelines.kernel_name import HEAD, OTHER, field_parts, parts_of
from ckprof_plugins.pipelines.vocabulary import Epilogue, GemmPipeline, Scheduler, SmemBuffering

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.kernel import NamePart
    from ckprof.model.types import TypeSet
    from ckprof_plugins.operations.gemm.problem import MatrixLayout
    from ckprof_plugins.pipelines.gemm_instance import Extent


@dataclass(frozen=True, slots=True, kw_only=True)
class UniversalGemmInstance(Instance):
    """One kernel.

    :raises InputError: some vector sizes are given and others are not.
    """

    pipeline: ClassVar[str] = "universal_gemm"
    field_aliases: ClassVar[Mapping[str, str]] = {
        **{f"warp_{axis}": f"wave_grid_{axis}" for axis in "mnk"},
        **{f"warp_tile_{axis}": f"mma_tile_{axis}" for axis in "mnk"},
        **UPSTREAM_NAMES,
    }

    layout: MatrixLayout

    #: block tile in elements
    tile: Extent
    #: waves of a block along each axis; catalogs call it ``warp_m/n/k``
    wave_grid: Extent
    #: tile of one matrix instruction; catalogs call it ``warp_tile_m/n/k``
    mma_tile: Extent
    gemm_pipeline: GemmPipeline
    scheduler: Scheduler
    epilogue: Epilogue
    #: whether what the tile leaves over of an axis is computed by kernels that check bounds
    pad_m: bool
    pad_n: bool
    pad_k: bool
    #: as many blocks as the device holds, each of which computes tiles until none is left
    persistent: bool
    #: elements per memory access that are imposed on the kernel; 0 leaves them to it
    vector_size_a: int
    vector_size_b: int
    vector_size_c: int

    def __post_init__(self) -> None:
        given = [size > 0 for size in self.vector_sizes]
        if any(given) != all(given):
            sizes = ", ".join(map(str, self.vector_sizes))
            raise InputError(f"vector sizes are {sizes}, expected all of them or none")

    @property
    def types(self) -> TypeSet:
        """Types of the matrices and of the sums."""
        return types_of(self.dtype)

    @property
    def vector_sizes(self) -> tuple[int, int, int]:
        """Imposed elements per access to A, B and E, or zeros."""
        return self.vector_size_a, self.vector_size_b, self.vector_size_c

    @property
    def imposes_vectors(self) -> bool:
        """Whether the kernel is told how wide its accesses are."""
        return self.vector_size_a > 0

    @property
    def pads(self) -> tuple[bool, bool, bool]:
        """Whether M, N and K are padded up to the tile."""
        return self.pad_m, self.pad_n, self.pad_k

    @property
    def double_smem_buffer(self) -> bool:
        """Whether the tiles of two K blocks are in local memory at once."""
        return self.gemm_pipeline.properties.buffering is SmemBuffering.DOUBLE

    def derived_fields(self) -> dict[str, int | str | bool | None]:
        """Return whether there are two buffers, which only the GEMM pipeline tells."""
        return {"double_smem_buffer": self.double_smem_buffer}

    @property
    def waves(self) -> int:
        """Waves of a block."""
        return self.wave_grid.m * self.wave_grid.n * self.wave_grid.k


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiDGemmInstance(UniversalGemmInstance):
    """A kernel that combines the product with further matrices, which lie as the result does.

    :raises InputError: there are too many of them.
    """

    elementwise_op: ElementwiseOp
    num_d_tensors: int

    def __post_init__(self) -> None:
        UniversalGemmInstance.__post_init__(self)
        check_d_tensors(self.num_d_tensors)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchedGemmInstance(UniversalGemmInstance):
    """A kernel that computes many products of the same sizes at once."""

    #: always true; tells it from the kernel of one product
    batched: bool = True


def name_parts(instance: UniversalGemmInstance) -> tuple[NamePart, ...]:
    """Return the parts of the name, in which every field of the instance has a place.

    The dispatcher's generator has no batched kernels: ``_batched`` stands where it says what else is special.
    """
    i = instance
    layout, variant = i.layout.name, ""
    if isinstance(i, MultiDGemmInstance):
        # the letter of D, which lies as E does
        layout += layout[-1]
        variant = f"multid_{i.elementwise_op.value}_d{i.num_d_tensors}"
    elif isinstance(i, BatchedGemmInstance):
        variant = "batched"
    pads = dict(zip(("pad_m", "pad_n", "pad_k"), map(str, i.pads), strict=True))
    vectors = f"vec{'_'.join(map(str, i.vector_sizes))}" if i.imposes_vectors else ""
    return (
        *parts_of(HEAD, direction="gemm", dtype=i.dtype.value, layout=layout),
        *field_parts(i, "gemm_pipeline", "epilogue", "scheduler"),
        *parts_of(OTHER, **pads, persistent=str(i.persistent)),
        *field_parts(i, "tile", "wave_grid", "mma_tile"),
        *parts_of(OTHER, vector_size=vectors, variant=variant),
    )
