"""What the families of convolution kernels that multiply matrices have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

from ckprof.model.gemm_work import Reduction, Schedule
from ckprof_plugins.directions._convolution.fused_problem import FusedConvProblem
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.elementwise.operation import DExtent
from ckprof_plugins.pipelines._base.base_pipeline import KernelFamily
from ckprof_plugins.pipelines._base.rules import WAVE_SIZE_RULE
from ckprof_plugins.pipelines._gemm.d_layouts import per_channel
from ckprof_plugins.pipelines._gemm.instance import GemmInstance
from ckprof_plugins.pipelines._gemm.instance_string import gemm_instance_string
from ckprof_plugins.pipelines._gemm.kernel_name import gemm_kernel_name
from ckprof_plugins.pipelines._gemm.record import gemm_fields, reject_stream_k_fields
from ckprof_plugins.pipelines._gemm.traits import gemm_traits
from ckprof_plugins.pipelines._gemm.validity import GEMM_RULES
from ckprof_plugins.pipelines._gemm.work import gemm_work

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.catalog import Catalog
    from ckprof.model.gemm_work import GemmWork, KernelTraits
    from ckprof.model.instance import Instance
    from ckprof_converters.records import GemmRecord
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.pipelines._base.rules import Rule

GemmInstanceT = TypeVar("GemmInstanceT", bound=GemmInstance)


class GemmFamily(KernelFamily["GemmRecord", GemmInstanceT], Generic[GemmInstanceT]):
    """A family whose instances are read from records of GEMM kernels."""

    rules: ClassVar[tuple[Rule, ...]] = (*GEMM_RULES, WAVE_SIZE_RULE)
    schedule: ClassVar[Schedule] = Schedule.TILES
    reduction: ClassVar[Reduction] = Reduction.ATOMIC
    #: the family sums in fp32 first
    two_stage: ClassVar[bool] = False

    def read_record(self, catalog: Catalog, direction: str, record: GemmRecord) -> GemmInstanceT:
        """Return the instance that a record describes.

        :raises InputError: a value is unknown, out of range or contradicts another one.
        """
        reject_stream_k_fields(record)
        return cast("GemmInstanceT", self.instance_type(**gemm_fields(catalog, direction, record)))

    def name_of(self, instance: GemmInstanceT) -> str:
        """Return the name of the instance's kernel."""
        return gemm_kernel_name(instance, two_stage=self.two_stage)

    def default_problem(self, instance: Instance, usual: Convolution) -> Convolution:
        """Return the direction's problem, with what the kernel does besides and its usual parameters."""
        checked = self.checked(instance)
        if checked.elementwise_op is None:
            return usual
        extents = [DExtent.CHANNEL if per_channel(layout) else DExtent.FULL for layout in checked.d_tensors]
        combination = Combination.usual(checked.elementwise_op, extents)
        return FusedConvProblem.of(usual, combination, self.operation_of(checked).result)

    def unfused(self, instance: Instance) -> Instance | None:
        """Return the same instance without what is fused to its sums; ``None`` if nothing is."""
        checked = self.checked(instance)
        if checked.elementwise_op is None:
            return None
        return replace(checked, elementwise_op=None, d_layouts=None, d_dtypes=None)

    def string_of(self, instance: GemmInstanceT) -> str:
        """Return CK Builder's text for the instance."""
        return gemm_instance_string(instance, self.operation_of(instance).string_kind)

    def work(self, instance: Instance, problem: Convolution, splits: int) -> GemmWork | None:
        """Return the matrix products that the kernel makes of a problem; ``None`` if it makes none."""
        if self.schedule is Schedule.STREAM:
            return None
        return gemm_work(self.checked(instance), self.operation_of(instance).kernel, problem, splits)

    def automatic_splits(self, instance: Instance, problem: Convolution, workgroups: int) -> int | None:
        """Return how many splits fill the device: its workgroups divided by the tiles of the result.

        At least 1, and at most the length of the reduction; ``None`` for kernels that do not choose.
        """
        if not self.operation_of(self.checked(instance)).deduces_split_k:
            return None
        work = self.work(instance, problem, 1)
        if work is None:
            return None
        tiles = -(-work.m // work.tile_m) * -(-work.n // work.tile_n) * work.batch
        return min(max(1, workgroups // tiles), work.k)

    def traits(self, fields: Mapping[str, Any]) -> KernelTraits:
        """Return what the time of the kernel of an instance with these fields depends on."""
        return gemm_traits(fields, schedule=self.schedule, reduction=self.reduction)
