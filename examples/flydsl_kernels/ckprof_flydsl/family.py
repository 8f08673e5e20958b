"""Instances of the family, what is valid, how they are called, and the problems that they are verified on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ckprof.model.gemm_work import GemmWork
from ckprof.model.instance import Instance
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.strings.rendering import render as render_string
from ckprof_flydsl import launch
from ckprof_flydsl.compiling import compiled, compiler, kept
from ckprof_flydsl.record import FLYDSL, KINDS, NUMBERS, STRINGS
from ckprof_plugins.code_objects.family import CodeObjectFamily
from ckprof_plugins.directions._convolution.problem import ConvProblem
from ckprof_plugins.operations.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.model.catalog import Catalog
    from ckprof.model.recipe import BuildRecipe
    from ckprof_plugins.code_objects.description import LaunchDescription

WAVES = 4
MFMA = 16
#: elements between rows in LDS, and what a workgroup has of it
PADDING, LDS_BYTES = 8, 65536
#: architecture -> lengths of the reduction of its MFMA instructions of 16 x 16
ARCHITECTURES = {"gfx90a": (16,), "gfx942": (16,), "gfx950": (16, 32)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlyDslInstance(Instance):
    """One configuration."""

    pipeline: ClassVar[str] = FLYDSL

    #: rows, columns and steps of the reduction of a workgroup
    tile_m: int
    tile_n: int
    tile_k: int
    #: of four waves, those along the rows
    waves_m: int
    #: elements of an operand that a work-item loads at once
    vector_size: int
    #: products of an MFMA instruction for each element of its result
    mfma_k: int

    def fields(self) -> dict[str, int | str | bool | None]:
        """Return the fields of :meth:`identity`, and what hunts know kernels by."""
        vectors = {"vector_size_a": self.vector_size, "vector_size_b": self.vector_size, "vector_size_c": 1}
        merged = {"num_groups_to_merge": 1} if self.ndim else {}
        pads = {} if self.ndim else {"pad_m": True, "pad_n": True, "pad_k": True}
        return {**super(FlyDslInstance, self).fields(), **vectors, **merged, **pads}


class FlyDslFamily(CodeObjectFamily):
    """Matrix products and forward convolutions."""

    id = FLYDSL
    label = "kernels written in FlyDSL; an example"
    directions = frozenset(KINDS)

    def make_instance(self, catalog: Catalog, direction: str, record: Any) -> FlyDslInstance:
        """Return the instance of a record."""
        return FlyDslInstance(
            id=record.id,
            direction=direction,
            ndim=catalog.ndim,
            layout=catalog.layout,
            dtype=catalog.dtype,
            **{name: getattr(record, name) for name in NUMBERS},
        )

    def kernel_name(self, instance: FlyDslInstance) -> str:
        """Return the kernel's name."""
        i = instance
        return (
            f"flydsl_{i.direction}_{i.dtype.value}_{i.layout.name}_{i.tile_m}x{i.tile_n}x{i.tile_k}"
            f"_waves{i.waves_m}_vec{i.vector_size}_mfma{i.mfma_k}"
        )

    def instance_string(self, instance: FlyDslInstance) -> str:
        """Return the text that the list has for the instance."""
        numbers = {name: getattr(instance, name) for name in NUMBERS}
        named = {"layout_name": instance.layout.name, "input_type": instance.dtype.value}
        return render_string(STRINGS[instance.direction], {**named, **numbers})

    def unmet_requirements(
        self, instance: FlyDslInstance, arch: str, api_level: str
    ) -> Sequence[UnmetRequirement]:
        """Return the rules that an instance breaks."""
        return list(_unmet(instance, arch.partition(":")[0]))

    def compilation(self, instances: Sequence[Instance], recipe: BuildRecipe) -> BuildRecipe:
        """Return a recipe for the code objects.

        :raises ToolchainError: FlyDSL is not installed.
        :raises UsageError: the target does not load code objects.
        """
        changed = super().compilation(instances, recipe)
        compiler()
        return changed

    def code_object(self, instance: FlyDslInstance, arch: str) -> bytes:
        """Return the code object that FlyDSL makes.

        :raises CodeObjectError: it rejects the kernel.
        :raises ToolchainError: it is not installed.
        """
        return compiled(_spec(instance, arch))

    def missing(self, instances: Sequence[FlyDslInstance], arch: str) -> Sequence[FlyDslInstance]:
        """Return those that were not compiled yet."""
        return [
            one for one in instances if not any(_unmet(one, arch)) and not kept(_spec(one, arch)).is_file()
        ]

    def launch_description(self, instance: FlyDslInstance) -> LaunchDescription:
        """Return how the kernel is launched."""
        describe = launch.convolution if instance.direction == "fwd" else launch.product
        return describe(instance.tile_m, instance.tile_n, instance.vector_size)

    def work(self, instance: FlyDslInstance, problem: Any, splits: int) -> GemmWork | None:
        """Return the matrix products that the kernel makes of a problem."""
        size = instance.dtype.properties.size_bytes
        tile = {
            "tile_m": instance.tile_m,
            "tile_n": instance.tile_n,
            "tile_k": instance.tile_k,
            "waves": WAVES,
            "splits": splits,
            "element_bytes": size,
        }
        if isinstance(problem, GemmProblem):
            m, n, k = problem.m, problem.n, problem.k
            return GemmWork(m=m, n=n, k=k, batch=1, tensor_bytes=size * (m * k + n * k + m * n), **tile)
        if not isinstance(problem, ConvProblem) or problem.ndim != instance.ndim:
            return None
        elements = problem.input_elements + problem.weight_elements + problem.output_elements
        columns = problem.out_channels
        rows = problem.output_elements // (problem.groups * columns)
        depth = problem.weight_elements // (problem.groups * columns)
        return GemmWork(
            m=rows, n=columns, k=depth, batch=problem.groups, tensor_bytes=size * elements, **tile
        )

    def second_problems(self, instance: FlyDslInstance) -> Sequence[Sequence[Any]]:
        """Return problems with tails along all that the kernel divides."""
        vector = instance.vector_size
        if instance.direction == "gemm":
            tails = GemmProblem(m=instance.tile_m + 5, n=instance.tile_n + 3, k=instance.tile_k + vector)
            return [[tails], [replace(tails, m=1, n=1, k=vector, stride_a=3 * vector)]]
        axes = slice(3 - instance.ndim, 3)
        window = {
            "filter": (2, 3, 4)[axes],
            "strides": (2, 1, 3)[axes],
            "dilations": (1, 2, 1)[axes],
            "left_pads": (0, 1, 2)[axes],
            "right_pads": (1, 0, 1)[axes],
        }
        several = ConvProblem(
            groups=2,
            batch=3,
            out_channels=instance.tile_n + 3,
            in_channels=3 * vector,
            input=(4, 9, 11)[axes],
            **window,
        )
        return [[several, replace(several, batch=1, out_channels=5)]]


def _spec(instance: FlyDslInstance, arch: str) -> dict[str, object]:
    """Return what the kernel is compiled of."""
    return {
        "kernel": "convolution" if instance.direction == "fwd" else "product",
        "arch": arch,
        "ndim": instance.ndim,
        "dtype": instance.dtype.value,
        "block_m": instance.tile_m,
        "block_n": instance.tile_n,
        "block_k": instance.tile_k,
        "waves_m": instance.waves_m,
        "vector": instance.vector_size,
        "mfma_k": instance.mfma_k,
    }


def _unmet(instance: FlyDslInstance, arch: str) -> Iterator[UnmetRequirement]:
    i = instance

    def rule(name: str, met: bool, message: str) -> Iterator[UnmetRequirement]:
        if not met:
            yield UnmetRequirement(rule=f"flydsl-{name}", message=message)

    lengths = ARCHITECTURES.get(arch, ())
    known = ", ".join(f"{name} ({' or '.join(map(str, own))})" for name, own in ARCHITECTURES.items())
    yield from rule(
        "mfma", i.mfma_k in lengths, f"{arch} has no MFMA of length {i.mfma_k}; there are {known}"
    )
    yield from rule(
        "vector", i.vector_size in (1, 2, 4, 8), f"vectors of {i.vector_size}: expected 1, 2, 4 or 8"
    )
    yield from rule(
        "waves", i.waves_m in (1, 2, WAVES), f"{i.waves_m} waves along M: expected 1, 2 or {WAVES}"
    )
    depth = f"a reduction of {i.tile_k} in steps of {i.mfma_k}, vectors of {i.vector_size}"
    yield from rule("depth", i.tile_k % i.mfma_k == 0 and i.tile_k % i.vector_size == 0, depth)
    for axis, extent, waves in (("m", i.tile_m, i.waves_m), ("n", i.tile_n, WAVES // max(1, i.waves_m))):
        shared = waves < 1 or extent % (waves * MFMA) == 0
        yield from rule(axis, shared, f"tile_{axis} = {extent}: {waves} waves have tiles of {MFMA}")
        loads = extent * i.tile_k, launch.THREADS * i.vector_size
        text = (
            f"{extent} x {i.tile_k} elements are no multiple of {launch.THREADS} vectors of {i.vector_size}"
        )
        yield from rule(f"loads-{axis}", loads[0] % loads[1] == 0, text)
    lds = 2 * (i.tile_m + i.tile_n) * (i.tile_k + PADDING)
    yield from rule("lds", lds <= LDS_BYTES, f"{lds} bytes of LDS, there are {LDS_BYTES}")
