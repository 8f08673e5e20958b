"""What the header of an implicit-GEMM kernel shows besides the things of every GEMM kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof_plugins.directions.operation import Zeroing
from ckprof_plugins.pipelines._gemm.template_values import GemmHeader, gemm_values

if TYPE_CHECKING:
    from ckprof_plugins.pipelines._base.template_values import HeaderRequest
    from ckprof_plugins.pipelines.implicit_gemm.instance import ImplicitGemmInstance


@dataclass(frozen=True, slots=True, kw_only=True)
class ImplicitGemmHeader(GemmHeader):
    """The values of one header."""

    #: whether the launcher fills the result with zeros
    zeroes: bool
    #: C++ condition under which it does; empty for always
    zeroes_if: str
    #: why, as a comment
    zeroing_comment: str


_COMMENTS = {
    Zeroing.NEVER: "",
    Zeroing.ALWAYS: "The kernel does not write elements that no tap of the filter reaches.",
    Zeroing.IF_SPLIT: "Splits add to what is there.",
}


def implicit_gemm_header(instance: ImplicitGemmInstance, request: HeaderRequest) -> ImplicitGemmHeader:
    """Return the values of an instance's header."""
    zeroing = request.operation.zeroing
    return ImplicitGemmHeader(
        **gemm_values(instance, request),
        zeroes=zeroing is not Zeroing.NEVER,
        zeroes_if="kargs.k_batch > 1" if zeroing is Zeroing.IF_SPLIT else "",
        zeroing_comment=_COMMENTS[zeroing],
    )
