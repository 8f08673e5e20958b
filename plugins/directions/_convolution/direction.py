"""What all directions of convolution are as operations, with their C interface; not what each computes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ckprof.errors import InputError
from ckprof.plugin.protocols import LibraryInterface, Operation
from ckprof_plugins.directions._convolution.ckprofiler_forms import FUSED
from ckprof_plugins.directions._convolution.convolution import Convolution
from ckprof_plugins.directions._convolution.fused_problem import (
    FusedConvProblem,
    elementwise_of,
    multiplied,
    option_of,
    split_option,
    sum_deviation,
    tensors_of,
    with_combination,
)
from ckprof_plugins.directions._convolution.layout import LAYOUTS, TENSORS, types_of
from ckprof_plugins.directions._convolution.miopen import BASES, looks_like_miopen, parse_miopen
from ckprof_plugins.directions._convolution.miopen_fusion import FUSION_BASES
from ckprof_plugins.directions._convolution.positional import parse_positional
from ckprof_plugins.directions._convolution.problem import ConvProblem, default_problems
from ckprof_plugins.elementwise.combination import names_header

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ckprof.model.problem_case import ProblemCase, ProblemLine
    from ckprof.model.types import DataType, TypeSet
    from ckprof_plugins.directions._convolution.ckprofiler_forms import DispatcherForm, PositionalForm
    from ckprof_plugins.directions._convolution.kernel import ConvOperation
    from ckprof_plugins.directions._convolution.layout import ConvLayout
    from ckprof_plugins.directions._convolution.sample import SampleSpec


_FOLDER: Final = Path(__file__).parent
#: headers of the C interface and what is linked into every library
EMBED_DIR: Final = _FOLDER / "embed"
#: version of the dispatcher's C interface that the libraries have
DISPATCHER_VERSION: Final = "2.0.0"
#: number of a direction that the dispatcher does not know
_UNKNOWN: Final = -1


@lru_cache
def conv_interface(id_: str, tensors: tuple[str, ...], form: DispatcherForm | None) -> LibraryInterface:
    """Return the C++ of a direction.

    :param id_: of the direction.
    :param tensors: its operands and its result.
    :param form: how the dispatcher calls it; ``None`` if it does not.
    """
    header = form.header if form is not None else None
    buffers = form.buffers if form is not None else tensors
    return LibraryInterface(
        library=f"ckprof_conv_{id_}",
        row="ckprof::entry::conv_row",
        entry=_entry(),
        headers=(EMBED_DIR / "ckprof_conv_api.h", *([header] if header else [])),
        source=form.source if form is not None else None,
        linked=(EMBED_DIR / "ckprof_conv_api.cpp",),
        version=DISPATCHER_VERSION,
        template=(__package__, "conv_info.cpp.j2"),
        values={
            "header": (EMBED_DIR / "ckprof_conv_info.h").read_text(),
            "number": str(form.number if form is not None else _UNKNOWN),
            "buffers": _numbers(TENSORS.index(name) for name in buffers),
        },
        ranks=True,
        by_values=False,
    )


def _entry() -> str:
    """Return the C++ that makes a row of a kernel library's table of a launcher."""
    row = (EMBED_DIR / "ckprof_conv_entry.hpp").read_text()
    return "\n\n".join(('#include "ckprof_entry.hpp"', names_header(), row.rstrip()))


def _numbers(values: Iterable[int]) -> str:
    return f"{{{', '.join(map(str, values))}}}"


#: how first arguments begin that ask for convolutions, be they misspelt or shell variables
_BEGINNINGS = ("conv", "grouped_conv", "depthwise_conv", "$")
#: numbers of dimensions, with which convolution parameters alone begin
_DIMENSIONS = ("1", "2", "3")


class Direction(Operation, ABC):
    """A direction of convolution: an :class:`~ckprof.plugin.protocols.Operation` on :class:`ConvProblem`."""

    id: ClassVar[str]
    label: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    #: bit of MIOpenDriver's ``-F`` that asks for this direction
    miopen_flag: ClassVar[int]
    #: how ckProfiler is called for it
    positional_form: ClassVar[PositionalForm]
    #: how CK Tile's dispatcher is called for it; ``None`` if it does not know it
    dispatcher_form: ClassVar[DispatcherForm | None] = None
    #: its kernels' C++ names
    operation: ClassVar[ConvOperation]

    problem_types: ClassVar[tuple[type[object], ...]] = (ConvProblem,)
    default_problem: ClassVar[Mapping[int, ConvProblem]] = default_problems()
    layouts: ClassVar[tuple[ConvLayout, ...]] = LAYOUTS
    line_forms = ("miopen", "ckprofiler")
    programs = ("MIOpenDriver", "ckProfiler")

    @property
    def tensors(self) -> tuple[str, ...]:
        """Which of ``input``, ``weight``, ``output`` are first operand, second operand, result."""
        return self.operation.tensors

    @property
    def host_args_type(self) -> str:
        """CK Tile's type of the host arguments."""
        return self.operation.host_args

    @property
    def interface(self) -> LibraryInterface:
        """The dispatcher's C interface and ckprof's own."""
        return conv_interface(self.id, self.tensors, self.dispatcher_form)

    @property
    def line_words(self) -> tuple[str, ...]:
        """ckProfiler's operations for this direction, and MIOpenDriver's for all."""
        fusions = FUSION_BASES if self.has_fusions else ()
        return (*(word for form in self.all_forms for word in form.operations), *BASES, *fusions)

    @property
    def can_be_fused(self) -> bool:
        """Whether its kernels have element-wise operations."""
        return any(issubclass(kind, FusedConvProblem) for kind in self.problem_types)

    @property
    def has_fusions(self) -> bool:
        """Whether MIOpenDriver's fusions ask for it: they are all forward."""
        return FusedConvProblem in self.problem_types

    @property
    def all_forms(self) -> tuple[PositionalForm, ...]:
        """How ckProfiler is called for it, and for it with an element-wise operation."""
        return (self.positional_form, *FUSED.get(self.id, ()))

    def types(self, dtype: DataType) -> TypeSet:
        """Return the usual types of tensors and sums where the input has this type.

        :raises InputError: there are no such convolutions.
        """
        return types_of(dtype)

    def tensors_of(self, problem: Convolution) -> tuple[str, ...]:
        """Return the names of a problem's tensors: operands, further ones, result."""
        return tensors_of(problem, self.tensors)

    def multiplied(
        self, problem: Convolution, operands: Mapping[str, NDArray[np.float64]], types: TypeSet
    ) -> Mapping[str, NDArray[np.float64]]:
        """Return the operands that a problem makes of several tensors before they are multiplied."""
        return multiplied(problem, operands, types)

    def deviation(self, problem: Convolution, mean_squares: Mapping[str, float]) -> float:
        """Return the standard deviation of an element of the result."""
        return sum_deviation(problem, self.reduction_length(problem), self.tensors[:-1], mean_squares)

    def roundings(self, problem: Convolution) -> int:
        """Return 2 where a sum is rounded before an operation changes it, else 1."""
        combination = elementwise_of(problem)
        return 1 if combination is None or combination.changes_operands else 2

    def is_exact(self, problem: Convolution) -> bool:
        """Say whether sums of integers give what double precision gives, rounded once."""
        combination = elementwise_of(problem)
        return combination is None or combination.is_exact

    def parse_problem(self, line: ProblemLine) -> ProblemCase:
        """Parse a line of MIOpenDriver or ckProfiler, or the convolution parameters alone.

        :raises InputError: it is wrong, with the position and the expected form.
        :raises OtherOperationError: it is in order, but asks for another direction.
        """
        tokens = line.tokens()
        if not tokens:
            raise line.error(
                "the problem is empty; expected a MIOpenDriver conv line or ckProfiler's arguments"
            )
        plain, combination = split_option(line)
        if combination is not None and not self.can_be_fused:
            raise line.other_operation(f"kernels of {self.id} have no element-wise operations")
        read = parse_miopen if looks_like_miopen(line) else parse_positional
        case = read(plain, self)
        return (
            case
            if combination is None
            else replace(with_combination(case, combination, self.tensors[-1], line), direction=self.id)
        )

    def is_command(self, program: str, word: str) -> bool:
        """Say whether a program's first argument asks for convolutions."""
        words = (*BASES, *FUSION_BASES) if program == "MIOpenDriver" else self.positional_form.operations
        return program in self.programs and (word in (*words, *_DIMENSIONS) or word.startswith(_BEGINNINGS))

    def problem_line(self, case: ProblemCase, form: str) -> str:
        """Return the MIOpenDriver or the ckProfiler line of a problem.

        :raises InputError: the form cannot say it.
        """
        from ckprof_plugins.directions._convolution.positional import to_miopen, to_positional

        if not isinstance(case.problem, Convolution):
            raise InputError(f"{case.problem.describe()}: expected a problem of a convolution")
        direction = self if case.direction else None
        write = to_miopen if form == self.line_forms[0] else to_positional
        return f"{write(case, case.problem, direction)}{option_of(case.problem)}"

    def is_table(self, lines: Sequence[str]) -> bool:
        """Say whether lines are a CSV table of convolutions."""
        from ckprof_plugins.directions._convolution.csv_problems import looks_like_csv

        return looks_like_csv(lines)

    def read_table(
        self, lines: Sequence[str], path: Path | str, operations: Sequence[Operation]
    ) -> tuple[list[ProblemCase], list[InputError]]:
        """Read a CSV table, such as the one that CK Tile's own sweep writes."""
        from ckprof_plugins.directions._convolution.csv_problems import read_csv

        return read_csv(lines, path, operations)

    def random_problem(self, draw: random.Random, ndim: int) -> ConvProblem:
        """Return a small convolution; see :func:`.sample.random_convolution`."""
        from ckprof_plugins.directions._convolution.sample import random_convolution

        return random_convolution(draw, ndim)

    @property
    def sample_options(self) -> type[SampleSpec]:
        """What :meth:`sample` takes."""
        from ckprof_plugins.directions._convolution.sample import SampleSpec

        return SampleSpec

    def sample(self, spec: SampleSpec) -> list[ProblemCase]:
        """Draw convolutions as networks have them; they are for all directions.

        :raises InputError: the options leave too few problems.
        """
        from ckprof_plugins.directions._convolution.sample import sample

        return sample(spec)

    @abstractmethod
    def reduction_length(self, problem: Convolution) -> int:
        """Return how many products are accumulated into one element of the result."""

    @abstractmethod
    def reference(
        self,
        problem: Convolution,
        layout: Any,
        operands: Mapping[str, NDArray[np.float64]],
        types: TypeSet | None = None,
    ) -> NDArray[np.float64]:
        """Compute the result in double precision; see :meth:`ckprof.plugin.protocols.Operation.reference`."""
