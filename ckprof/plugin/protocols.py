"""What directions, pipelines, targets and converters must have.

These are structural types: a plugin need not derive from them. What it registers is checked against them, and
the errors that a docstring names are the ones that a member may raise; see :mod:`ckprof.plugin.guard`.
Every ``id`` is a lower-case word that is
unique among its kind; it is what users type.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from ckprof.model.dtype import SHARED_TYPES
from ckprof.model.layout import LAYOUTS

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.arch.architecture import Architecture
    from ckprof.compare.model import Comparison as MeasurementComparison
    from ckprof.model.batch_results import BatchResults
    from ckprof.model.builder_list import BuilderList
    from ckprof.model.catalog import Catalog, CatalogRecord
    from ckprof.model.conversion import Conversion, ConversionRequest
    from ckprof.model.conversion_tree import TreePlan, TreeRequest
    from ckprof.model.device import DeviceIdentity
    from ckprof.model.device_kernel import DeviceKernel
    from ckprof.model.dtype import DataType
    from ckprof.model.explanation import ExplainedLine, ExplainRequest
    from ckprof.model.extraction import (
        ExtractedFile,
        ExtractionReport,
        ExtractorOption,
        ExtractRequest,
        ListComparison,
    )
    from ckprof.model.finding import Finding
    from ckprof.model.gemm_work import Estimate, GemmWork
    from ckprof.model.instance import Instance
    from ckprof.model.layout import Layout
    from ckprof.model.parity import ParityReport
    from ckprof.model.problem import ConvProblem, Problem
    from ckprof.model.recipe import BuildRecipe, BuildRequest
    from ckprof.model.requirement import UnmetRequirement
    from ckprof.model.results import RunResults
    from ckprof.model.roof import Roof
    from ckprof.model.type_set import TypeSet
    from ckprof.problems.tokens import ParsedProblem, ProblemLine
    from ckprof.store_report.content import ReportContent
    from ckprof.strings.revision import Revision
    from ckprof.strings.string_grammar import StringGrammar

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    #: the record type that a pipeline reads; code that does not know it may hand over any record
    RecordT = TypeVar("RecordT", bound=CatalogRecord, contravariant=True, default=CatalogRecord)
else:
    from typing import TypeVar

    RecordT = TypeVar("RecordT", contravariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogVariant:
    """One value of a catalog's ``variant`` key: its operation and what its records look like."""

    name: str
    #: id of the operation
    direction: str
    #: a msgspec struct with ``forbid_unknown_fields``; its field order is the key order in the file
    record_type: type[CatalogRecord]
    #: writes a catalog as the lines of a list again, such that converting them gives the catalog back;
    #: ``None`` if there is no such spelling. Raises ``InputError`` for a record that no line can say.
    native: Callable[[Catalog], Sequence[str]] | None = None
    #: layouts that such a catalog can name; by default those of convolutions
    layouts: tuple[Layout, ...] = LAYOUTS
    #: data types that such a catalog can name
    dtypes: tuple[DataType, ...] = SHARED_TYPES


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionalForm:
    """How a direction's operation is called on ckProfiler's command line."""

    #: operation names, e.g. ``grouped_conv_fwd`` and ``grouped_conv_fwd_tile``
    operations: tuple[str, ...]
    #: names of the positional arguments between the operation and the convolution parameters, in order;
    #: ``dtype``, ``layout`` and ``ndim`` are among them
    leading: tuple[str, ...]
    #: names of those behind the convolution parameters; ``split_k`` is understood
    trailing: tuple[str, ...]
    #: data type number -> spelling, for the types that ckprof knows
    dtypes: Mapping[int, str]
    #: layout number -> (1D, 2D, 3D) layout names, ``None`` where there is none; unknown numbers are absent
    layouts: Mapping[int, tuple[str | None, str | None, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceExtension:
    """C functions that the libraries of one direction have beside those that all have."""

    #: declares them for programs; includes nothing of ckprof
    header: Path
    #: C++ that defines them; it is put behind the texts of ``ckprof_conv_api.h`` and of the header, and
    #: includes neither
    source: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatcherForm:
    """How a direction is called through the C interface of CK Tile's dispatcher."""

    #: value of ``ConvProblemC.direction``
    number: int
    #: which of ``input``, ``weight``, ``output`` the arguments ``a``, ``b``, ``c`` of a run are
    buffers: tuple[str, str, str]
    #: further functions that programs expect of the direction's libraries; ``None`` for none
    extension: InterfaceExtension | None = None


class Operation(Protocol):
    """What is computed: roles of the tensors, reference, accumulation length.

    It may also be a :class:`OwnProblems` and a :class:`KernelInterface`; a :class:`Direction` is both in
    the way of convolutions.
    """

    @property
    def id(self) -> str:
        """What users type, e.g. after ``ckprof run``."""

    @property
    def label(self) -> str:
        """A few words for tables and help texts."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other spellings: folder names of conf trees, variant strings."""

    @property
    def default_problem(self) -> Mapping[int, Problem]:
        """Number of spatial dimensions -> the problem that is used when none is given.

        An operation without spatial dimensions has one for 0.
        """

    @property
    def tensors(self) -> tuple[str, str, str]:
        """Names of first operand, second operand and result, as the operation's problems know them."""

    @property
    def host_args_type(self) -> str:
        """CK Tile's type of the host arguments, as C++ text."""

    def reduction_length(self, problem: Any) -> int:
        """Return how many products are accumulated into one element of the result.

        :param problem: of the type that the operation's problems have.
        """

    def reference(
        self,
        problem: Any,
        layout: Any,
        operands: Mapping[str, NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Compute the result in double precision.

        Called for parts of a problem (see :meth:`ckprof.model.problem.Problem.parts`): results with the axis
        that divides the problem are joined, others added up.

        :param problem: of the type that the operation's problems have.
        :param layout: one of those that its catalogs name.
        :param operands: tensor name -> values in the memory order of ``layout``, without gaps, shaped as
            :meth:`ckprof.model.problem.Problem.tensor` says.
        :returns: the result tensor in the memory order of ``layout``, without gaps.
        """


@runtime_checkable
class OwnProblems(Protocol):
    """An operation that is no convolution: its problems, their lines, layouts and types are its own."""

    @property
    def problem_type(self) -> type[object]:
        """The frozen dataclass of its problems: fields of plain JSON values, see
        :class:`ckprof.model.problem.Problem`."""

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """Layouts that its kernels have."""

    @property
    def line_words(self) -> tuple[str, ...]:
        """First words of lines that are for this operation, beside a program's name."""

    def types(self, dtype: DataType) -> TypeSet:
        """Return the types of a kernel whose operands have this one.

        :raises InputError: there are no such kernels.
        """

    def parse_problem(self, line: ProblemLine) -> ParsedProblem:
        """Parse a line.

        :raises InputError: it is wrong, with the position and the expected form.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryInterface:
    """C++ of an operation: how its kernels get into a library's table, and its C functions for programs."""

    #: name of its libraries, without prefix and suffix of the file
    library: str
    #: C++ name of a function template ``<Launcher, HostArgs>(key, name)`` that makes a kernel's row
    row: str
    #: C++ that defines it with the help of ``ckprof_kernel_entry.hpp``; it stands in front of each row
    entry: Path
    #: declares the functions for programs; includes ``ckprof_abi.h`` and nothing else of ckprof
    header: Path
    #: C++ that defines them; it is put behind the texts of ``ckprof_library_info.h`` and of the header, and
    #: includes neither
    source: Path


@runtime_checkable
class ProblemSampler(Protocol):
    """An operation that invents problems, for comparing what kernels support."""

    def random_problem(self, draw: random.Random) -> Problem:
        """Return a small problem that is itself well-formed.

        :raises InputError: the sizes that were drawn do not fit together: it is asked again.
        """


@runtime_checkable
class KernelInterface(Protocol):
    """An operation whose kernel libraries are not called as those of convolutions are."""

    @property
    def interface(self) -> LibraryInterface:
        """Its C++."""


class Direction(Protocol):
    """A direction of convolution: an :class:`Operation` whose problems are
    :class:`ckprof.model.problem.ConvProblem`, with what programs and libraries of convolutions call it."""

    @property
    def id(self) -> str:
        """What users type, e.g. after ``ckprof run``."""

    @property
    def label(self) -> str:
        """A few words for tables and help texts."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other spellings: folder names of conf trees, variant strings."""

    @property
    def miopen_flag(self) -> int:
        """Bit of MIOpenDriver's ``-F`` that asks for this direction."""

    @property
    def positional_form(self) -> PositionalForm:
        """How ckProfiler is called for this direction."""

    @property
    def dispatcher_form(self) -> DispatcherForm | None:
        """How CK Tile's dispatcher is called for this direction; ``None`` if it does not know it."""

    @property
    def default_problem(self) -> Mapping[int, ConvProblem]:
        """Number of spatial dimensions -> the problem that is used when none is given."""

    @property
    def tensors(self) -> tuple[str, str, str]:
        """Which of ``input``, ``weight``, ``output`` are (first operand, second operand, result)."""

    @property
    def host_args_type(self) -> str:
        """CK Tile's type of the host arguments, as C++ text."""

    def reduction_length(self, problem: Any) -> int:
        """Return how many products are accumulated into one element of the result.

        :param problem: a :class:`~ckprof.model.problem.ConvProblem`.
        """

    def reference(
        self,
        problem: Any,
        layout: Any,
        operands: Mapping[str, NDArray[np.float64]],
    ) -> NDArray[np.float64]:
        """Compute the result in double precision.

        Called for some images of a problem at a time: results with an axis ``N`` are joined, others
        added up.

        :param problem: a :class:`~ckprof.model.problem.ConvProblem`.
        :param layout: a :class:`~ckprof.model.layout.ConvLayout`.
        :param operands: tensor name -> values in the memory order of ``layout``, shaped as
            :func:`ckprof.model.layout.tensor_shape` says.
        :returns: the result tensor in the memory order of ``layout``.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource:
    """The generated header of one instance."""

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


class Pipeline(Protocol[RecordT]):
    """A kernel family: its instances, what is valid, and how they are written as C++."""

    @property
    def id(self) -> str:
        """What users type with ``--pipeline``."""

    @property
    def label(self) -> str:
        """A few words for tables and help texts."""

    @property
    def directions(self) -> frozenset[str]:
        """Ids of the directions for which the family has kernels."""

    def claims(self, variant: str, record: RecordT) -> bool:
        """Say whether the record of such a catalog is an instance of this family.

        Exactly one pipeline must claim each record.
        """

    def make_instance(self, catalog: Catalog, direction: str, record: RecordT) -> Instance:
        """Return the instance that a claimed record describes.

        :raises InputError: a value has no meaning, e.g. an unknown GEMM pipeline.
        """

    def kernel_name(self, instance: Instance) -> str:
        """Return the kernel's file stem and registry name."""

    def instance_string(self, instance: Instance) -> str:
        """Return CK Builder's text for the instance.

        :raises InputError: the instance has none, e.g. because its direction is not of this family.
        """

    def unmet_requirements(self, instance: Instance, arch: str, api_level: str) -> Sequence[UnmetRequirement]:
        """Return every rule that forbids building the instance; empty means that it is valid.

        :raises UsageError: there is no such architecture.
        """

    def default_problem(self, instance: Instance, usual: Any) -> Problem:
        """Return what to run an instance on when no problem is given.

        :param usual: the operation's default problem of the instance's dimensions, of the type that the
            operation's problems have. To return it is right for
            every family that computes it; return a problem of about that size otherwise. Instances should
            share problems where they can: each instance is run on all of them.
        """

    def render(self, instance: Instance, arch: str, api_level: str) -> KernelSource:
        """Return the C++ header of an instance, normally of a valid one.

        Called once per instance and build, possibly in a thread. The text must depend on the arguments only.

        :raises InputError: the instance cannot be written as C++.
        :raises UsageError: there is no such architecture.
        """


@runtime_checkable
class NamedPipeline(Protocol):
    """A pipeline that writes a kernel under a name that it is given, so that names can be made unique."""

    def render_named(self, instance: Instance, name: str, arch: str, api_level: str) -> KernelSource:
        """Return what :meth:`Pipeline.render` returns, for a kernel of another name.

        :param name: a C++ identifier, unique among all kernels of a library: all C++ names at namespace scope
            must be made from it.
        """


@runtime_checkable
class DirectionUser(Protocol):
    """A pipeline that asks directions what to write, so that it can serve those of other plugins."""

    def use_directions(self, directions: Mapping[str, Direction]) -> None:
        """Serve these directions. Called once, when all plugins have registered.

        :param directions: direction id -> direction, of all plugins.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSetRequest:
    """Which kernels of a rule set are asked for, in one call."""

    arch: Architecture
    #: ids of directions, each once
    directions: tuple[str, ...]
    #: numbers of spatial dimensions
    ndims: tuple[int, ...]
    dtypes: tuple[DataType, ...]
    #: converts the lists below a folder of those that ship with ckprof, e.g. ``forward/tests``
    read_lists: Callable[[str], Sequence[Instance]]


class RuleSetEntry(NamedTuple):
    """One kernel of a rule set."""

    instance: Instance
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


@runtime_checkable
class OnDemandRuleSet(RuleSet, Protocol):
    """A rule set that may be small enough to be built while a program waits."""

    @property
    def on_demand(self) -> bool:
        """True when :func:`ckprof.jit` may take it where no instances are named."""


@runtime_checkable
class MatrixPipeline(Protocol):
    """A pipeline that also tells how its kernels divide a problem into matrix products."""

    def work(self, instance: Instance, problem: Any, splits: int) -> GemmWork | None:
        """Return the matrix products that the instance's kernel makes of a problem.

        :param splits: parts of the reduction.
        :returns: ``None`` where the kernel does not divide a problem that way.
        """


@runtime_checkable
class InspectableTarget(Protocol):
    """A target that also reads the machine code that it builds."""

    def inspect(self, code_object: Path, arch: str) -> Sequence[DeviceKernel]:
        """Return the kernels of a code object with what each of them needs.

        :raises InputError: it is no code object of this target.
        :raises ToolchainError: a tool that reads it is missing.
        :raises CkprofError: a package that reads it is missing.
        """

    def estimate(self, kernel: DeviceKernel, work: GemmWork) -> Estimate | None:
        """Return bounds for a kernel on a problem; ``None`` where too little is known."""


@runtime_checkable
class ModellingTarget(Protocol):
    """A target that may run kernels of its own in place of those of the architecture that is named."""

    @property
    def models_arch(self) -> bool:
        """True when its machine code says nothing about the architecture."""


@runtime_checkable
class DeviceIdentifier(Protocol):
    """A target that knows more of a device than the line that its libraries print."""

    def device_identity(self, arch: str, device: int) -> DeviceIdentity | None:
        """Return what measurements on a device are filed under; ``None`` if it cannot be read now.

        :param device: its index.
        """


@runtime_checkable
class RoofTarget(Protocol):
    """A target that knows what its devices reach by their data sheets."""

    def theoretical_roofs(self, arch: str, device: int) -> Sequence[Roof]:
        """Return the theoretical roofs of a device, one per data type; empty if it is not known.

        :param device: its index.
        """


class Target(Protocol):
    """A toolchain, a provider of CK Tile headers and a place to run."""

    @property
    def id(self) -> str:
        """What users type with ``--target``."""

    @property
    def label(self) -> str:
        """A few words for tables and help texts."""

    @property
    def embedded(self) -> bool:
        """True when kernels run without any device: the first such target is the default."""

    @property
    def default_arch(self) -> str:
        """Architecture used without ``--arch``."""

    def findings(self) -> Sequence[Finding]:
        """Return what is there and what is missing, for ``ckprof doctor``. Must not raise."""

    def recipe(self, request: BuildRequest) -> BuildRecipe:
        """Return how to compile and link for this target.

        :raises ToolchainError: no usable compiler or headers; the message says what to install.
        :raises UsageError: the target has no such architecture or API level.
        """


class Baseline(Protocol):
    """A library of somebody else that instances are compared with: same problem, operands and rules.

    It computes in a worker process of its own, which alone imports it.
    """

    @property
    def id(self) -> str:
        """What users type with ``--baseline``."""

    @property
    def label(self) -> str:
        """A few words for tables and help texts."""

    @property
    def entry(self) -> str:
        """``module:function``, or ``path/of/a/file.py:function``: what makes the engine.

        The worker calls the function with a :class:`ckprof.run.messages.DeviceChoice` and with whether to
        compute where the host does. It returns a :class:`ckprof.run.baseline_engine.BaselineEngine`, or
        raises :class:`ckprof.run.baseline_engine.BaselineUnusable`.
        """

    def missing(self) -> str:
        """Return what is not installed and how to install it; empty if nothing. Must not import it."""


class ListExtractor(Protocol):
    """Derives instance lists from an installed library."""

    @property
    def id(self) -> str:
        """What users type with ``--extractor``."""

    @property
    def label(self) -> str:
        """A few words for help texts."""

    @property
    def options(self) -> Sequence[ExtractorOption]:
        """The options that it understands beside those of every extractor."""

    def extract(self, request: ExtractRequest) -> ExtractionReport:
        """Derive lists; an error that concerns one list is reported with it and does not stop the others.

        :raises UsageError: the request asks for something that the extractor does not know.
        :raises InputError: the library cannot be read.
        :raises ToolchainError: there is no such library.
        """

    def compare(self, file: ExtractedFile, kept: Sequence[str] | None) -> ListComparison:
        """Compare a derived list with the lines of a kept one; ``None`` if there is none."""


class Converter(Protocol):
    """Reads one or more dialects of instance lists.

    It may also be a :class:`StreamingConverter`, a :class:`FamilyReader`, a :class:`TreeConverter` or a
    :class:`LineExplainer`.
    """

    @property
    def id(self) -> str:
        """Name for messages and reports."""

    @property
    def label(self) -> str:
        """A few words for help texts."""

    def recognises(self, request: ConversionRequest) -> bool:
        """Say whether the content is in a dialect of this converter. Must be quick and must not raise.

        The request's ``data`` may be but the beginning of a large file.
        """

    def convert(self, request: ConversionRequest) -> Conversion:
        """Convert the whole input.

        :raises InputError: a line is wrong, or the file cannot be read; nothing of it may be used then.
        :raises ExceptionGroup: never; several wrong lines are one
            :class:`~ckprof.model.list_error.ListError` with all diagnostics.
        """


@runtime_checkable
class StreamingConverter(Protocol):
    """A converter that need not have large files in memory."""

    @property
    def streams(self) -> bool:
        """Whether it reads large files through the request's ``stream``; others get all in ``data``."""


@runtime_checkable
class FamilyReader(Protocol):
    """A converter or builder reader that reads lists with what ``ckprof_register_conf_families`` returns."""

    @property
    def family_type(self) -> type[object]:
        """Type of the tables; a plugin that registers anything else is reported."""

    def use_families(self, families: Sequence[object]) -> None:
        """Read with these families from now on; called once, after all plugins are loaded.

        :raises PluginError: two of them have the same id, or a table contradicts itself.
        """


@runtime_checkable
class TreeConverter(Protocol):
    """A converter that knows how whole folders of lists map to folders of catalogs."""

    def plan_tree(self, request: TreeRequest) -> TreePlan | None:
        """Convert the lists of a folder, but write nothing; ``None`` if no list of this converter is there.

        A list with errors ends the plan: what precedes it is planned, what follows is not reached.

        :raises InputError: a folder cannot be read, or two lists give the same catalog.
        """


@runtime_checkable
class LineExplainer(Protocol):
    """A converter that can tell what becomes of a single line."""

    def explain(self, request: ExplainRequest) -> ExplainedLine | None:
        """Explain a line; ``None`` if it does not look like a line of this converter's lists.

        A line that looks like one but is wrong is explained, with its errors.

        :raises InputError: the file of the request says something that contradicts its options.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFormat:
    """A way to write the results of a run."""

    id: str
    label: str
    render: Callable[[RunResults], str]
    #: the same for a batch over many lists; ``None``: this format has none
    render_batch: Callable[[BatchResults], str] | None = None
    #: the name of ``render_batch`` in plugins written before it was renamed
    render_tour: InitVar[Callable[[BatchResults], str] | None] = None

    def __post_init__(self, render_tour: Callable[[BatchResults], str] | None) -> None:
        if render_tour is not None:
            object.__setattr__(self, "render_batch", render_tour)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonFormat:
    """A way to write a comparison of two sides of measurements."""

    id: str
    label: str
    render: Callable[[MeasurementComparison], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreReportFormat:
    """A way to write the report of a store."""

    id: str
    label: str
    #: end of the names of its files, e.g. ``.html``: what ``-o FILE`` is recognised by
    suffix: str
    #: text, or the bytes of a file that is no text
    render: Callable[[ReportContent], str | bytes]


class BuilderReader(Protocol):
    """Tells what a list or a log means to CK Builder, without converting it to a catalog.

    It may also be a :class:`FamilyReader`.
    """

    @property
    def id(self) -> str:
        """Name for messages and reports."""

    @property
    def label(self) -> str:
        """A few words for help texts."""

    def recognises(self, request: ConversionRequest) -> bool:
        """Say whether the content is in a dialect of this reader. Must be quick and must not raise."""

    def read(self, request: ConversionRequest, strings: StringGrammar, revision: Revision) -> BuilderList:
        """Return the strings that CK Builder prints for the content.

        :param strings: all known kinds of instance strings.
        :param revision: the revision of CK whose spelling is wanted.
        :raises InputError: a line is wrong; all wrong lines are reported at once.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityFormat:
    """A way to write comparisons of instance strings."""

    id: str
    label: str
    render: Callable[[ParityReport], str]
