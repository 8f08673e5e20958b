"""What directions and pipelines may offer so that the times of their kernels can be predicted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.gemm_work import KernelTraits, Product
    from ckprof.model.types import DataType


@runtime_checkable
class ProductOperation(Protocol):
    """An operation, a direction of convolution or another one, whose problems are matrix products."""

    def product(self, problem: Any, dtype: DataType) -> Product:
        """Return the products that a problem is.

        It is also called with a problem whose sizes are symbols, to write the same formula as C++: use only
        ``+ - * //`` and :func:`math.prod`, and do not compare.

        :param dtype: of the operands.
        :raises InputError: there are no such products.
        """


@runtime_checkable
class FeaturedProblem(Protocol):
    """A problem that knows what else makes kernels fast or slow on it than the sizes of its products."""

    def features(self) -> tuple[float, ...]:
        """Return as many numbers for every problem of the type, on scales on which 1 is much."""


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


@runtime_checkable
class NamedFields(Protocol):
    """A pipeline that reads more of an instance's fields from a name in a table of measured times."""

    def fields_of_name(self, name: str) -> Mapping[str, Any] | None:
        """Return those fields of an instance that a kernel's name tells; ``None`` if it tells none.

        Names and values are those of :meth:`ckprof.model.instance.Instance.fields`.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedKernel:
    """A kernel as a target is asked about it."""

    #: id of the direction
    direction: str
    #: name of the type of the operands
    dtype: str
    #: fields of the instance; only some of them where a name is all that is known
    fields: Mapping[str, Any]
    #: what the configuration says
    traits: KernelTraits


@runtime_checkable
class TimedTarget(Protocol):
    """A target whose kernels do not do what their configuration says of tiles, stages and runs."""

    def executed(self, kernel: TimedKernel) -> KernelTraits:
        """Return what the kernel really does there.

        Kernels with the same machine code should have equal traits.

        :raises ToolchainError: what tells it cannot be compiled here.
        """

    def device_name(self) -> str:
        """Return the name of the device of this machine; empty if there is none."""
