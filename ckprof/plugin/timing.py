"""What directions and pipelines may offer so that the times of their kernels can be predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.kernel_traits import KernelTraits
    from ckprof.model.problem import ConvProblem


@runtime_checkable
class GemmDirection(Protocol):
    """A direction that is a matrix product."""

    def gemm_sizes(self, problem: ConvProblem) -> tuple[Any, Any, Any]:
        """Return m, n and k of the product that one group of a problem is.

        It is also called with a problem whose sizes are symbols, to write the same formula as C++: use only
        ``+ - * //`` and :func:`math.prod`, and do not compare.
        """


@runtime_checkable
class TimedPipeline(Protocol):
    """A pipeline whose kernels' times can be predicted."""

    def traits(self, fields: Mapping[str, Any]) -> KernelTraits:
        """Return what the time of a kernel depends on.

        :param fields: those of its instance, see :meth:`ckprof.model.instance.Instance.fields`.
        """


@runtime_checkable
class NamedKernels(Protocol):
    """A pipeline that knows kernels by their names in tables of measured times."""

    def traits_of_name(self, name: str) -> KernelTraits | None:
        """Return what a kernel's name says about it; ``None`` if it says nothing."""
