"""What kernel families must have, and the rule sets that enumerate kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ckprof.plugin.members import optional

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ckprof.model.architecture import Architecture
    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.model.gemm_work import GemmWork, KernelTraits
    from ckprof.model.instance import Instance
    from ckprof.model.problem import Problem
    from ckprof.model.recipe import BuildRecipe
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.model.types import DataType
    from ckprof.plugin.protocols.operations import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource:
    """The generated header of one instance.

    :raises ValueError: the name is no C++ identifier.
    """

    #: unique among all kernels of a library, a C++ identifier
    name: str
    header: str
    #: C++ name of the launcher type with ``launch``, ``is_supported`` and ``get_instance_string``
    launcher: str
    #: C++ type that its ``launch`` takes; empty for that of the direction
    host_args: str = ""
    #: C++ name, from the launcher on, of a type that is a template argument of the kernel's device functions
    #: and of no other kernel's; empty if there is none, which leaves its device code unattributed
    device_type: str = ""
    #: how many device functions it compiles to, about: what its compilation costs
    device_functions: int = 1

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"the name {self.name!r} is no C++ identifier")


class Pipeline(Protocol):
    """A kernel family: its instances, what is valid, and how they are written as C++.

    It is asked about instances alone that it has made, or that name it as their pipeline.
    """

    @property
    def id(self) -> str:
        """What users type with ``--family``."""

    @property
    def label(self) -> str:
        """A few words for tables and help texts."""

    @property
    def directions(self) -> frozenset[str]:
        """Ids of the directions for which the family has kernels."""

    @property
    @optional
    def library(self) -> str:
        """What users type with ``--family`` for all families of a library together; empty for none.

        Converters get it in their request where one of the families is asked for.
        """
        return ""

    def make_instance(self, catalog: Catalog, direction: str, record: Any) -> Instance:
        """Return the instance of a record whose variant names this family.

        :raises InputError: a value has no meaning, e.g. an unknown GEMM pipeline.
        """

    def kernel_name(self, instance: Any) -> str:
        """Return the kernel's file stem and registry name."""

    @optional
    def name_parts(self, instance: Any) -> Sequence[tuple[int, str, str]]:
        """Return what :meth:`kernel_name` joins by underscores, so that names can be shortened.

        Each part has the fields of the instance that it shows, and a number: the least is omitted first, and
        those from :data:`~ckprof.model.kernel.KEPT` on stay where names stand together.
        """
        return ()

    def instance_string(self, instance: Any) -> str:
        """Return CK Builder's text for the instance.

        :raises InputError: the instance has none, e.g. because its direction is not of this family.
        """

    def unmet_requirements(self, instance: Any, arch: str, api_level: str) -> Sequence[UnmetRequirement]:
        """Return every rule that forbids building the instance; empty means that it is valid.

        :raises UsageError: there is no such architecture.
        """

    def default_problem(self, instance: Any, usual: Any) -> Problem:
        """Return what to run an instance on when no problem is given.

        :param usual: the operation's default problem of the instance's dimensions, of the type that the
            operation's problems have. To return it is right for
            every family that computes it; return a problem of about that size otherwise. Instances should
            share problems where they can: each instance is run on all of them.
        """

    @optional
    def second_problems(self, instance: Any) -> Sequence[Sequence[Problem]]:
        """Return small problems that show what a comfortable one hides: groups, strides, pads, tails, splits.

        Each kernel that is measured is verified on them as well, once and untimed.

        :returns: alternatives, the most telling first. Of each, the first is used that the kernel supports
            and that is no more work than the problem that is timed.
        """
        return ()

    def render(self, instance: Any, arch: str, api_level: str) -> KernelSource:
        """Return the C++ header of an instance, normally of a valid one.

        Called once per instance and build, possibly in a thread. The text must depend on the arguments only.

        :raises InputError: the instance cannot be written as C++.
        :raises UsageError: there is no such architecture.
        """

    @optional
    def render_named(self, instance: Any, name: str, arch: str, api_level: str) -> KernelSource:
        """Return what :meth:`render` returns, for a kernel of another name, so that names can be unique.

        :param name: a C++ identifier, unique among all kernels of a library: all C++ names at namespace scope
            must be made from it.
        :raises InputError: as :meth:`render`.
        :raises UsageError: as :meth:`render`.
        """
        raise NotImplementedError

    @optional
    def compilation(self, instances: Sequence[Any], recipe: BuildRecipe) -> BuildRecipe:
        """Return how sources with these instances are compiled, given how those of other families are.

        :param instances: some of them are of the family.
        :raises ToolchainError: the target's headers lack what they need.
        :raises UsageError: they are not for this target.
        """
        return recipe

    @optional
    def record(self, instance: Any) -> CatalogRecord | None:
        """Return the record of which :meth:`make_instance` makes this instance, with the id 0.

        :returns: ``None`` where its fields are those of the instance.
        """
        return None

    @optional
    def use_directions(self, directions: Mapping[str, Operation]) -> None:
        """Serve these operations, as far as the family can. Called once, when all plugins have registered.

        :param directions: id -> operation, of all plugins.
        """

    @optional
    def unfused(self, instance: Any) -> Instance | None:
        """Return the same instance without what is fused to its sums of products; ``None`` if nothing is.

        It computes what :attr:`ckprof.model.problem.FusedProblem.unfused` says of the instance's problems.
        """
        return None

    @optional
    def work(self, instance: Any, problem: Any, splits: int) -> GemmWork | None:
        """Return the matrix products that the instance's kernel makes of a problem.

        :param splits: parts of the reduction.
        :returns: ``None`` where the kernel does not divide a problem that way.
        """
        return None

    @optional
    def automatic_splits(self, instance: Any, problem: Any, workgroups: int) -> int | None:
        """Return the number of parts of the reduction that the kernel chooses for ``--split-k auto``.

        :param workgroups: of the kernel that the device holds at once: those of a compute unit, by its
            occupancy, times the compute units.
        :returns: ``None`` where the kernel does not choose.
        """
        return None

    @optional
    def traits(self, fields: Mapping[str, Any]) -> KernelTraits:
        """Return what the time of a kernel depends on: with it, times can be predicted.

        :param fields: those of its instance, see :meth:`ckprof.model.instance.Instance.fields`.
        """
        raise NotImplementedError

    @optional
    def traits_of_name(self, name: str) -> KernelTraits | None:
        """Return what a kernel's name in a table of measured times says about it; ``None``: nothing."""
        return None

    @optional
    def fields_of_name(self, name: str) -> Mapping[str, Any] | None:
        """Return the fields of an instance that such a name tells; ``None`` if it tells none.

        Names and values are those of :meth:`ckprof.model.instance.Instance.fields`.
        """
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSetRequest:
    """Which kernels of a rule set are asked for, in one call."""

    arch: Architecture
    #: ids of directions, each once
    directions: tuple[str, ...]
    #: numbers of spatial dimensions
    ndims: tuple[int, ...]
    dtypes: tuple[DataType, ...]
    #: converts lists that ship with ckprof: one, e.g. ``forward/tests/nhwgc_fp16``, or those in a folder,
    #: e.g. ``forward/tests``; raises an :class:`~ckprof.errors.InputError` for another name
    read_lists: Callable[[str], Sequence[Instance]]
    #: values of plugins' options by name; any may be missing
    plugin_options: Mapping[str, object] = field(default_factory=dict)


class RuleSetEntry(NamedTuple):
    """One kernel of a rule set."""

    instance: Any
    #: why it should not be there, beside what the rules of its pipeline say
    defect: UnmetRequirement | None = None


class RuleSet(Protocol):
    """An enumeration of instances per architecture."""

    @property
    def id(self) -> str:
        """What users type with ``--rule-set``."""

    @property
    def label(self) -> str:
        """A few words for tables and help texts."""

    def enumerate(self, request: RuleSetRequest) -> Sequence[RuleSetEntry]:
        """Return the kernels in a fixed order, each once.

        Kernels that are not valid for the architecture may be among them: they are sorted out by asking their
        pipelines, unless the user wants upstream's sets as they are.

        :raises InputError: a list that it reads is wrong.
        :raises UsageError: it has nothing for what is asked for.
        """

    @property
    @optional
    def on_demand(self) -> bool:
        """True if it is small enough that :func:`ckprof.jit` may build it where no instances are named."""
        return False
