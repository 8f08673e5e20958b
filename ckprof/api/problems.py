"""Which problems instances are run on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.api.events import DefaultProblemUsed, ProblemPartsIgnored
from ckprof.api.problem import Problem, plain
from ckprof.errors import InputError, UsageError
from ckprof.problems.read import parse_problem, read_problem_file
from ckprof.problems.tokens import ParsedProblem, ProblemLine
from ckprof.run.options import AUTO_SPLITS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof.api.session import Session
    from ckprof.flow.candidates import Candidate
    from ckprof.model.problem import ConvProblem
    from ckprof.plugin.protocols import Direction


def parse_problems(
    session: Session,
    direction: Direction,
    lines: Sequence[str | ConvProblem] = (),
    files: Sequence[Path] = (),
    *,
    name: str = "--problem",
) -> list[ParsedProblem]:
    """Return the problems of lines, and of files with one problem a line.

    :param lines: MIOpenDriver's or ckProfiler's text, or problems already parsed.
    :param name: what messages call the lines.
    :raises InputError: a line is wrong, or asks for another direction.
    """
    known = tuple(session.registry.directions)
    parsed = [
        parse_problem(ProblemLine(text=line, path=name), direction, known)
        if isinstance(line, str)
        else _of_object(line, direction)
        for line in lines
    ]
    for path in files:
        parsed += read_problem_file(path, direction, known)
    return parsed


def problems_for(
    session: Session,
    parsed: Sequence[ParsedProblem],
    direction: Direction,
    candidates: Sequence[Candidate],
) -> list[ConvProblem]:
    """Return the problems asked for, or those that the instances are run on without any.

    :raises InputError: a line names a type or a layout that no instance has.
    """
    if not parsed:
        problems = default_problems(direction, candidates)
        for problem in problems:
            session.tell(DefaultProblemUsed(problem=problem))
        return problems
    for one in parsed:
        misfit = misfit_of(one, candidates)
        if misfit:
            raise InputError(misfit)
        if one.ignored:
            session.tell(ProblemPartsIgnored(parts=one.ignored))
    return [one.problem for one in parsed]


def default_problems(direction: Direction, candidates: Sequence[Candidate]) -> list[ConvProblem]:
    """Return, without repetitions, what each instance's family runs it on when no problem is given."""
    usual = direction.default_problem
    ordered = sorted(candidates, key=lambda candidate: candidate.instance.ndim)
    return list(
        dict.fromkeys(
            candidate.pipeline.default_problem(candidate.instance, usual[candidate.instance.ndim])
            for candidate in ordered
        )
    )


def misfit_of(parsed: ParsedProblem, candidates: Sequence[Candidate]) -> str:
    """Say how a problem line contradicts a list's types or layouts; empty if it does not."""
    dtypes = {candidate.instance.dtype for candidate in candidates}
    if parsed.dtype is not None and parsed.dtype not in dtypes:
        have = ", ".join(sorted(dtype.value for dtype in dtypes))
        return f"the problem line says {parsed.dtype.value}, the list has {have} instances"
    layouts = {candidate.instance.layout.name for candidate in candidates}
    if parsed.layout is not None and parsed.layout not in layouts:
        return f"the problem line says {parsed.layout}, the list has {', '.join(sorted(layouts))} instances"
    return ""


def common_splits(parsed: Sequence[ParsedProblem]) -> tuple[int, ...]:
    """Return the number of splits that the problems agree on; 1 where they name none.

    :raises UsageError: they do not agree.
    """
    splits = [one.split_k for one in parsed if one.split_k is not None]
    if len(set(splits)) > 1:
        raise UsageError(
            f"the problem lines name different split-K ({', '.join(map(str, splits))}): "
            "say which with --split-k"
        )
    if not splits:
        return (1,)
    return (splits[0] if splits[0] > 0 else AUTO_SPLITS,)


def _of_object(problem: ConvProblem, direction: Direction) -> ParsedProblem:
    if not isinstance(problem, Problem):
        return ParsedProblem(problem=problem)
    if problem.direction and problem.direction != direction.id:
        raise InputError(f"the problem was read for {problem.direction}, expected {direction.id}")
    return ParsedProblem(
        problem=plain(problem),
        dtype=problem.dtype,
        layout=problem.layout,
        split_k=problem.split_k,
        ignored=problem.ignored,
    )
