"""Chooses kernels for problems by a time model."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from ckprof.errors import NothingLeftError
from ckprof_plugins.tuning.time_model.intervals import COVERAGE, DEVIATIONS, LARGEST_HALF
from ckprof_plugins.tuning.time_model.model import Prediction
from ckprof_plugins.tuning.time_model.program import Program, form_of, is_told_by_dimensions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.problem import Problem
    from ckprof_plugins.tuning.time_model.formula import GemmSizes, Sizes
    from ckprof_plugins.tuning.time_model.measurements import Choice
    from ckprof_plugins.tuning.time_model.model import ModelKernel, TimeModel
    from ckprof_plugins.tuning.time_model.program import Form


class Selector:
    """A model and a list of kernels, ready to choose among them.

    Of kernels with equal predictions those with later labels come first, and among these the smaller tiles:
    of two versions of a pipeline without further evidence, the later one is the better guess.

    :param traits: kernel -> what its time depends on.
    :param gemm_sizes: what the model's direction makes of a problem.
    :param choices: kernels with their numbers of splits; ``None`` for those that the model knows.
    :raises NothingLeftError: there is no candidate.
    """

    def __init__(
        self,
        model: TimeModel,
        traits: Mapping[str, KernelTraits],
        gemm_sizes: GemmSizes,
        *,
        choices: Iterable[Choice] | None = None,
    ) -> None:
        if not traits:
            raise NothingLeftError("there is no kernel to choose from")
        self.model = model
        self._gemm_sizes = gemm_sizes
        slots: dict[tuple[object, ...], list[tuple[ModelKernel, int]]] = {}
        counts: dict[str, list[int]] = {}
        if choices is None:
            choices = ((name, splits) for name, of in traits.items() for splits in model.splits_of(of))
        for name, splits in choices:
            counts.setdefault(name, []).append(splits)
        for name in precedence({name: traits[name] for name in counts}):
            kernel = model.kernel(name, traits[name])
            for splits in counts[name]:
                key = (kernel.computes, kernel.parameters, splits)
                slots.setdefault(key, []).append((kernel, splits))
        #: per slot of :attr:`Program.times` the kernels that share it, with their splits, in order
        self.members = list(slots.values())
        self._slots = [members[0] for members in self.members]
        self._warnings = {
            name: model.kernel_warning(of) for name, of in traits.items() if name not in model.kernels
        }
        #: by the form of problems, and by their type and dimensions where these tell it
        self._programs: dict[tuple[type[Any], Any], Program] = {}

    def best(self, problem: Problem) -> tuple[str, int]:
        """Return the name and the splits of the kernel with the smallest predicted time.

        Nothing is asked about support: the candidates must be kernels that support the problem.
        """
        program = self._program_of(problem)
        kernel, splits = self._slots[program.best(problem)]
        return kernel.name, splits

    def rank(
        self,
        problem: Problem,
        *,
        top: int | None = None,
        supported: Callable[[str, int], bool] | None = None,
        distinct: bool = False,
    ) -> tuple[Prediction, ...]:
        """Return the kernels that support a problem, best first.

        :param top: how many; ``None`` for all.
        :param supported: says whether a kernel with a number of splits supports the problem; asked from the
            best one on until enough have been found.
        :param distinct: of kernels with the same traits, which do the same work, the first one comes in its
            place and the others after the rest: measuring several of them adds little.
        """
        sizes = self._gemm_sizes(problem)
        times = self._program_of(problem).times(problem)
        reach = self.model.reach(sizes)
        predictions: list[Prediction] = []
        order = sorted(range(len(times)), key=times.__getitem__)
        offered = [(times[slot], *member) for slot in order for member in self.members[slot]]
        later: list[tuple[float, ModelKernel, int]] = []
        seen: set[tuple[KernelTraits, int]] = set()
        for again in (False, True):
            for time_us, kernel, splits in later if again else offered:
                if top is not None and len(predictions) >= top:
                    break
                if distinct and not again and (kernel.traits, splits) in seen:
                    later.append((time_us, kernel, splits))
                elif supported is None or supported(kernel.name, splits):
                    predictions.append(self._prediction(kernel, splits, time_us, sizes, reach))
                    seen.add((kernel.traits, splits))
        if predictions:
            predictions[0] = as_chosen(predictions[0], times)
        return tuple(predictions)

    def warnings(self, problem: Problem, predictions: Sequence[Prediction]) -> tuple[str, ...]:
        """Return why predictions may be farther off than their intervals say.

        A problem outside the trained range or unlike every trained one; one line for each way in which ranked
        kernels are unlike those that were measured.
        """
        kernels: dict[str, list[str]] = {}
        for name in dict.fromkeys(prediction.kernel for prediction in predictions if not prediction.measured):
            kernels.setdefault(self.warning_of(name), []).append(name)
        strange = (
            f"{why}: predicted from others, {names[0]}{f' and {len(names) - 1} more' if names[1:] else ''}"
            for why, names in kernels.items()
            if why
        )
        return (*self.model.warnings(self._gemm_sizes(problem)), *strange)

    def _prediction(
        self, kernel: ModelKernel, splits: int, time_us: float, sizes: Sizes, reach: float
    ) -> Prediction:
        half = self.model.half(kernel, reach)
        return Prediction(
            kernel=kernel.name,
            splits=splits,
            time_us=time_us,
            uncertainty=half / DEVIATIONS,
            low_us=time_us * exp(-half),
            high_us=time_us * exp(half),
            measured=kernel.rows > 0,
            limit=self.model.terms(kernel, sizes, splits).limit,
        )

    def _program_of(self, problem: Problem) -> Program:
        shape = type(problem), problem.ndim
        program = self._programs.get(shape)
        if program is None:
            program = self.program_of_form(form_of(problem))
            if is_told_by_dimensions(shape[0]):
                self._programs[shape] = program
        return program

    def program_of_form(self, form: Form) -> Program:
        """Return the code of the choice for problems of a form."""
        program = self._programs.get(form)
        if program is None:
            program = self._programs[form] = Program(self.model, self._slots, self._gemm_sizes, form)
        return program

    def warning_of(self, name: str) -> str:
        """Return in which way a kernel is unlike those that were measured; empty if it is not."""
        return self._warnings.get(name, "")


def as_chosen(best: Prediction, times: Iterable[float]) -> Prediction:
    """Return the prediction of a choice: of many that are alike, the first one is more often too short.

    Its upper end is that of as many comparisons at once as there are kernels whose intervals overlap its own.

    :param times: predicted ones of all kernels; those before the choice do not support the problem.
    """
    reach = exp(2 * DEVIATIONS * best.uncertainty)
    rivals = sum(1 <= time / best.time_us <= reach for time in times) or 1
    usual, farther = (NormalDist().inv_cdf(1 - (1 - COVERAGE) / 2 / count) for count in (1, rivals))
    half = min(LARGEST_HALF, log(best.high_us / best.time_us) * farther / usual)
    return replace(best, high_us=best.time_us * exp(half))


def precedence(traits: Mapping[str, KernelTraits]) -> list[str]:
    """Return kernels in the order in which equal predictions are preferred."""
    by_tile = sorted(traits, key=lambda name: (traits[name].tile, name))
    return sorted(by_tile, key=lambda name: traits[name].labels, reverse=True)
