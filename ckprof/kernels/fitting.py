"""Which problems instances are run on, and which instances each problem takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.events import Message
from ckprof.formatting import agreeing, counted
from ckprof.model.problem_case import ProblemCase, as_case
from ckprof.problems.choose import note_first, note_skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Operation
    from ckprof.problems.choose import GivenProblems
    from ckprof.session import Session


def problems_for(
    session: Session,
    given: GivenProblems,
    direction: Operation,
    candidates: Sequence[Candidate],
    *,
    strict_layout: bool = False,
) -> list[ProblemCase]:
    """Return the problems asked for with the instances that each takes, or the default ones without any.

    A type or layout that a line names chooses the instances of it. Where all instances have one layout and
    lines say another, their sizes are used.

    :param strict_layout: such lines do not fit.
    :raises InputError: a named problem does not fit the instances, or no problem is left.
    """
    if not given:
        problems = default_problems(direction, candidates)
        for problem in problems:
            session.emit(Message(f"no --problem given: using {problem.describe()}"))
        return [as_case(problem) for problem in problems]
    fitting = Fitting(candidates, strict_layout=strict_layout)
    runs = [fitting.require(case) for case in given.named]
    runs += [fitting.run_of(case) for case in given.listed if not fitting.misfit_of(case)]
    note_skipped(session, given.skipped + Counter(filter(None, map(fitting.misfit_of, given.listed))))
    note_first(session, fitting.notes(given.all))
    if not runs:
        raise InputError("no problem is left: none fits the instances, see the reasons above")
    return runs


class Fitting:
    """Which instances problem lines mean.

    :param candidates: all instances of the run.
    :param strict_layout: a layout that no instance has is a misfit even where they all have one.
    """

    def __init__(self, candidates: Iterable[Candidate], *, strict_layout: bool = False) -> None:
        instances = [candidate.instance for candidate in candidates]
        self._dtypes = {instance.dtype for instance in instances}
        #: number of dimensions -> names of layouts
        self._layouts: dict[int, set[str]] = {}
        for instance in instances:
            self._layouts.setdefault(instance.ndim, set()).add(instance.layout.name)
        self._strict = strict_layout

    def misfit_of(self, parsed: ProblemCase) -> str:
        """Say how a problem contradicts the instances' types or layouts; empty if it does not."""
        if parsed.dtype is not None and parsed.dtype not in self._dtypes:
            have = ", ".join(sorted(dtype.value for dtype in self._dtypes))
            return f"the problem line says {parsed.dtype.value}, the list has {have} instances"
        layouts = self._layouts.get(parsed.problem.ndim)
        if layouts is None:
            have = ", ".join(f"{ndim}D" for ndim in sorted(self._layouts))
            return f"the problem is {parsed.problem.ndim}D, the list has {have} instances"
        if parsed.layout is None or parsed.layout in layouts:
            return ""
        if self._strict or len(layouts) > 1:
            return (
                f"the problem line says {parsed.layout}, the list has {', '.join(sorted(layouts))} instances"
            )
        return ""

    def require(self, parsed: ProblemCase) -> ProblemCase:
        """Return a problem that must fit.

        :raises InputError: it does not.
        """
        misfit = self.misfit_of(parsed)
        if misfit:
            raise InputError(f"{parsed.problem.describe()}: {misfit}")
        return self.run_of(parsed)

    def run_of(self, parsed: ProblemCase) -> ProblemCase:
        """Return a fitting problem with the instances that it takes."""
        layouts = self._layouts.get(parsed.problem.ndim, set())
        return replace(parsed, layout=parsed.layout if parsed.layout in layouts else None)

    def notes(self, problems: Iterable[ProblemCase]) -> list[str]:
        """Return what the user should know of lines that are not taken word for word, each thing once."""
        other_layouts: Counter[tuple[str, str]] = Counter()
        untyped: Counter[str] = Counter()
        ignored: Counter[str] = Counter()
        said: Counter[str] = Counter()
        for case in problems:
            said.update(case.notes)
            replaced = self._replaced_layout(case)
            if replaced:
                other_layouts[case.layout or "", replaced] += 1
            if case.usual_dtype is not None and self._dtypes - {case.usual_dtype}:
                untyped[case.usual_dtype.value] += 1
            ignored.update(text.split()[0] for text in case.ignored)
        notes = [
            f"{_lines(count)} {agreeing(count, 'says', 'say')} {said}, all instances have {used}: "
            "the sizes are used"
            for (said, used), count in other_layouts.items()
        ]
        notes += [
            text if count == 1 else f"{text} ({counted(count, 'problem line')})"
            for text, count in said.items()
        ]
        have = ", ".join(sorted(dtype.value for dtype in self._dtypes))
        notes += [
            f"{_lines(count)} {agreeing(count, 'names', 'name')} no type, which means {dtype} to MIOpen: "
            f"all instances ({have}) are run"
            for dtype, count in untyped.items()
        ]
        if ignored:
            shown = (f"{name} ({n} lines)" if n > 1 else name for name, n in ignored.most_common())
            notes.append(f"ignored arguments: {', '.join(shown)}")
        return notes

    def _replaced_layout(self, parsed: ProblemCase) -> str:
        """Return the layout of all instances where a line says another; empty if it does not."""
        layouts = self._layouts.get(parsed.problem.ndim, set())
        if parsed.layout is None or parsed.layout in layouts or len(layouts) != 1 or self._strict:
            return ""
        return next(iter(layouts))


def needed_for(cases: Sequence[ProblemCase], candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates that any of the problems may run on: others need not be built."""
    kernels = ((candidate, candidate.selected()) for candidate in candidates)
    return tuple(
        candidate
        for candidate, kernel in kernels
        if any(case.takes(kernel) and not case.problem.unmet_by(candidate.instance.layout) for case in cases)
    )


def default_problems(direction: Operation, candidates: Sequence[Candidate]) -> list[Problem]:
    """Return, without repetitions, what each instance's family runs it on when no problem is given."""
    usual = direction.default_problem
    ordered = sorted(candidates, key=lambda candidate: candidate.instance.ndim)
    return list(
        dict.fromkeys(
            candidate.pipeline.default_problem(candidate.instance, usual[candidate.instance.ndim])
            for candidate in ordered
        )
    )


def _lines(count: int) -> str:
    return counted(count, "problem line")
