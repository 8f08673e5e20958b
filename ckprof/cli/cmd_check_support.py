"""``ckprof check-support``: which kernels support which problems, by the headers' own tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
from tabulate import tabulate

from ckprof.api.support import SupportRequest
from ckprof.cli import shared_options
from ckprof.cli.instances import add_instance_options, chosen_query
from ckprof.cli.problem_options import add_problem_options, parsed_problems
from ckprof.cli.rejections import report_rejections
from ckprof.errors import ExitCode, UsageError
from ckprof.run.support_queries import SupportQuery

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from ckprof.cli.session import Session
    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.flow.support import SupportTable
    from ckprof.run.support_queries import SupportAnswer

_EPILOG = """\
examples:
  ckprof check-support fwd --conf legacy.conf --target hip --problems problems.txt
  ckprof check-support fwd --conf legacy.conf --target hip --random 1000

Asks the kernels' own support tests, compiled from the headers of the target; nothing is run, and no device is
needed. The same queries go to the model of these headers on the CPU, at their API level; --no-model leaves
that out. Exit code 1 when both answer a query differently, or when no kernel supports a given problem.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof check-support``."""
    parser.epilog = _EPILOG
    shared_options.add_direction(parser, session)
    add_instance_options(parser, session)
    add_problem_options(parser)
    group = parser.add_argument_group("queries")
    group.add_argument(
        "--random", type=int, default=0, metavar="N", help="ask about so many random problems as well"
    )
    group.add_argument(
        "--split-k",
        type=_splits,
        default=[1],
        metavar="N,N",
        help="splits of the reduction that each problem is asked with (default: 1)",
    )
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of the random problems (default: 0)")
    group.add_argument("--no-model", action="store_true", help="do not ask the model on the CPU")
    shared_options.add_build_options(parser, session)
    group = parser.add_argument_group("output")
    group.add_argument("--format", choices=("table", "json"), default="table", help="(default: table)")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a problem, an option or the toolchain is wrong.
    """
    selection = session.profiler.instances(chosen_query(arguments, session, [arguments.direction])).require()
    direction = session.registry.operation(selection.direction)
    given = tuple(
        SupportQuery(problem=one.problem, split_k=split)
        for one in parsed_problems(arguments, session, direction)
        for split in (one.splits or arguments.split_k)
    )
    if not given and arguments.random < 1:
        raise UsageError("nothing to ask: give --problem, --problems or --random")
    report = session.profiler.check_support(
        SupportRequest(
            selection=selection,
            build=shared_options.chosen_build_options(arguments),
            queries=given,
            random=arguments.random,
            seed=arguments.seed,
            model=not arguments.no_model,
        )
    )
    report_rejections(report.library.rejected, session.console)
    if report.table is None:
        return ExitCode.FAILED
    if arguments.format == "json":
        session.console.result(json.dumps(_content(report.table, report.library), indent=1))
    else:
        session.console.result(_text(report.table, report.library, report.given))
    return ExitCode.OK if report.succeeded else ExitCode.FAILED


def _splits(text: str) -> list[int]:
    splits = [int(word) for word in text.split(",")]
    if min(splits) < 1:
        raise ValueError(text)
    return splits


# argparse names the type in "invalid ... value"
_splits.__name__ = "list of positive integers"


def _text(table: SupportTable, library: BuiltLibrary, given: int) -> str:
    rows = []
    for index in range(given):
        query = table.queries[index]
        rejected = [
            table.answers[candidate.instance.key][index].reason
            for candidate in table.candidates
            if not table.answers[candidate.instance.key][index].supported
        ]
        rows.append(
            (
                index,
                f"{table.supporters(index)} of {len(table.candidates)}",
                query.split_k,
                query.problem.describe(),
                max(set(rejected), key=rejected.count) if rejected else "",
            )
        )
    lines = []
    if rows:
        headers = ("problem", "kernels", "split_k", "", "most frequent reason of the others")
        lines += [tabulate(rows, headers=headers, disable_numparse=True), ""]
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
        f"{asked} answers of {len(table.candidates)} kernels to {len(table.queries)} queries, "
        f"{supported} of them yes (target {library.recipe.target}, API level {library.recipe.api_level})"
    )
    if table.model is not None:
        lines.append(
            f"the model on the CPU agrees on {asked - len(differing)} of {asked}"
            + ("" if differing else ": all of them")
        )
    return "\n".join(lines)


def _content(table: SupportTable, library: BuiltLibrary) -> dict[str, Any]:
    def flags(answers: Iterable[SupportAnswer]) -> list[bool]:
        return [one.supported for one in answers]

    return {
        "target": library.recipe.target,
        "arch": library.recipe.arch,
        "api_level": library.recipe.api_level,
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
