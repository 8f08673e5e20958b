"""``ckprof check-support``: which kernels support which problems, by the headers' own tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from ckprof.cli import shared_options
from ckprof.cli.fields import add_fields, add_format, chosen
from ckprof.cli.instance_report import report_rejections
from ckprof.cli.run_options import add_problem_options, parsed_problems
from ckprof.errors import ExitCode, UsageError
from ckprof.formatting import counted
from ckprof.measure.requests import SupportRequest
from ckprof.measure.worker.messages import SupportQuery
from ckprof.report.document import Document
from ckprof.report.figures import sizes_column
from ckprof.report.table import Column, Table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from ckprof.cli.session import Session
    from ckprof.measure.support import SupportReport
    from ckprof.measure.worker.messages import Support

_EPILOG = """\
examples:
  ckprof check-support fwd --conf legacy.conf --target hip --problems problems.txt
  ckprof check-support fwd --conf legacy.conf --target hip --random 1000

Asks the kernels' own support tests, compiled from the headers of the target; nothing is run, and no device
is needed. The same queries go to the model of these headers on the CPU, at their API level; --no-model
skips that. Exit code 1 when both answer a query differently, or when no kernel supports a given problem.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof check-support``."""
    parser.epilog = _EPILOG
    shared_options.add_instances(parser)
    add_problem_options(parser)
    group = parser.add_argument_group("queries")
    add_fields(group, SupportRequest, "random")
    group.add_argument(
        "--split-k",
        type=_splits,
        default=[1],
        metavar="N,N",
        help="splits of the reduction that each problem is asked with (default: 1)",
    )
    add_fields(group, SupportRequest, "seed", "model")
    shared_options.add_build_options(parser)
    add_format(parser.add_argument_group("output"))


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a problem, an option or the toolchain is wrong.
    """
    selection = shared_options.chosen_selection(arguments, session, arguments.direction)
    direction = session.registry.operation(selection.direction)
    given = tuple(
        SupportQuery(problem=case.problem, split_k=split)
        for case in parsed_problems(arguments, session, direction)
        for split in (case.splits or arguments.split_k)
    )
    if not given and (arguments.random or 0) < 1:
        raise UsageError("nothing to ask: give --problem, --problems or --random")
    report = session.profiler.check_support(
        chosen(
            arguments,
            SupportRequest,
            selection=selection,
            build=shared_options.chosen_build_options(arguments),
            queries=given,
        )
    )
    report_rejections(report.library.rejected, session.console)
    if report.library.path is None:
        return ExitCode.FAILED
    session.console.result_in(arguments.format, _content(report), _document(report))
    return ExitCode.OK if report.succeeded else ExitCode.FAILED


def _splits(text: str) -> list[int]:
    splits = [int(word) for word in text.split(",")]
    if min(splits) < 1:
        raise ValueError(text)
    return splits


# the command line says "expected" and this name
_splits.__name__ = "positive integers such as 1,2,4"


def _document(table: SupportReport) -> Document:
    lines, library = [], table.library
    differing = table.disagreements()
    for candidate, index in differing[:20]:
        key = candidate.instance.key
        real, model = table.answers[key][index], (table.model or {})[key][index]
        query = table.queries[index]
        lines.append(
            f"differs: {candidate.name}: {query.problem.describe()} split_k {query.split_k}: "
            f"{'yes' if real.supported else 'no'}, model {'yes' if model.supported else 'no'}"
            + (f" ({model.reason or real.reason})" if model.reason or real.reason else "")
        )
    if len(differing) > len(differing[:20]):
        lines.append(f"... and {len(differing) - 20} more")
    asked = len(table.candidates) * len(table.queries)
    supported = sum(table.supporters(index) for index in range(len(table.queries)))
    lines.append(
        f"{counted(asked, 'answer')} of {counted(len(table.candidates), 'kernel')} to "
        f"{len(table.queries)} queries, "
        f"{supported} of them yes (target {library.recipe.target}, API level {library.recipe.api_level})"
    )
    if table.model is not None:
        lines.append(
            f"the model on the CPU agrees on {asked - len(differing)} of {asked}"
            + ("" if differing else ": all of them")
        )
    return Document([*([_answers(table)] if table.given else []), "\n".join(lines)])


def _answers(table: SupportReport) -> Table[int]:
    """Return a row for each query that was given."""
    columns: list[Column[int]] = [
        Column("problem", lambda index: index),
        Column("kernels", lambda index: f"{table.supporters(index)} of {len(table.candidates)}"),
        Column("split_k", lambda index: table.queries[index].split_k),
        replace(sizes_column(lambda index: table.queries[index].problem), name=""),
        Column(
            "most frequent reason of the others",
            lambda index: _most_frequent_reason(table, index),
            whole_below=True,
        ),
    ]
    return Table(columns, range(table.given))


def _most_frequent_reason(table: SupportReport, index: int) -> str:
    answers = (table.answers[candidate.instance.key][index] for candidate in table.candidates)
    reasons = [answer.reason for answer in answers if not answer.supported]
    return max(set(reasons), key=reasons.count, default="")


def _content(table: SupportReport) -> dict[str, Any]:
    recipe = table.library.recipe

    def flags(answers: Iterable[Support]) -> list[bool]:
        return [answer.supported for answer in answers]

    return {
        "target": recipe.target,
        "arch": recipe.arch,
        "api_level": recipe.api_level,
        "queries": msgspec.to_builtins(table.queries),
        "kernels": [
            {
                "name": candidate.name,
                "key": candidate.instance.key,
                "supported": flags(table.answers[candidate.instance.key]),
                "model": flags(table.model[candidate.instance.key]) if table.model is not None else None,
            }
            for candidate in table.candidates
        ],
        "disagreements": len(table.disagreements()),
    }
