"""The implicit-GEMM family: what its kernels are, and what their headers show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ckprof_plugins.directions._convolution.kernel import ConvKernel, Zeroing
from ckprof_plugins.pipelines._gemm.family import GemmFamily
from ckprof_plugins.pipelines._gemm.fixed_tails import FIXED_TAILS_LEVELS, fixed_tails_header
from ckprof_plugins.pipelines._gemm.instance import GemmInstance
from ckprof_plugins.pipelines._gemm.template_values import ZEROING_COMMENTS, GemmHeader, gemm_values
from ckprof_plugins.pipelines._gemm.traits import fields_of_name, traits_of_name
from ckprof_plugins.pipelines._gemm.validity import GEMM_RULES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.gemm_work import KernelTraits
    from ckprof_plugins.pipelines._base.base_pipeline import HeaderRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ImplicitGemmInstance(GemmInstance):
    """A kernel that stores its result directly, or adds to it when the reduction is split."""

    pipeline: ClassVar[str] = "implicit_gemm"


class ImplicitGemmPipeline(GemmFamily[ImplicitGemmInstance]):
    """Convolutions as matrix products whose operands are gathered while they are read."""

    id = ImplicitGemmInstance.pipeline
    label = "implicit GEMM: the image is read as a matrix, tile by tile"
    kernels = frozenset(ConvKernel)
    instance_type = ImplicitGemmInstance
    rules = GEMM_RULES

    def traits_of_name(self, name: str) -> KernelTraits | None:
        """Return what a name in a table of times says about a kernel; ``None`` if it says nothing."""
        return traits_of_name(name)

    def fields_of_name(self, name: str) -> Mapping[str, Any] | None:
        """Return the fields of an instance that a name in a table of times tells; ``None`` if none."""
        return fields_of_name(name)

    def header_of(self, instance: ImplicitGemmInstance, request: HeaderRequest) -> GemmHeader:
        """Return what the template of the request's API level shows."""
        if request.api_level in FIXED_TAILS_LEVELS:
            return fixed_tails_header(instance, request)
        zeroing = request.operation.zeroing
        return ImplicitGemmHeader(
            **gemm_values(instance, request),
            zeroes=zeroing is not Zeroing.NEVER,
            zeroes_if="kargs.k_batch > 1" if zeroing is Zeroing.IF_SPLIT else "",
            zeroing_comment=ZEROING_COMMENTS[zeroing],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ImplicitGemmHeader(GemmHeader):
    """The values of one header."""

    template: ClassVar[tuple[str, str]] = (__package__, "implicit_gemm.hpp.j2")

    #: whether the launcher fills the result with zeros
    zeroes: bool
    #: C++ condition under which it does; empty for always
    zeroes_if: str
    #: why, as a comment
    zeroing_comment: str
