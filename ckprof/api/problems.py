"""Which problems instances are run on, and which instances each problem takes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.api.events import DefaultProblemUsed, ProblemNote
from ckprof.api.problem import Problem as NotedProblem
from ckprof.api.problem import plain
from ckprof.errors import InputError
from ckprof.model.problem import ConvProblem
from ckprof.model.problem_run import ProblemRun
from ckprof.plugin.operations import problem_types_of
from ckprof.problems.parse_line import parse_problem
from ckprof.problems.read import read_problem_file
from ckprof.problems.tokens import ParsedProblem, ProblemLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ckprof.api.session import Session
    from ckprof.flow.candidates import Candidate
    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenProblems:
    """The problems of lines and files, before it is known which instances there are."""

    #: each of these must fit the instances
    named: tuple[ParsedProblem, ...] = ()
    #: those of these that do not are counted
    listed: tuple[ParsedProblem, ...] = ()
    #: why lines of files are not meant -> how many
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def all(self) -> tuple[ParsedProblem, ...]:
        """All problems in order."""
        return (*self.named, *self.listed)

    def __bool__(self) -> bool:
        return bool(self.named or self.listed or self.skipped)


def parse_problems(
    session: Session,
    direction: Operation,
    lines: Sequence[str | Problem] = (),
    files: Sequence[Path] = (),
    *,
    name: str = "--problem",
) -> GivenProblems:
    """Return the problems of lines, and of files with one problem a line.

    :param lines: MIOpenDriver's or ckProfiler's text, or problems already parsed.
    :param name: what messages call the lines.
    :raises InputError: a line is wrong, or one of ``lines`` asks for another direction.
    """
    known = tuple(session.registry.operations)
    named = [
        parse_problem(ProblemLine(text=line, path=name), direction, known)
        if isinstance(line, str)
        else _of_object(line, direction)
        for line in lines
    ]
    listed: list[ParsedProblem] = []
    skipped: Counter[str] = Counter()
    for path in files:
        found = read_problem_file(path, direction, known)
        listed += found.problems
        skipped += found.skipped
    return GivenProblems(named=tuple(named), listed=tuple(listed), skipped=skipped)


def problems_for(
    session: Session,
    given: GivenProblems,
    direction: Operation,
    candidates: Sequence[Candidate],
    *,
    strict_layout: bool = False,
) -> list[ProblemRun]:
    """Return the problems asked for with the instances that each takes, or the default ones without any.

    A type or layout that a line names chooses the instances of it. Where all instances have one layout and
    lines say another, their sizes are used.

    :param strict_layout: such lines do not fit.
    :raises InputError: a named problem does not fit the instances, or no problem is left.
    """
    if not given:
        problems = default_problems(direction, candidates)
        for problem in problems:
            session.tell(DefaultProblemUsed(problem=problem))
        return [ProblemRun(problem=problem) for problem in problems]
    fitting = Fitting(candidates, strict_layout=strict_layout)
    runs = [fitting.require(one) for one in given.named]
    skipped = Counter(given.skipped)
    for one in given.listed:
        misfit = fitting.misfit_of(one)
        if misfit:
            skipped[misfit] += 1
        else:
            runs.append(fitting.run_of(one))
    for reason, count in skipped.most_common():
        session.tell(ProblemNote(message=f"left out {_lines(count)}: {reason}"))
    for note in fitting.notes(given.all):
        session.tell(ProblemNote(message=note))
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

    def misfit_of(self, parsed: ParsedProblem) -> str:
        """Say how a problem contradicts the instances' types or layouts; empty if it does not."""
        if parsed.dtype is not None and parsed.dtype not in self._dtypes:
            have = ", ".join(sorted(dtype.value for dtype in self._dtypes))
            return f"the problem line says {parsed.dtype.value}, the list has {have} instances"
        layouts = self._layouts.get(parsed.problem.ndim, set())
        if parsed.layout is None or not layouts or parsed.layout in layouts:
            return ""
        if self._strict or len(layouts) > 1:
            return (
                f"the problem line says {parsed.layout}, the list has {', '.join(sorted(layouts))} instances"
            )
        return ""

    def require(self, parsed: ParsedProblem) -> ProblemRun:
        """Return a problem that must fit.

        :raises InputError: it does not.
        """
        misfit = self.misfit_of(parsed)
        if misfit:
            raise InputError(f"{parsed.problem.describe()}: {misfit}")
        return self.run_of(parsed)

    def run_of(self, parsed: ParsedProblem) -> ProblemRun:
        """Return a fitting problem with the instances that it takes."""
        layouts = self._layouts.get(parsed.problem.ndim, set())
        return ProblemRun(
            problem=parsed.problem,
            dtype=parsed.dtype,
            layout=parsed.layout if parsed.layout in layouts else None,
            splits=parsed.splits,
            count=parsed.count,
        )

    def notes(self, problems: Iterable[ParsedProblem]) -> list[str]:
        """Return what the user should know of lines that are not taken word for word, each thing once."""
        other_layouts: Counter[tuple[str, str]] = Counter()
        untyped: Counter[str] = Counter()
        ignored: Counter[str] = Counter()
        lines_with_ignored = 0
        said: Counter[str] = Counter()
        for one in problems:
            said.update(one.notes)
            replaced = self._replaced_layout(one)
            if replaced:
                other_layouts[one.layout or "", replaced] += 1
            if one.usual_dtype is not None and self._dtypes - {one.usual_dtype}:
                untyped[one.usual_dtype.value] += 1
            lines_with_ignored += bool(one.ignored)
            ignored.update(one.ignored)
        notes = [
            f"{_lines(count)} say{'s' if count == 1 else ''} {said}, all instances have {used}: "
            "the sizes are used"
            for (said, used), count in other_layouts.items()
        ]
        notes += [text if count == 1 else f"{text} ({count} problem lines)" for text, count in said.items()]
        have = ", ".join(sorted(dtype.value for dtype in self._dtypes))
        notes += [
            f"{_lines(count)} name{'s' if count == 1 else ''} no type, which means {dtype} to MIOpen: "
            f"all instances ({have}) are run"
            for dtype, count in untyped.items()
        ]
        if lines_with_ignored == 1:
            notes.append(f"not used of the problem line: {', '.join(ignored)}")
        elif ignored:
            names = Counter(text.split()[0] for text in ignored.elements())
            shown = ", ".join(f"{name} ({count})" for name, count in names.most_common())
            notes.append(f"not used of {lines_with_ignored} problem lines: {shown}")
        return notes

    def _replaced_layout(self, parsed: ParsedProblem) -> str:
        """Return the layout of all instances where a line says another; empty if it does not."""
        layouts = self._layouts.get(parsed.problem.ndim, set())
        if parsed.layout is None or parsed.layout in layouts or len(layouts) != 1 or self._strict:
            return ""
        return next(iter(layouts))


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
    return f"{count} problem line{'s' if count != 1 else ''}"


def _of_object(problem: Problem, direction: Operation) -> ParsedProblem:
    own = problem_types_of(direction) or (ConvProblem,)
    if not isinstance(plain(problem), own):
        raise InputError(
            f"{problem.describe()}: expected a problem of {direction.id}; the layers of problem sets are "
            "convolutions"
        )
    if not isinstance(problem, NotedProblem):
        return ParsedProblem(problem=problem)
    if problem.direction and problem.direction != direction.id:
        raise InputError(f"the problem was read for {problem.direction}, expected {direction.id}")
    return ParsedProblem(
        problem=plain(problem),
        dtype=problem.dtype,
        layout=problem.layout,
        splits=problem.splits,
        ignored=problem.ignored,
    )
