"""The depthwise family behind the interface that ckprof expects of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.model.kernel_traits import KernelTraits, Schedule
from ckprof_plugins.directions.operation import ConvKernel
from ckprof_plugins.pipelines._base.base_pipeline import KernelFamily
from ckprof_plugins.pipelines.depthwise import text
from ckprof_plugins.pipelines.depthwise.default_problem import problem_for
from ckprof_plugins.pipelines.depthwise.instance import SIZES, DepthwiseInstance
from ckprof_plugins.pipelines.depthwise.validity import DEPTHWISE_RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.catalog import Catalog
    from ckprof.model.instance import Instance
    from ckprof.model.problem import ConvProblem
    from ckprof_converters.records import DepthwiseRecord
    from ckprof_plugins.pipelines._base.template_values import HeaderRequest
    from ckprof_plugins.pipelines.depthwise.template_values import DepthwiseHeader

#: The catalog variant whose records describe depthwise kernels.
VARIANT = "forward_depthwise"


class DepthwisePipeline(KernelFamily["DepthwiseRecord", DepthwiseInstance]):
    """Convolutions with one channel per group, computed directly on tiles of the image."""

    id = DepthwiseInstance.pipeline
    label = "depthwise: one channel per group, tiles of the image in local memory"
    kernels = frozenset({ConvKernel.FORWARD})
    instance_type = DepthwiseInstance
    rules = DEPTHWISE_RULES
    template = (__package__, "depthwise.hpp.j2")

    def claims(self, variant: str, record: DepthwiseRecord) -> bool:
        """Say whether the record is an instance of this family."""
        return variant == VARIANT

    def read_record(self, catalog: Catalog, direction: str, record: DepthwiseRecord) -> DepthwiseInstance:
        """Return the instance that a claimed record describes.

        :raises InputError: a value is out of range.
        """
        return DepthwiseInstance(
            id=record.id,
            direction=direction,
            ndim=catalog.ndim,
            layout=catalog.layout,
            dtype=catalog.dtype,
            **{name: getattr(record, name) for name in SIZES},
        )

    def name_of(self, instance: DepthwiseInstance) -> str:
        """Return the name of the instance's kernel."""
        return text.kernel_name(instance)

    def traits(self, fields: Mapping[str, Any]) -> KernelTraits:
        """Return what the time of the kernel of an instance with these fields depends on."""
        filt, patch = fields["filt"], f"{fields['sub_h']}x{fields['sub_w']}"
        return KernelTraits(
            tile=(fields["tile_h"], fields["tile_w"], fields["nbatch"]),
            schedule=Schedule.WINDOW,
            labels=(f"{filt}x{filt}", patch, f"{fields['in_vec']},{fields['out_vec']}"),
        )

    def string_of(self, instance: DepthwiseInstance) -> str:
        """Return CK Builder's text for the instance."""
        return text.instance_string(instance)

    def header_of(self, instance: DepthwiseInstance, request: HeaderRequest) -> DepthwiseHeader:
        """Return what the template shows; it does not record the architecture."""
        from ckprof_plugins.pipelines.depthwise.template_values import depthwise_header

        return depthwise_header(instance, request, VARIANT)

    def default_problem(self, instance: Instance, usual: ConvProblem) -> ConvProblem:
        """Return a problem with the filter, strides and pads that the instance is made for."""
        return problem_for(self._own(instance))
