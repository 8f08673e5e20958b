"""The problems that users name: lines, files, objects of programs."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.events import Level, Message
from ckprof.formatting import counted
from ckprof.model.problem_case import ProblemCase, ProblemLine, as_case
from ckprof.problems.problem_file import parse_problem, read_problem_file

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Operation
    from ckprof.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenProblems:
    """The problems of lines and files, before it is known which instances there are."""

    #: each of these must fit the instances
    named: tuple[ProblemCase, ...] = ()
    #: those of these that do not are counted
    listed: tuple[ProblemCase, ...] = ()
    #: why lines of files are not meant -> how many
    skipped: Counter[str] = field(default_factory=Counter)

    @property
    def all(self) -> tuple[ProblemCase, ...]:
        """All problems in order."""
        return (*self.named, *self.listed)

    def __bool__(self) -> bool:
        return bool(self.named or self.listed or self.skipped)


def parse_problems(
    session: Session,
    direction: Operation,
    lines: Sequence[str | Problem | ProblemCase] = (),
    files: Sequence[Path] = (),
    *,
    lenient: bool = False,
) -> GivenProblems:
    """Return the problems of lines, and of files with one problem a line.

    :param lines: MIOpenDriver's or ckProfiler's text, or problems already parsed.
    :param lenient: wrong lines of files are counted.
    Problems of files that no kernel can compute are counted by reason.

    :raises InputError: a line is wrong, or one of ``lines`` asks for another direction or for what no kernel
        computes.
    """
    operations = tuple(session.registry.operations)
    named = [
        _supported(parse_problem(ProblemLine(text=line, path="problem"), direction, operations))
        if isinstance(line, str)
        else _of_object(line, direction)
        for line in lines
    ]
    listed: list[ProblemCase] = []
    skipped: Counter[str] = Counter()
    for path in files:
        problems, others = read_problem_file(path, direction, operations, lenient=lenient)
        listed += [case for case in problems if not case.unsupported]
        skipped += others
        skipped.update(case.unsupported for case in problems if case.unsupported)
    return GivenProblems(named=tuple(named), listed=tuple(listed), skipped=skipped)


def random_problems(operation: Operation, draw: random.Random, ndim: int) -> Iterator[Problem]:
    """Yield problems of an operation without end."""
    while True:
        with suppress(InputError):  # sizes that do not fit together
            yield operation.random_problem(draw, ndim)


def note_skipped(session: Session, skipped: Counter[str]) -> None:
    """Say how many lines of files are left out, by reason."""
    note_first(session, [f"excluded {counted(n, 'problem line')}: {why}" for why, n in skipped.most_common()])


def note_first(session: Session, notes: Sequence[str]) -> None:
    """Say the first four of some notes; the others are details."""
    for number, note in enumerate(notes):
        session.emit(Message(note, Level.INFO if number < 4 else Level.DETAIL))
    if len(notes) > 4:
        session.emit(Message(f"{counted(len(notes) - 4, 'more note', 'more notes')} on problem lines: -v"))


def _supported(case: ProblemCase) -> ProblemCase:
    """Return a problem that kernels can compute.

    :raises InputError: none can.
    """
    if case.unsupported:
        raise InputError(f"{case.problem.describe()}: {case.unsupported}", "problem")
    return case


def _of_object(problem: Problem | ProblemCase, direction: Operation) -> ProblemCase:
    case = as_case(problem)
    if not isinstance(case.problem, direction.problem_types):
        raise InputError(f"{case.problem.describe()}: expected a problem of {direction.id}")
    if case.direction not in (None, direction.id):
        raise InputError(f"the problem was read for {case.direction}, expected {direction.id}")
    return _supported(case)
