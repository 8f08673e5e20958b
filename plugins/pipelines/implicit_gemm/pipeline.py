"""The implicit-GEMM family behind the interface that ckprof expects of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.codegen.environment import render
from ckprof.errors import InputError
from ckprof.plugin.protocols import KernelSource
from ckprof_plugins.pipelines.implicit_gemm import instance_string, kernel_name, validity
from ckprof_plugins.pipelines.implicit_gemm.instance import ImplicitGemmInstance
from ckprof_plugins.pipelines.implicit_gemm.operation import OPERATIONS
from ckprof_plugins.pipelines.implicit_gemm.parameters import header_parameters
from ckprof_plugins.pipelines.implicit_gemm.record import instance_of_record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.catalog import Catalog
    from ckprof.model.instance import Instance
    from ckprof.model.refusal import Refusal

#: Catalog variants whose records describe implicit GEMM, unless they ask for one of the families built on it.
VARIANTS = frozenset({"forward", "bwd_data", "bwd_weight"})


class ImplicitGemmPipeline:
    """Convolutions as matrix products whose operands are gathered while they are read."""

    id = ImplicitGemmInstance.pipeline
    label = "implicit GEMM: the image is read as a matrix, tile by tile"
    directions = frozenset(OPERATIONS)

    def claims(self, variant: str, record: Any) -> bool:
        """Say whether the record is an instance of this family: neither two-stage nor stream-K."""
        return variant in VARIANTS and not record.two_stage and not record.streamk_enabled

    def make_instance(self, catalog: Catalog, direction: str, record: Any) -> ImplicitGemmInstance:
        """Return the instance that a claimed record describes.

        :raises InputError: a value is unknown or out of range.
        """
        return instance_of_record(catalog, direction, record)

    def kernel_name(self, instance: Instance) -> str:
        """Return the kernel's file stem and registry name."""
        return kernel_name.kernel_name(_own(instance))

    def instance_string(self, instance: Instance) -> str:
        """Return CK Builder's text for the instance."""
        return instance_string.instance_string(_own(instance))

    def refusals(self, instance: Instance, arch: str, api_level: str) -> Sequence[Refusal]:
        """Return every rule that forbids building the instance."""
        return validity.refusals(_own(instance), arch, api_level)

    def render(self, instance: Instance, arch: str, api_level: str) -> KernelSource:
        """Return the C++ header of a valid instance.

        :raises InputError: the instance is not valid; :meth:`refusals` says the same without raising.
        """
        own = _own(instance)
        broken = validity.refusals(own, arch, api_level)
        if broken:
            raise InputError(f"{kernel_name.kernel_name(own)}: {broken[0].message} [{broken[0].rule}]")
        parameters = header_parameters(own, arch)
        return KernelSource(
            name=parameters.name,
            header=render(__package__, "header.hpp.j2", p=parameters),
            launcher=f"{parameters.name}_Launcher",
        )


def _own(instance: Instance) -> ImplicitGemmInstance:
    if not isinstance(instance, ImplicitGemmInstance):
        raise TypeError(f"expected an ImplicitGemmInstance, got a {type(instance).__name__}")
    return instance
