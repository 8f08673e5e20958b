"""The command: its options, what it does, and how it is registered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ckprof import InstanceQuery, Problem, Store, StoreQuery, hookimpl
from ckprof.errors import ExitCode, UsageError
from ckprof.measure.requests import StoreOptions
from ckprof.plugin.hookspecs import Command

_EPILOG = """\
examples:
  ckprof time-guard fwd --conf forward/tests/nhwgc_fp16 --problem "$LINE" --store guarded.db
  ckprof time-guard fwd --conf mine.conf --problem "$LINE" --store guarded.db --limit 0.25

exit code 1: no kernel serves the problem, or the fastest one is slower than it may be.
"""


def add_arguments(parser, session):
    """Add the options of the command; those of every command are there already."""
    parser.epilog = _EPILOG
    parser.add_argument("direction", metavar="DIRECTION", help="see 'ckprof list directions'")
    parser.add_argument("--conf", required=True, metavar="FILE", help="instance list")
    parser.add_argument("--problem", required=True, metavar="LINE", help="what the kernels compute")
    parser.add_argument(
        "--store",
        required=True,
        type=Path,
        metavar="FILE",
        help="result store that outcomes are added to",
    )
    parser.add_argument("--limit", type=float, metavar="MS", help="what the fastest kernel may take")
    parser.add_argument(
        "--slower",
        type=float,
        default=10.0,
        metavar="PERCENT",
        help="without --limit: how much slower than in the store it may be (default: 10)",
    )


def run(arguments, session):
    """Measure, and compare with the limit or with what the store has."""
    if arguments.slower < 0:
        raise UsageError("--slower is a percentage from 0")
    plan = session.profiler.plan(
        InstanceQuery(conf=arguments.conf, directions=arguments.direction), [arguments.problem]
    )
    (case,) = plan.problems
    limit = arguments.limit
    if limit is None and arguments.store.exists():
        before = fastest(arguments.store, case.problem)
        limit = before and before * (1 + arguments.slower / 100)
    store = StoreOptions(store=arguments.store, tags=("time-guard",))
    best = session.profiler.execute(replace(plan, store=store)).best()
    if best is None or best.time_ms is None:
        session.console.error(f"no kernel of {arguments.conf} serves the problem")
        return ExitCode.FAILED
    too_slow = limit is not None and best.time_ms > limit
    allowed = "" if limit is None else f"{limit:.4g}"
    session.console.result(f"kernel,ms,limit_ms\n{best.name},{best.time_ms:.4g},{allowed}")
    if too_slow:
        session.console.error(f"{best.name} takes {best.time_ms:.4g} ms, at most {allowed} ms were expected")
    return ExitCode.FAILED if too_slow else ExitCode.OK


def fastest(path: Path, problem: Problem) -> float | None:
    """Return the least time that a store has of a problem, in ms; ``None`` if it has none."""
    with Store(path) as store:
        times = [winner.time_ms for winner in store.best(StoreQuery(problem=problem))]
    return min((time for time in times if time is not None), default=None)


COMMAND = Command(
    name="time-guard",
    task="measure at scale",
    summary="measure a list into a store, and fail if its best kernel has become slower",
    add_arguments=add_arguments,
    run=run,
)


@hookimpl
def ckprof_register(registry):
    """Have the command where this module is named with ``--plugin`` or in ``ckprof.toml``."""
    registry.add(COMMAND)
