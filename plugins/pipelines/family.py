"""The part of the pipeline interface that all kernel families implement alike, and what their headers show.

All C++ spellings are computed in Python; templates only lay them out.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ckprof.errors import InputError
from ckprof.kernels.c_interface import string_literal
from ckprof.kernels.jinja import render_cached
from ckprof.plugin.protocols import KernelSource, Pipeline
from ckprof_plugins.directions._convolution.kernel import ConvOperation
from ckprof_plugins.pipelines.rules import broken_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.model.instance import Instance
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.plugin.protocols import Operation
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.directions._convolution.kernel import ConvKernel
    from ckprof_plugins.pipelines.rules import Rules


#: what users type for all families of kernels that CK Tile has
LIBRARY: Final = "ck-tile"


class KernelFamily(Pipeline, ABC):
    """A family of kernels with one class of instances, one set of rules and one frame of headers."""

    id: ClassVar[str]
    label: ClassVar[str]
    library: ClassVar[str] = LIBRARY
    #: the family has kernels for every direction that one of these computes
    kernels: ClassVar[frozenset[ConvKernel]]
    rules: ClassVar[Rules]

    def __init__(self) -> None:
        self._serve(built_in_operations())

    def use_directions(self, directions: Mapping[str, Operation]) -> None:
        """Write kernels for these directions, as far as they declare an operation that the family knows.

        Until it is called, the family knows the directions that ship with ckprof.
        """
        self._serve(operations_of(directions.values()))

    @property
    def directions(self) -> frozenset[str]:
        """Ids of the directions for which the family has kernels."""
        return frozenset(self._operations)

    def operation_of(self, instance: Instance) -> ConvOperation:
        """Return what the instance's direction computes.

        :raises InputError: the family has no kernels for the direction.
        """
        operation = self._operations.get(instance.direction)
        if operation is None:
            directions = ", ".join(sorted(self._operations))
            raise InputError(f"direction is {instance.direction!r}, expected one of {directions}")
        return operation

    @abstractmethod
    def header_of(
        self, instance: Any, operation: ConvOperation, name: str, arch: str, api_level: str
    ) -> KernelHeader:
        """Return what the header's template shows, under the name ``p``.

        :param operation: what the instance's direction computes.
        :param name: the kernel's name, unique in its library.
        :param arch: recorded in the header, of no influence on the code.
        :param api_level: of the CK Tile headers.
        """

    def unmet_requirements(self, instance: Any, arch: str, api_level: str) -> Sequence[UnmetRequirement]:
        """Return every rule that forbids building the instance.

        :raises UsageError: there is no such architecture.
        """
        operation = self._operations.get(instance.direction)
        return broken_rules(self.rules, instance, arch, api_level, self.directions, operation)

    def default_problem(self, instance: Any, usual: Convolution) -> Convolution:
        """Return the direction's problem: a family that cannot compute it names another one."""
        return usual

    def render(self, instance: Any, arch: str, api_level: str) -> KernelSource:
        """Return the C++ header of an instance under the name that :meth:`kernel_name` gives it."""
        return self.render_named(instance, self.kernel_name(instance), arch, api_level)

    def render_named(self, instance: Any, name: str, arch: str, api_level: str) -> KernelSource:
        """Return the C++ header of an instance.

        Validity is not checked again: what :meth:`unmet_requirements` rejects may not compile, or be wrong.

        :param name: the kernel's name, unique in its library.
        """
        header = self.header_of(instance, self.operation_of(instance), name, arch, api_level)
        launcher = f"{header.name}_Launcher"
        return KernelSource(
            name=header.name,
            header=render_cached(__package__, header.template, header, header.literal_fields),
            launcher=launcher,
            host_args=(
                f"{launcher}::{header.own_host_args}" if header.own_host_args else header.operation.host_args
            ),
            device_type=f"{launcher}::{header.device_type}",
            device_functions=header.device_functions,
        )

    def _serve(self, operations: Mapping[str, ConvOperation]) -> None:
        self._operations = {
            id_: operation for id_, operation in operations.items() if operation.kernel in self.kernels
        }


def operations_of(directions: Iterable[Operation]) -> Mapping[str, ConvOperation]:
    """Return direction id -> operation of those directions that declare one."""
    declared = {direction.id: getattr(direction, "operation", None) for direction in directions}
    return MappingProxyType(
        {id_: value for id_, value in declared.items() if isinstance(value, ConvOperation)}
    )


@lru_cache(maxsize=1)
def built_in_operations() -> Mapping[str, ConvOperation]:
    """Return the operations of the directions that ship with ckprof."""
    from ckprof_plugins.directions import shipped_directions

    return operations_of(shipped_directions())


def tensors_of(direction: str) -> tuple[str, str, str]:
    """Return which tensors of a convolution are a direction's first operand, second operand and result.

    One of a plugin is taken for forward.
    """
    operation = built_in_operations().get(direction)
    return ("input", "weight", "output") if operation is None else operation.tensors


def result_of(direction: str) -> str:
    """Return which tensor of a convolution a direction computes, see :func:`tensors_of`."""
    return tensors_of(direction)[-1]


_STANDARD = ("<cstdint>", "<numeric>", "<stdexcept>", "<string>")

_CK_TILE = (
    "ck_tile/core.hpp",
    "ck_tile/host/kernel_launch.hpp",
    "ck_tile/ops/gemm.hpp",
    "ck_tile/ops/grouped_convolution.hpp",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherRequirement:
    """Something that a launcher rejects before it asks the kernel."""

    #: C++ string literal: stable id of the condition
    id: str
    #: C++ condition on ``param``, the problem, and ``k_batch``; it is rejected where this holds
    condition: str
    #: C++ expression of a string that says why
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelHeader:
    """The values of the parts that all headers have."""

    #: fields that templates print and do nothing else with; see :mod:`ckprof.kernels.jinja`
    literal_fields: ClassVar[tuple[str, ...]] = ("name", "key")

    #: file name of the template
    template: str
    version: str
    name: str
    key: str
    #: catalog variant, for the comment on top
    variant: str
    operation: ConvOperation
    #: include directives in groups, with their brackets or quotes
    includes: tuple[tuple[str, ...], ...]
    unmet_requirements: tuple[LauncherRequirement, ...]
    #: whether the launcher says how many splits the kernel chooses by itself
    deduces_split_k: bool
    #: member of the launcher that is a template argument of the kernel's device functions
    device_type: str = "Kernel"
    #: device functions that the launcher instantiates
    device_functions: int = 1
    #: include directives of files that only some kernels need
    further_includes: tuple[str, ...] = ()
    #: C++ list of pointers to no D tensors, as many as the kernel takes
    no_d_tensors: str = "{}"
    #: type of the host arguments, a member of the launcher; empty: that of the operation
    own_host_args: str = ""
    #: C++ template of a launcher that changes problems for another one; empty: none
    wrapper: str = ""
    #: its template arguments after the other launcher, each with its comma
    wrapper_arguments: str = ""
    #: type of the kernel that says what the launcher computes
    described_type: str = "Kernel"


@lru_cache(maxsize=64)
def includes(*further: str) -> tuple[tuple[str, ...], ...]:
    """Return the include directives of a header: standard library, CK Tile, further files."""
    return _STANDARD, tuple(f'"{name}"' for name in (*_CK_TILE, *further))


@lru_cache(maxsize=16)
def split_k_requirements(operation: ConvOperation) -> tuple[LauncherRequirement, ...]:
    """Return what the direction rejects of ``k_batch``."""
    return tuple(rejection("split-k", condition, reason) for condition, reason in operation.split_k)


@lru_cache(maxsize=256)
def rejection(condition_id: str, condition: str, reason: str) -> LauncherRequirement:
    """Return the rejection of everything for which the C++ ``condition`` holds.

    :param reason: a sentence; C++ expressions of integers stand in braces, e.g. ``split_k = {k_batch}``.
    """
    return LauncherRequirement(id=string_literal(condition_id), condition=condition, reason=_text(reason))


def _text(sentence: str) -> str:
    parts = re.split(r"\{(.*?)\}", sentence)
    terms = [
        f"std::to_string({part})" if index % 2 else string_literal(part)
        for index, part in enumerate(parts)
        if part
    ]
    # the first addition must have a string on one side
    return " + ".join(terms if terms[0].startswith("std::") else [f"std::string({terms[0]})", *terms[1:]])
