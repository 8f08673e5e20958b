"""Chooses kernels for problems by a time model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckprof.errors import NothingLeftError, UsageError
from ckprof.model.problem import ConvProblem
from ckprof.selection.boost import correction, features
from ckprof.selection.model import Prediction
from ckprof.selection.program import Program, Slot
from ckprof.selection.sizes import sizes_of
from ckprof.selection.symbolic import convolutions, form_of
from ckprof.selection.time_model import terms
from ckprof.selection.work import work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ckprof.model.kernel_traits import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.selection.model import ModelKernel, TimeModel
    from ckprof.selection.sizes import GemmSizes
    from ckprof.selection.symbolic import Form
    from ckprof.selection.work import Sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A kernel that may be chosen."""

    name: str
    traits: KernelTraits
    #: numbers of splits with which it may be launched
    splits: tuple[int, ...] = (1,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The kernels for a problem, best first."""

    predictions: tuple[Prediction, ...]
    #: why a prediction may be worth little: a problem outside the trained range
    warnings: tuple[str, ...]


class Selector:
    """A model and a list of kernels, ready to choose among them.

    Of kernels with equal predictions those with later labels come first, and among these the smaller tiles:
    of two versions of a pipeline of which nothing tells which is faster, the later one is the better guess.

    :param gemm_sizes: what the model's direction makes of a problem.
    :param boost: correct the times of :meth:`rank` by the model's trees.
    :raises NothingLeftError: there is no candidate.
    :raises UsageError: there are no trees to correct by.
    """

    def __init__(
        self,
        model: TimeModel,
        candidates: Sequence[Candidate],
        gemm_sizes: GemmSizes,
        *,
        boost: bool = False,
    ) -> None:
        if not candidates:
            raise NothingLeftError("there is no kernel to choose from")
        if boost and not model.trees:
            raise UsageError("the model has no boosted trees: 'ckprof train --boost' trains them")
        self.model = model
        self._boost = boost
        self._gemm_sizes = gemm_sizes
        self._kernels: list[ModelKernel] = []
        slots: dict[tuple[object, ...], int] = {}
        self._slots: list[Slot] = []
        #: per slot the candidates that share it
        self._members: list[list[tuple[ModelKernel, int]]] = []
        for candidate in precedence(candidates):
            kernel = model.kernel(candidate.name, candidate.traits)
            for splits in candidate.splits:
                key = (kernel.computes, kernel.parameters, splits)
                if key not in slots:
                    slots[key] = len(self._slots)
                    self._slots.append(Slot(kernel=kernel, splits=splits))
                    self._members.append([])
                self._members[slots[key]].append((kernel, splits))
        self._programs: dict[int, Program] = {}
        self._others: dict[Form, Program] = {}

    def best(self, problem: Problem) -> tuple[str, int]:
        """Return the name and the splits of the kernel with the smallest predicted time.

        Nothing is asked about support: the candidates must be kernels that support the problem.
        """
        program = self._program_of(problem)
        kernel, splits = self._members[program.best(problem)][0]
        return kernel.name, splits

    def rank(
        self,
        problem: Problem,
        *,
        top: int | None = None,
        supported: Callable[[str, int], bool] | None = None,
        distinct: bool = False,
    ) -> Ranking:
        """Return the kernels that support a problem, best first.

        :param top: how many; ``None`` for all.
        :param supported: says whether a kernel with a number of splits supports the problem; asked from the
            best one on until enough have been found.
        :param distinct: of kernels with the same traits, which do the same work, the first one comes in its
            place and the others behind the rest: to measure several of them tells little.
        """
        sizes = sizes_of(problem, self._gemm_sizes, self.model.element_bytes)
        times = self._times(problem, sizes)
        found: list[Prediction] = []
        later: list[tuple[int, ModelKernel, int]] = []
        seen: set[tuple[KernelTraits, int]] = set()
        for slot in sorted(range(len(times)), key=times.__getitem__):
            for kernel, splits in self._members[slot]:
                if top is not None and len(found) >= top:
                    break
                if distinct and (kernel.traits, splits) in seen:
                    later.append((slot, kernel, splits))
                elif supported is None or supported(kernel.name, splits):
                    found.append(self._prediction(kernel, splits, times[slot], sizes))
                    seen.add((kernel.traits, splits))
        for slot, kernel, splits in later:
            if top is not None and len(found) >= top:
                break
            if supported is None or supported(kernel.name, splits):
                found.append(self._prediction(kernel, splits, times[slot], sizes))
        return Ranking(predictions=tuple(found), warnings=self.model.warnings(sizes))

    def _times(self, problem: Problem, sizes: Sizes) -> Sequence[float]:
        """Return the predicted time of every slot."""
        times = self._program_of(problem).times(problem)
        if not self._boost:
            return times
        return [
            time * correction(self.model.trees, features(self.model, slot.kernel, sizes, slot.splits))
            for slot, time in zip(self._slots, times, strict=True)
        ]

    def _prediction(self, kernel: ModelKernel, splits: int, time_us: float, sizes: Sizes) -> Prediction:
        done = work(kernel.computes, sizes, splits, self.model.units)
        return Prediction(
            kernel=kernel.name,
            splits=splits,
            time_us=time_us,
            uncertainty=self.model.uncertainty(kernel, time_us, sizes),
            measured=kernel.rows > 0,
            limit=terms(done, self.model.shared, kernel.parameters).limit,
        )

    def program(self, ndim: int) -> Program:
        """Return the code of the choice for convolutions of some dimensions."""
        known = self._programs.get(ndim)
        if known is None:
            known = self._programs[ndim] = self._written(convolutions(ndim))
        return known

    def _program_of(self, problem: Problem) -> Program:
        if isinstance(problem, ConvProblem):
            ndim = problem.ndim
            return self._programs.get(ndim) or self.program(ndim)
        return self.program_of_form(form_of(problem))

    def program_of_form(self, form: Form) -> Program:
        """Return the code of the choice for problems of a form."""
        known = self._others.get(form)
        if known is None:
            known = self._others[form] = self._written(form)
        return known

    def _written(self, form: Form) -> Program:
        return Program(self.model, self._slots, self._gemm_sizes, form)

    @property
    def members(self) -> tuple[tuple[tuple[str, int], ...], ...]:
        """Per slot of :attr:`Program.times` the kernels that share it, with their splits, in order."""
        return tuple(tuple((kernel.name, splits) for kernel, splits in one) for one in self._members)


def precedence(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates in the order in which equal predictions are preferred."""
    by_tile = sorted(candidates, key=lambda one: (one.traits.tile, one.name))
    return sorted(by_tile, key=lambda one: one.traits.labels, reverse=True)
