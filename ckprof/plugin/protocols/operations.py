"""What operations, the directions of convolution among them, must have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.contraction import Contraction
    from ckprof.model.dtype import DataType
    from ckprof.model.layout import Layout
    from ckprof.model.problem import ConvProblem, Problem
    from ckprof.model.type_set import TypeSet
    from ckprof.problems.counted import CountedProblem
    from ckprof.problems.tokens import ParsedProblem, ProblemLine


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
    #: whether its functions choose kernels in the order that a library's ``rank`` gives, where it has one
    ranks: bool = False


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


@runtime_checkable
class FurtherOperands(Protocol):
    """An operation that combines what it computes with further operands, where a problem says so."""

    @property
    def further_problem_types(self) -> tuple[type[object], ...]:
        """Types of its problems beside :attr:`OwnProblems.problem_type`, of the same kind."""

    def tensors_of(self, problem: Any) -> tuple[str, ...]:
        """Return the names of a problem's tensors: first operand, second operand, further ones, result.

        Elements of further operands have the type of the result.
        """

    def deviation(self, problem: Any, mean_squares: Mapping[str, float]) -> float:
        """Return the standard deviation of an element of the result, with operands that are independent.

        :param mean_squares: name of an operand -> mean of the squares of its elements.
        """

    def roundings(self, problem: Any) -> int:
        """Return how often a value is rounded to the type of the result until it is an element of it."""


@runtime_checkable
class LineWriter(Protocol):
    """An operation with problems of its own that also writes their lines."""

    def problem_line(self, one: CountedProblem) -> str:
        """Return a line that :meth:`OwnProblems.parse_problem` reads as this problem.

        What the source says of type, layout and splits is in the line; name and count are not.

        :raises InputError: no form of line can say it.
        """


@runtime_checkable
class ProblemSampler(Protocol):
    """An operation that invents problems, for comparing what kernels support."""

    def random_problem(self, draw: random.Random) -> Problem:
        """Return a small problem that is itself well-formed.

        :raises InputError: the sizes that were drawn do not fit together: it is asked again.
        """


@runtime_checkable
class ContractingOperation(Protocol):
    """An operation whose reference devices can compute as well: where the target provides it, results need
    not leave the device to be verified."""

    def contraction(self, problem: Any) -> Contraction:
        """Return the sums of products that the result consists of.

        It must agree with :meth:`Operation.reference`.

        :param problem: of the type that the operation's problems have.
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
