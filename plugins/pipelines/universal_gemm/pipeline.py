"""The family of plain matrix products: what its kernels are."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from ckprof.kernels.jinja import render_cached
from ckprof.model.architecture import find_architecture
from ckprof.model.gemm_work import GemmWork
from ckprof.plugin.protocols import KernelSource
from ckprof_plugins.operations.gemm.problem import (
    TENSORS,
    GemmProblem,
    MultiDProblem,
    StridedBatchProblem,
)
from ckprof_plugins.pipelines.boundary_problems import LONG, PRODUCTS, drawn
from ckprof_plugins.pipelines.kernel_name import joined, product_traits
from ckprof_plugins.pipelines.rules import broken_rules
from ckprof_plugins.pipelines.second_problems import rounded_up
from ckprof_plugins.pipelines.universal_gemm.instance import (
    BatchedGemmInstance,
    MultiDGemmInstance,
    UniversalGemmInstance,
    name_parts,
)
from ckprof_plugins.pipelines.universal_gemm.reading import instance_of, record_of
from ckprof_plugins.pipelines.universal_gemm.validity import RULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.model.catalog import Catalog
    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.instance import Instance
    from ckprof.model.kernel import NamePart
    from ckprof.model.problem import Problem
    from ckprof.model.requirement import UnmetRequirement
    from ckprof_plugins.pipelines.universal_gemm.reading import UniversalGemmRecord

_TEMPLATE = "universal_gemm.hpp.j2"

#: products of the problem that batched kernels are run on when none is given
_USUAL_BATCH = 4
#: what padded axes are shorter by: a multiple of the vectors of every type, and of no tile above them
_TAIL = 16
#: multiply-adds of a product with one long axis
_MOST_PRODUCTS = 2**24


class UniversalGemmPipeline:
    """Products of two matrices, tile by tile."""

    id = UniversalGemmInstance.pipeline
    label = "matrix product: tiles of A and B are multiplied as they lie in memory"
    directions = frozenset({"gemm"})

    def make_instance(
        self, catalog: Catalog, direction: str, record: UniversalGemmRecord
    ) -> UniversalGemmInstance:
        """Return the instance that a record describes.

        :raises InputError: a value is unknown or out of range.
        """
        return instance_of(record, catalog.layout, catalog.dtype, direction)

    def record(self, instance: UniversalGemmInstance) -> UniversalGemmRecord:
        """Return the record that describes an instance."""
        return record_of(instance)

    def kernel_name(self, instance: UniversalGemmInstance) -> str:
        """Return the kernel's file stem and registry name."""
        return joined(name_parts(instance))

    def name_parts(self, instance: UniversalGemmInstance) -> Sequence[NamePart]:
        """Return the parts of the name."""
        return name_parts(instance)

    def instance_string(self, instance: UniversalGemmInstance) -> str:
        """Return what tells instances apart in tables: matrix products have no other text than their name."""
        return self.kernel_name(instance)

    def unmet_requirements(
        self, instance: UniversalGemmInstance, arch: str, api_level: str
    ) -> Sequence[UnmetRequirement]:
        """Return every rule that forbids building the instance.

        :raises UsageError: there is no such architecture.
        """
        return broken_rules(RULES, instance, arch, api_level, self.directions)

    def default_problem(self, instance: UniversalGemmInstance, usual: Any) -> Problem:
        """Return the operation's problem, with what a kernel for several products or D tensors computes.

        Along the axes that the kernel pads it is shorter, and no multiple of a tile: what a kernel does there
        is only seen where tiles do not divide the operands.
        """
        sizes = {
            axis: getattr(usual, axis) - (_TAIL if padded else 0)
            for axis, padded in zip(("m", "n", "k"), instance.pads, strict=True)
        }
        if isinstance(instance, MultiDGemmInstance):
            strides = (0,) * instance.num_d_tensors
            return MultiDProblem(**sizes, elementwise_op=instance.elementwise_op, strides_d=strides)
        return GemmProblem(**sizes, batch=_USUAL_BATCH if isinstance(instance, BatchedGemmInstance) else 1)

    def second_problems(self, instance: UniversalGemmInstance) -> Sequence[Sequence[GemmProblem]]:
        """Return products of several tiles with lines that do not follow one another, and of a single step.

        Tails are as long as a vector, along the axes that the kernel pads; along M one more, if it can be.
        There are three rows of tiles, and two columns of them. Others are drawn for the kernel.
        """
        tile, (pad_m, pad_n, pad_k) = instance.tile, instance.pads
        tail = max(*instance.vector_sizes, 16 // instance.dtype.properties.size_bytes)

        def second(m: int, n: int, k: int) -> GemmProblem:
            return self._strided(instance, m, n, k, 4 * tail)

        n, k = 256 + tail if pad_n else 512, 320 + tail if pad_k else 384
        rows = max(256, 2 * tile.m)
        several = [second(m, n, k) for m in ((rows + 1 + tail, rows + tail) if pad_m else (rows + tile.m,))]
        others = second(3 * tile.m, 2 * tile.n, 3 * tile.k)
        single = [second(tile.m, tile.n, tail if pad_k else tile.k), second(tile.m, tile.n, 2 * tile.k)]
        return [[*several, others], single, *drawn(instance.key, [*self._boundaries(instance, tail)])]

    def _boundaries(self, instance: UniversalGemmInstance, tail: int) -> Iterator[Sequence[GemmProblem]]:
        """Yield products at the boundaries of tiles and counters; see :mod:`..boundary_problems`.

        Kernels that do not pad along short axes have no long ones, which would be too much work.

        :param tail: of the vectors of all operands.
        """
        padded = zip(instance.pads, instance.tile.sizes, strict=True)
        steps = [tail if pads else size for pads, size in padded]
        for *lengths, _ in PRODUCTS:
            m, n, k = map(rounded_up, lengths, steps)
            yield [self._strided(instance, m, n, k, 0)]
        for axis in range(3):
            m, n, k = (rounded_up(LONG, step) if axis == at else step for at, step in enumerate(steps))
            if m * n * k <= _MOST_PRODUCTS:
                yield [self._strided(instance, m, n, k, 2 * tail)]

    def _strided(self, instance: UniversalGemmInstance, m: int, n: int, k: int, gap: int) -> GemmProblem:
        """Return a product of what the kernel takes, with gaps between lines, matrices and D tensors."""
        lengths, order = {"M": m, "N": n, "K": k}, instance.layout.order
        strides = {f"stride_{name}": lengths[order(name)[1]] + gap for name in TENSORS}
        sizes = {"m": m, "n": n, "k": k, **strides}
        if isinstance(instance, MultiDGemmInstance):
            apart = tuple(n + number * gap for number in range(instance.num_d_tensors))
            return MultiDProblem(**sizes, elementwise_op=instance.elementwise_op, strides_d=apart)
        if not isinstance(instance, BatchedGemmInstance):
            return GemmProblem(**sizes)
        matrices = {
            f"batch_stride_{name}": lengths[order(name)[0]] * strides[f"stride_{name}"] + gap
            for name in TENSORS
        }
        return StridedBatchProblem(**sizes, batch=3, **matrices)

    def unfused(self, instance: UniversalGemmInstance) -> Instance | None:
        """Return the kernel of the product alone; ``None`` if nothing is fused to it."""
        if not isinstance(instance, MultiDGemmInstance):
            return None
        shared = {each.name: getattr(instance, each.name) for each in fields(UniversalGemmInstance)}
        return UniversalGemmInstance(**shared)

    def work(self, instance: UniversalGemmInstance, problem: GemmProblem, splits: int) -> GemmWork | None:
        """Return the matrix product that a problem is."""
        return GemmWork(
            m=problem.m,
            n=problem.n,
            k=problem.k,
            batch=problem.batch,
            tile_m=instance.tile.m,
            tile_n=instance.tile.n,
            tile_k=instance.tile.k,
            waves=instance.waves,
            splits=splits,
            tensor_bytes=problem.traffic_bytes(instance.dtype),
            element_bytes=instance.dtype.properties.size_bytes,
        )

    def traits(self, fields: Mapping[str, Any]) -> KernelTraits:
        """Return what the time of a kernel depends on.

        :param fields: see :meth:`ckprof.model.instance.Instance.fields`.
        """
        return product_traits(fields)

    def render(self, instance: UniversalGemmInstance, arch: str, api_level: str) -> KernelSource:
        """Return the C++ header of an instance under the name that :meth:`kernel_name` gives it."""
        return self.render_named(instance, self.kernel_name(instance), arch, api_level)

    def render_named(
        self, instance: UniversalGemmInstance, name: str, arch: str, api_level: str
    ) -> KernelSource:
        """Return the C++ header of an instance.

        Validity is not checked again: what :meth:`unmet_requirements` rejects may not compile, or be wrong.

        :param name: the kernel's name, unique in its library.
        """
        from ckprof_plugins.pipelines.universal_gemm.template_values import header_values

        header = header_values(instance, name, find_architecture(arch), api_level)
        launcher = f"{name}_Launcher"
        return KernelSource(
            name=name,
            header=render_cached(__package__, _TEMPLATE, header, header.literal_fields),
            launcher=launcher,
            host_args=header.host_args,
            device_type=f"{launcher}::{'KernelOf' if header.fixed_tails else 'Kernel'}",
            device_functions=header.device_functions,
        )
