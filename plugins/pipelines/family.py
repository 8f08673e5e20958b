"""The part of the pipeline interface that all kernel families implement alike, and what their headers show.

All C++ spellings are computed in Python; templates only lay them out.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

from ckprof.errors import InputError
from ckprof.kernels.c_interface import string_literal
from ckprof.kernels.jinja import render_cached
from ckprof.model.architecture import find_architecture
from ckprof.model.instance import Instance
from ckprof.plugin.protocols import KernelSource, Pipeline
from ckprof_plugins.directions._convolution.kernel import ConvOperation
from ckprof_plugins.pipelines.rules import RuleSubject, broken_rules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.model.gemm_work import GemmWork
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.plugin.protocols import Operation
    from ckprof_plugins.directions._convolution.convolution import Convolution
    from ckprof_plugins.directions._convolution.kernel import ConvKernel
    from ckprof_plugins.pipelines.rules import Rule


RecordT = TypeVar("RecordT", bound="CatalogRecord", contravariant=True)
InstanceT = TypeVar("InstanceT", bound=Instance)


class KernelFamily(Pipeline[RecordT], ABC, Generic[RecordT, InstanceT]):
    """A family of kernels with one instance class, one set of rules and one template."""

    id: ClassVar[str]
    label: ClassVar[str]
    #: the family has kernels for every direction that one of these computes
    kernels: ClassVar[frozenset[ConvKernel]]

    #: the only instances that the family takes
    instance_type: ClassVar[type[Instance]]
    rules: ClassVar[tuple[Rule, ...]]

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
        return self._direction_ids

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
    def read_record(self, catalog: Catalog, direction: str, record: RecordT) -> InstanceT:
        """Return the instance that a record describes.

        :raises InputError: a value is unknown, out of range or contradicts another one.
        """

    @abstractmethod
    def name_of(self, instance: InstanceT) -> str:
        """Return the name of the instance's kernel, a C++ identifier."""

    @abstractmethod
    def string_of(self, instance: InstanceT) -> str:
        """Return CK Builder's text for the instance."""

    @abstractmethod
    def header_of(self, instance: InstanceT, request: HeaderRequest) -> KernelHeader:
        """Return what the header's template shows, under the name ``p``."""

    def make_instance(self, catalog: Catalog, direction: str, record: RecordT) -> InstanceT:
        """Return the instance that a record describes.

        :raises InputError: a value is unknown or out of range; the message says in which instance.
        """
        try:
            return self.read_record(catalog, direction, record)
        except InputError as error:
            raise InputError(f"instance {record.id}: {error.message}") from None

    def kernel_name(self, instance: Instance) -> str:
        """Return the kernel's file stem and registry name."""
        return self.name_of(self.checked(instance))

    def instance_string(self, instance: Instance) -> str:
        """Return CK Builder's text for the instance."""
        return self.string_of(self.checked(instance))

    def unmet_requirements(self, instance: Instance, arch: str, api_level: str) -> Sequence[UnmetRequirement]:
        """Return every rule that forbids building the instance.

        :raises UsageError: there is no such architecture.
        """
        candidate = RuleSubject(
            instance=self.checked(instance),
            arch=find_architecture(arch),
            api_level=api_level,
            operation=self._operations.get(instance.direction),
            directions=self._direction_ids,
        )
        return broken_rules(self.rules, candidate)

    def default_problem(self, instance: Instance, usual: Convolution) -> Convolution:
        """Return the direction's problem: a family that cannot compute it names another one."""
        return usual

    def work(self, instance: Instance, problem: Convolution, splits: int) -> GemmWork | None:
        """Return the matrix products that the kernel makes of a problem; ``None`` if it makes none."""
        return None

    def render(self, instance: Instance, arch: str, api_level: str) -> KernelSource:
        """Return the C++ header of an instance under the name that :meth:`kernel_name` gives it."""
        return self.render_named(instance, self.kernel_name(instance), arch, api_level)

    def render_named(self, instance: Instance, name: str, arch: str, api_level: str) -> KernelSource:
        """Return the C++ header of an instance.

        Validity is not checked again: what :meth:`unmet_requirements` rejects may not compile, or be wrong.

        :param name: the kernel's name, unique in its library.
        """
        checked = self.checked(instance)
        operation = self.operation_of(checked)
        request = HeaderRequest(name=name, arch=arch, api_level=api_level, operation=operation)
        header = self.header_of(checked, request)
        launcher = f"{header.name}_Launcher"
        return KernelSource(
            name=header.name,
            header=render_cached(*header.template, header, header.literal_fields),
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
        self._direction_ids = frozenset(self._operations)

    def checked(self, instance: Instance) -> InstanceT:
        """Return an instance as what it must be.

        :raises TypeError: it is another family's.
        """
        expected = self.instance_type
        if not isinstance(instance, expected):
            raise TypeError(f"expected an instance of {expected.__name__}, got a {type(instance).__name__}")
        return cast("InstanceT", instance)


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


def result_of(direction: str) -> str:
    """Return which tensor of a convolution a direction computes; one of a plugin is taken for forward."""
    operation = built_in_operations().get(direction)
    return "output" if operation is None else operation.result


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
class HeaderRequest:
    """What a header is written for, beside its instance."""

    #: the kernel's name, unique in its library
    name: str
    #: recorded in the header, of no influence on the code
    arch: str
    #: of the CK Tile headers
    api_level: str
    operation: ConvOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelHeader:
    """The values of the parts that all headers have."""

    #: import name of the package that holds the template, and its file name
    template: ClassVar[tuple[str, str]]
    #: fields that templates print and do nothing else with; see :mod:`ckprof.kernels.jinja`
    literal_fields: ClassVar[tuple[str, ...]] = ("name", "key")

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
    #: whether the launcher hands on narrower problems, in which a stride is seen as channels
    folds_stride: bool = False
    #: type of the kernel that says what the launcher computes
    described_type: str = "Kernel"


@lru_cache(maxsize=64)
def includes(*further: str) -> tuple[tuple[str, ...], ...]:
    """Return the include directives of a header: standard library, CK Tile, further files."""
    return _STANDARD, tuple(f'"{name}"' for name in (*_CK_TILE, *further))


@lru_cache(maxsize=16)
def split_k_requirements(operation: ConvOperation) -> tuple[LauncherRequirement, ...]:
    """Return what the direction rejects of ``k_batch``."""
    return tuple(rejection("split-k", rule.rejected_if, rule.reason) for rule in operation.split_k)


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
