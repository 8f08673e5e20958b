"""What operations must have: convolutions in a direction, matrix products, whatever a plugin computes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from ckprof.plugin.members import optional, optional_with

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.errors import InputError
    from ckprof.model.computation import Contraction, Tolerance
    from ckprof.model.gemm_work import Product
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase, ProblemLine
    from ckprof.model.tensor import Layout
    from ckprof.model.types import DataType, TypeSet


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryInterface:
    """C++ of an operation: how its kernels get into a library's table, and its C functions for programs."""

    #: name of its libraries, without prefix and suffix of the file
    library: str
    #: C++ name of a function template ``<Launcher, HostArgs>(key, name)`` that makes a kernel's row
    row: str
    #: C++ that declares the template, with the help of ``ckprof_kernel_entry.hpp``; compiled once, however
    #: many rows a source has
    entry: str
    #: declare the functions for programs; they include ``ckprof_abi.h`` and each other alone
    headers: tuple[Path, ...]
    #: C++ that defines functions for programs in the library's own source, after the texts of
    #: ``ckprof_library_info.h`` and of all headers; it includes none of them. ``None``: there is none
    source: Path | None = None
    #: compiled once and linked into every library
    linked: tuple[Path, ...] = ()
    #: version of the C functions; empty if they have none
    version: str = ""
    #: C++ of a library's own source that depends on its kernels: package and name of a Jinja template, which
    #: is given what ``library_info.cpp.j2`` is given; ``None``: there is none
    template: tuple[str, str] | None = None
    #: values for the template beside those
    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    #: whether its functions choose kernels in the order that a library's ``rank`` gives, where it has one
    ranks: bool = False
    #: whether ``rank`` reads sizes as :meth:`ckprof.model.problem.Problem.values` gives them; else by the
    #: names of the problem's fields
    by_values: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAddition:
    """Files that a plugin adds to generated sources, one of which may rank the kernels for a problem."""

    #: sources are generated again when it changes
    digest: str
    #: returns path below the root -> text, for kernels in the order of the library's table, each a
    #: :class:`ckprof.kernels.source_tree.KernelFiles`
    render: Callable[[Sequence[Any]], Mapping[str, str]] = field(repr=False, compare=False)
    #: C++ name of the function that ranks the kernels; empty if none does
    rank: str = ""
    #: the header that has it, below ``include``
    header: str = ""


class Operation(Protocol):
    """What is computed: problems and their lines, tensors, types, layouts, reference, C++ interface."""

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
    def problem_types(self) -> tuple[type[object], ...]:
        """The frozen dataclasses of its problems, the usual one first: fields of plain JSON values, see
        :class:`ckprof.model.problem.Problem`. Operations may share them."""

    @property
    def default_problem(self) -> Mapping[int, Problem]:
        """Number of spatial dimensions -> the problem that is used when none is given.

        An operation without spatial dimensions has one for 0.
        """

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """Layouts that its kernels have."""

    @property
    def tensors(self) -> tuple[str, ...]:
        """Names of the operands, as many as there are, and of the result as the operation's problems know
        them."""

    @property
    def host_args_type(self) -> str:
        """CK Tile's type of the host arguments, as C++ text."""

    @property
    def interface(self) -> LibraryInterface:
        """Its C++."""

    @property
    def line_words(self) -> tuple[str, ...]:
        """First words of lines that are for this operation, after a program's name; operations may share
        some. Lines that begin otherwise are tried with the operation that is run."""

    def types(self, dtype: DataType) -> TypeSet:
        """Return the types of a kernel whose operands have this one.

        :raises InputError: there are no such kernels.
        """

    def parse_problem(self, line: ProblemLine) -> ProblemCase:
        """Parse a line.

        :raises InputError: it is wrong, with the position and the expected form.
        :raises OtherOperationError: it is in order, but asks for another operation.
        """

    def reduction_length(self, problem: Any) -> int:
        """Return how many products are accumulated into one element of the result.

        :param problem: of one of :attr:`problem_types`.
        """

    def reference(
        self, problem: Any, layout: Any, operands: Mapping[str, NDArray[np.float64]], types: TypeSet
    ) -> NDArray[np.float64]:
        """Compute the result in double precision.

        Called for parts of a problem (see :meth:`ckprof.model.problem.Problem.parts`): results with the axis
        that divides the problem are joined, others added up.

        :param problem: of one of :attr:`problem_types`.
        :param layout: one of :attr:`layouts`.
        :param operands: tensor name -> values in the memory order of ``layout``, without gaps, shaped as
            :meth:`ckprof.model.problem.Problem.tensor` says.
        :param types: of the tensors and sums; see :attr:`ckprof.model.types.TypeSet.narrowed`.
        :returns: the result tensor in the memory order of ``layout``, without gaps.
        """

    @optional
    def tensors_of(self, problem: Any) -> tuple[str, ...]:
        """Return the names of a problem's tensors: first operand, second operand, further ones, result.

        They are :attr:`tensors`, unless a problem says that further operands are combined with what is
        computed; elements of these have the type of the result.
        """
        return self.tensors

    @optional
    def deviation(self, problem: Any, mean_squares: Mapping[str, float]) -> float:
        """Return the standard deviation of an element of the result, with operands that are independent.

        That of a sum of products, unless the operation says something else.

        :param mean_squares: name of an operand -> mean of the squares of its elements, as multiplied.
        """
        return math.sqrt(math.prod(mean_squares.values(), start=float(self.reduction_length(problem))))

    @optional
    def roundings(self, problem: Any) -> int:
        """Return how often a value is rounded to the type of the result until it is an element of it."""
        return 1

    @optional
    def is_exact(self, problem: Any) -> bool:
        """Say whether the result is the reference, rounded once, where all sums of products are exact."""
        return True

    @optional
    def multiplied(
        self, problem: Any, operands: Mapping[str, NDArray[np.float64]], types: TypeSet
    ) -> Mapping[str, NDArray[np.float64]]:
        """Return the operands that are made of several tensors, as they are multiplied.

        It is for these that :meth:`reference` and :meth:`deviation` are asked. Problems are parts as there.

        :param operands: tensor name -> values, of all tensors but the result.
        :param types: of the tensors: an operand is rounded to its type.
        """
        return {}

    @optional
    def tolerance(self, problem: Any, types: TypeSet, magnitude: float) -> Tolerance | None:
        """Return how far an element of the result may be from the reference, where it is no sum of products.

        :param types: of the tensors and sums.
        :param magnitude: largest magnitude in the reference.
        :returns: ``None`` where the tolerance follows from types and :meth:`reduction_length`.
        """
        return None

    @optional
    def contraction(self, problem: Any) -> Contraction:
        """Return the sums of products that the result consists of, for devices that compute references.

        It must agree with :meth:`reference`. Where the target provides it, results need not leave the device
        to be verified.

        :param problem: of the type that the operation's problems have.
        """
        raise NotImplementedError

    @optional
    def product(self, problem: Any, dtype: DataType) -> Product:
        """Return the matrix products that a problem is: with it, times can be predicted.

        It is also called with a problem whose sizes are symbols, to write the same formula as C++: use only
        ``+ - * //`` and :func:`math.prod`, and do not compare.

        :param dtype: of the operands.
        :raises InputError: there are no such products.
        """
        raise NotImplementedError

    @property
    @optional_with("problem_line")
    def line_forms(self) -> tuple[str, ...]:
        """Forms of lines that it writes, the usual one first."""
        return ()

    @optional_with("line_forms")
    def problem_line(self, case: ProblemCase, form: str) -> str:
        """Return a line that :meth:`parse_problem` reads as this problem.

        What the source says of type, layout and splits is in the line; name and count are not.

        :param form: one of :attr:`line_forms`.
        :raises InputError: the form cannot say it.
        """
        raise NotImplementedError

    @property
    @optional_with("is_command")
    def programs(self) -> tuple[str, ...]:
        """Names of programs of its own, without folders, whose commands in logs and scripts are problems."""
        return ()

    @optional_with("programs")
    def is_command(self, program: str, word: str) -> bool:
        """Say whether a program's first argument asks for such problems, be it misspelt."""
        return False

    @optional_with("read_table")
    def is_table(self, lines: Sequence[str]) -> bool:
        """Say whether lines are a CSV table of its problems."""
        return False

    @optional_with("is_table")
    def read_table(
        self, lines: Sequence[str], path: Path | str, operations: Sequence[Operation]
    ) -> tuple[list[ProblemCase], list[InputError]]:
        """Read one problem per row.

        :param path: for messages.
        :param operations: those that a row can name.
        :returns: the problems, duplicates included, and an error for each wrong row.
        """
        raise NotImplementedError

    @optional
    def random_problem(self, draw: random.Random, ndim: int) -> Problem:
        """Return a small problem that is itself well-formed, for comparing what kernels support.

        :param ndim: number of spatial dimensions, 0 for operations that have none.
        :raises InputError: the sizes that were drawn do not fit together: it is asked again.
        """
        raise NotImplementedError

    @property
    @optional_with("sample")
    def sample_options(self) -> type[Any]:
        """The dataclass of the options of :meth:`sample`, which has a ``count`` and a ``seed`` and raises
        ``UsageError``.

        Its other fields are options by their metadata, see :func:`ckprof.option.option`.
        """
        return object

    @optional_with("sample_options")
    def sample(self, spec: Any) -> list[ProblemCase]:
        """Draw ``spec.count`` distinct problems as networks have them, the same for the same ``spec.seed``.

        :param spec: an object of :attr:`sample_options`.
        :raises InputError: the options leave too few problems.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemSetFile:
    """A set of problems that a plugin brings, as a file of the form that ``ckprof problems show`` reads."""

    #: what ``--problem-set`` takes; the ``id`` in the file is the same
    id: str
    path: Path
