"""The options that name problem sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from ckprof.problems.counted import CountedProblem


def add_problem_set_options(group: argparse._ArgumentGroup) -> None:
    """Add ``--problem-set`` and ``--batch``."""
    group.add_argument(
        "--problem-set",
        action="append",
        default=[],
        metavar="NAME",
        help="the layers of a network: see 'ckprof problems list' (repeatable), or a file of that form",
    )
    group.add_argument("--batch", type=int, metavar="N", help="batch size of the problem sets (default: 1)")


def problems_of_sets(arguments: argparse.Namespace) -> list[CountedProblem]:
    """Return the problems of all sets, in their order.

    :raises UsageError: a set is unknown, or a batch size is given without a set.
    :raises InputError: a file is no problem set, or the batch size is not positive.
    """
    if not arguments.problem_set:
        if arguments.batch is not None:
            raise UsageError("--batch is the batch size of a problem set: it requires --problem-set")
        return []
    from ckprof.problems.problem_set import find_set

    batch = 1 if arguments.batch is None else arguments.batch
    return [one for name in arguments.problem_set for one in find_set(name).problems(batch)]
