"""``ckprof results``: everything about stores but filling them."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.outputs import result_in_file
from ckprof.compare.side import row_key, side_of
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.formatting import counted
from ckprof.model.outcome import Status
from ckprof.model.types import DataType
from ckprof.plugin.protocols.converters import ImportHints
from ckprof.report.document import Document
from ckprof.report.figures import checked_text, sizes_column
from ckprof.report.table import Column, Table
from ckprof.report.totals import NetworkTimes, add_totals, networks
from ckprof.report.unserved import Unserved, unserved_of, with_unserved
from ckprof.store.query import StoreQuery

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ckprof.cli.session import Session
    from ckprof.compare.side import ProblemKey
    from ckprof.model.kernel import KernelName
    from ckprof.store.query import MeasurementSummary
    from ckprof.store.store import Store

_EPILOG = """\
examples:
  ckprof results show results.db                               # what it holds, and the best kernels
  ckprof results export results.db --output results.parquet    # csv, ndjson, parquet, t4
  ckprof results import old.csv --store results.db --direction fwd --arch gfx942 --dtype bf16
  ckprof results merge shards/ --store results.db              # again adds nothing twice
  ckprof results recover damaged.db --output saved.db
  ckprof results prune results.db --tag nightly --before 2026-01-01          # says what it would remove
  ckprof results prune results.db --samples-only --yes                       # does it

Exit code 0 when all is well, 1 when a check finds damage, or an import, merge or recovery lost something, 3
when a store or a file cannot be used.
"""

#: sessions that are listed
_SESSIONS: Final = 10
#: wrong rows of an import that are named
_WRONG: Final = 20
#: kernels without an outcome that are named
_LOST: Final = 20


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof results``."""
    parser.epilog = _EPILOG
    parser.add_argument("action", choices=tuple(_ACTIONS), metavar="ACTION", help=", ".join(_ACTIONS))
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="the store; for import: files in any of the known formats; for merge: shards or folders of them",
    )
    group = parser.add_argument_group("import, merge, export, recover")
    group.add_argument("--store", type=Path, metavar="FILE", help="import, merge: the store to add to")
    group.add_argument("-o", "--output", type=Path, metavar="FILE", help="the file to write")
    group.add_argument(
        "--format", metavar="NAME", help="csv, json, ndjson, parquet, t4 or a plugin's (default: by the file)"
    )
    group.add_argument("--wait", action="store_true", help="wait while another process writes the store")
    group = parser.add_argument_group("which outcomes (show, export, prune); for import: what a file lacks")
    add_fields(group, StoreQuery, "direction", "target", "arch", "dtype")
    add_fields(group, ImportHints)
    add_fields(group, StoreQuery, "statuses", "instance", "session", "since", "before")
    group = parser.add_argument_group("prune")
    group.add_argument(
        "--samples-only", action="store_true", help="remove the raw samples, keep the outcomes"
    )
    group.add_argument(
        "--yes", action="store_true", help="remove; without it, just say what would be removed"
    )


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a store, a file or an option is wrong.
    """
    return _ACTIONS[arguments.action](arguments, session)


def query_of(arguments: argparse.Namespace) -> StoreQuery:
    """Return which outcomes the options mean.

    :raises UsageError: several tags are named.
    """
    tags = arguments.tag or ()
    if len(tags) > 1:
        raise UsageError("--tag: one tag at a time")
    statuses = frozenset(map(Status, arguments.status or ()))
    return chosen(arguments, StoreQuery, statuses=statuses, tag=tags[0] if tags else None)


def _single(arguments: argparse.Namespace) -> Path:
    if len(arguments.paths) != 1:
        raise UsageError(f"results {arguments.action}: one store at a time")
    return Path(arguments.paths[0])


def _show(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.store import Store

    with Store(_single(arguments)) as store, result_in_file(arguments.output, session):
        session.console.result(_overview(store, query_of(arguments)))
    return ExitCode.OK


def _overview(store: Store, query: StoreQuery) -> Document:
    """Return counts, sessions, and the best kernel of every problem."""
    from ckprof.sweep.evidence import Layers

    summaries = list(store.measurements(query))
    lost = [summary for summary in summaries if summary.devices_lost]
    counts = Counter("not measured" if one.devices_lost else one.status.value for one in summaries)
    attempts = sum(summary.attempts for summary in summaries)
    statuses = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    held = f"{counted(len(summaries), 'outcome')} ({statuses}), {counted(attempts, 'attempt')}"
    lines = [f"{store.name}: {held if summaries else 'nothing that fits'}"]
    if checked := checked_text(summaries):
        lines.append(f"verified: {checked}")
    lines += [
        f"not measured: {_best_kernel(summary)} on {summary.key.problem.describe()}: the device failed "
        f"{counted(summary.devices_lost, 'time')} while it ran"
        for summary in lost[:_LOST]
    ]
    if len(lost) > _LOST:
        lines.append(f"not measured: {len(lost) - _LOST} more")
    sessions = store.sessions()
    if len(sessions) > _SESSIONS:
        lines.append(f"{counted(len(sessions), 'session')}, the last {_SESSIONS}:")
    for recorded in sessions[-_SESSIONS:]:
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(recorded.started))
        tags = f" [{', '.join(recorded.tags)}]" if recorded.tags else ""
        lines.append(f"  {recorded.uid[:8]} {started} {recorded.origin or recorded.host}{tags}")
    document = Document(["\n".join(lines)])
    rows: list[MeasurementSummary | Unserved] = [*store.best(query)]
    columns, layers = list(_BEST_COLUMNS), Layers(sessions)
    problems = {_problem_of(one) for one in summaries}
    # the attempts are read where something is to be said of them together
    if layers or problems != {_problem_of(one) for one in summaries if one.time_ms is not None}:
        tried = store.attempts(replace(query, statuses=frozenset()), samples=False)
        side = side_of(store.name, tried, store.baselines(), by_device=True)
        # as reports number problems and call layers
        known = layers.of_keys(side.by_problem)
        numbers: dict[ProblemKey | None, int] = {key: number for number, key in enumerate(side.by_problem, 1)}
        names: dict[ProblemKey | None, str] = {key: layer.name for key, layer in known.items()}
        rows = sorted([*rows, *unserved_of(side.by_problem)], key=lambda row: numbers[_problem_of(row)])
        if any(names.values()):
            columns.insert(0, Column("layer", lambda row: names.get(_problem_of(row), "")))
        columns.insert(0, Column("#", lambda row: f"P{numbers[_problem_of(row)]}"))
    if rows:
        shown = {
            "problem": lambda row: row.problem.describe(),
            "best kernel": lambda row: row.text,
            "type": lambda row: row.key.dtype,
        }
        columns = with_unserved(columns, shown, own=("#", "layer"))
        document.add(Table(columns, rows, other_names=[*map(_best_kernel, summaries)]))
    if layers:
        add_totals(document, networks(NetworkTimes.of_side(side), known))
    return document


def _problem_of(row: MeasurementSummary | Unserved) -> ProblemKey | None:
    """Return what kernels compete on, as reports distinguish it."""
    return row.key if isinstance(row, Unserved) else row_key(row, by_device=True).problem


def _best_kernel(summary: MeasurementSummary) -> KernelName:
    return summary.kernel.shown.splitting(summary.key.split_k)


def _interval(summary: MeasurementSummary) -> str:
    if summary.low_ms is None or summary.high_ms is None:
        return ""
    return f"{summary.low_ms:.4g} to {summary.high_ms:.4g}"


_BEST_COLUMNS: Final[list[Column[MeasurementSummary]]] = [
    sizes_column(lambda summary: summary.key.problem),
    Column("type", lambda summary: summary.kernel.dtype and summary.kernel.dtype.value),
    Column("best kernel", _best_kernel, names=_best_kernel),
    Column("time ms", lambda summary: summary.time_ms, align="decimal", form=".4g"),
    Column("95% interval ms", _interval, align="right", priority=1),
    Column(
        "GFLOP/s",
        lambda summary: summary.key.problem.flop / summary.time_ms / 1e6 if summary.time_ms else None,
        align="decimal",
        form=".4g",
        priority=2,
    ),
    Column("attempts", lambda summary: summary.ranked_attempts, align="right", priority=1),
]


def _export(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.formats import format_to_write, write_file
    from ckprof.store.store import Store

    if arguments.output is None:
        raise UsageError("results export: add --output FILE")
    formats = session.registry.store_formats
    # a mistake in the command is told before one in the store
    chosen = format_to_write(formats, arguments.output, arguments.format or "")
    with Store(_single(arguments)) as store:
        result = write_file(formats, chosen, store, query_of(arguments), arguments.output)
    session.console.info(f"{arguments.output}: {counted(result.rows, 'row')}")
    for why, count in result.left_out.most_common():
        session.console.warning(f"{count} excluded: {why}")
    return ExitCode.OK


def _import(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.formats import read_attempts
    from ckprof.store.writer import StoreWriter

    store = _target_store(arguments)
    direction = session.registry.operation(arguments.direction).id if arguments.direction else ""
    wrong: list[InputError] = []
    hints = chosen(
        arguments,
        ImportHints,
        direction=direction,
        target=arguments.target or "",
        arch=arguments.arch or "",
        dtype=DataType(arguments.dtype) if arguments.dtype else None,
        on_wrong=wrong.append,
    )
    # All files are read before the first is added: a wrong one changes nothing.
    formats, format_id = session.registry.store_formats, arguments.format or ""
    read = [(path, list(read_attempts(formats, path, hints, format_id))) for path in arguments.paths]
    for error in wrong[:_WRONG]:
        session.console.warning(str(error))
    if len(wrong) > _WRONG:
        session.console.warning(f"excluded {counted(len(wrong), 'wrong row')}, the first {_WRONG} are shown")
    if wrong and not any(attempts for _, attempts in read):
        raise InputError("no row can be used", ", ".join(map(str, arguments.paths)))
    wait_s = None if arguments.wait else 0
    with StoreWriter(store, wait_s=wait_s, on_wait=session.console.info) as writer:
        for path, attempts in read:
            added = writer.append_many(attempts)
            session.console.info(
                f"{path}: {counted(added, 'outcome')} added, {len(attempts) - added} were there already"
            )
    return ExitCode.FAILED if wrong else ExitCode.OK


def _merge(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.shard import find_shards, merge, read_lines
    from ckprof.store.writer import StoreWriter

    wait_s = None if arguments.wait else 0
    target, shards = _target_store(arguments), find_shards(arguments.paths)
    for shard in shards:
        next(read_lines(shard), None)  # what is no shard is said before a store is made
    if stores := [str(path) for folder in arguments.paths for path in sorted(folder.glob("*.db"))]:
        session.console.warning(
            f"excluded {counted(len(stores), 'store')}: {', '.join(stores)}; 'ckprof results export' makes "
            "shards of them"
        )
    with StoreWriter(target, wait_s=wait_s, on_wait=session.console.info) as writer:
        added, known, bad = merge(writer, shards)
    session.console.result(
        f"{counted(len(shards), 'shard')}: {counted(added, 'outcome')} added, {known} were there already"
    )
    for line in bad:
        session.console.warning(f"{line.path}:{line.line}: {line.reason}")
    # the last line of a shard whose writer was killed is expected to be cut
    return ExitCode.OK if all(line.torn for line in bad) else ExitCode.FAILED


def _target_store(arguments: argparse.Namespace) -> Path:
    if arguments.store is None:
        raise UsageError(f"results {arguments.action}: add --store FILE, the store to add to")
    return Path(arguments.store)


def _check(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.maintenance import check

    worst = ExitCode.OK
    for path in arguments.paths:
        findings = check(path)
        for finding in findings:
            session.console.result(f"{path}: {finding}")
        if findings:
            worst = ExitCode.FAILED
            session.console.info(f"save what is readable with 'ckprof results recover {path} --output NEW'")
        else:
            session.console.result(f"{path}: sound")
    return worst


def _recover(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.maintenance import recover

    if arguments.output is None:
        raise UsageError("results recover: add --output FILE, a new store")
    result = recover(_single(arguments), arguments.output)
    least = "at least " if result.uncertain else ""
    samples = f", the raw samples of {least}{result.samples_lost}" if result.samples_lost else ""
    texts = f"; {result.texts_lost} of those saved lack a text" if result.texts_lost else ""
    session.console.result(
        f"{arguments.output}: {counted(result.saved, 'outcome')} saved, "
        f"{least}{result.lost} lost{samples}{texts}"
    )
    for reason in (*([result.uncertain] if result.uncertain else []), *result.reasons):
        session.console.info(reason)
    return ExitCode.OK if result.complete else ExitCode.FAILED


def _prune(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.maintenance import prune

    query = query_of(arguments)
    if query == StoreQuery() and not arguments.samples_only:
        raise UsageError("results prune: say which outcomes, e.g. with --tag, --before or --status")
    dry = not arguments.yes
    attempts, size, freed = prune(_single(arguments), query, samples_only=arguments.samples_only, dry_run=dry)
    what = f"{counted(attempts, 'outcome')} and {counted(size, 'byte')} of raw samples"
    if dry:
        session.console.result(f"would remove {what}; add --yes to do it")
    else:
        session.console.result(f"removed {what}; the file is {counted(freed, 'byte')} smaller")
    return ExitCode.OK


_ACTIONS: Final[dict[str, Callable[[argparse.Namespace, Session], ExitCode]]] = {
    "show": _show,
    "export": _export,
    "import": _import,
    "merge": _merge,
    "check": _check,
    "recover": _recover,
    "prune": _prune,
}
