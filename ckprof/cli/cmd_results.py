"""``ckprof results``: everything about stores but filling them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import ExitCode, UsageError
from ckprof.model.dtype import DataType
from ckprof.model.outcome import Status
from ckprof.store.query import StoreQuery

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from ckprof.cli.session import Session

_EPILOG = """\
examples:
  ckprof results show results.db                               # what it holds, and the best kernels
  ckprof results export results.db --output results.parquet    # csv, ndjson, parquet, t4
  ckprof results import old.csv --store results.db --direction fwd --arch gfx942 --dtype bf16
  ckprof results merge shards/ --store results.db              # again adds nothing twice
  ckprof results check results.db
  ckprof results recover damaged.db --output saved.db
  ckprof results prune results.db --tag nightly --before 2026-01-01          # says what it would remove
  ckprof results prune results.db --samples-only --yes                       # does it

Exit code 0 when all is well, 1 when a check finds damage, or a merge or recovery lost something, 3 when a
store or a file cannot be used.
"""

_ACTIONS = ("show", "export", "import", "merge", "check", "recover", "prune")


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof results``."""
    parser.epilog = _EPILOG
    parser.add_argument("action", choices=_ACTIONS, metavar="ACTION", help=", ".join(_ACTIONS))
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="the store; for import: files in any of the known formats; for merge: shards or folders of them",
    )
    group = parser.add_argument_group("import, merge, export, recover")
    group.add_argument("--store", type=Path, metavar="FILE", help="import, merge: the store to add to")
    group.add_argument("-o", "--output", type=Path, metavar="FILE", help="export, recover: the file to write")
    group.add_argument(
        "--format", metavar="NAME", help="csv, json, ndjson, parquet, t4 or a plugin's (default: by the file)"
    )
    group.add_argument("--wait", action="store_true", help="wait while another process writes the store")
    _add_outcome_options(parser)
    group = parser.add_argument_group("check")
    group.add_argument(
        "--upgrade", action="store_true", help="bring an older store up to date first; a backup is kept"
    )
    group = parser.add_argument_group("prune")
    group.add_argument(
        "--samples-only", action="store_true", help="remove the raw samples, keep the outcomes"
    )
    group.add_argument(
        "--yes", action="store_true", help="remove; without it, just say what would be removed"
    )


def _add_outcome_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which outcomes are meant."""
    group = parser.add_argument_group("which outcomes (show, export, prune); for import: what a file lacks")
    group.add_argument("--direction", metavar="NAME", help="only of this direction")
    group.add_argument("--target", metavar="NAME", help="only of this target")
    group.add_argument("--arch", metavar="NAME", help="only of this architecture")
    group.add_argument("--dtype", metavar="NAME", help="only of this data type")
    group.add_argument("--layout", metavar="NAME", help="import: layout of the tensors, e.g. nhwgc")
    group.add_argument("--device-name", default="", metavar="NAME", help="import: name of the device")
    group.add_argument(
        "--tag",
        action="append",
        default=[],
        metavar="NAME",
        help="only with this tag; import: the tag to give",
    )
    group.add_argument(
        "--status",
        action="append",
        default=[],
        choices=[status.value for status in Status],
        metavar="NAME",
        help="only with this status (repeatable)",
    )
    group.add_argument("--instance", metavar="KEY", help="only of this instance: the beginning of its key")
    group.add_argument("--session", metavar="UID", help="only of this session: the beginning of its uid")
    group.add_argument("--since", metavar="DATE", help="only from this date or time on, e.g. 2026-01-31")
    group.add_argument("--before", metavar="DATE", help="only before this date or time")


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a store, a file or an option is wrong.
    """
    actions: dict[str, Callable[[argparse.Namespace, Session], ExitCode]] = {
        "show": _show,
        "export": _export,
        "import": _import,
        "merge": _merge,
        "check": _check,
        "recover": _recover,
        "prune": _prune,
    }
    return actions[arguments.action](arguments, session)


def query_of(arguments: argparse.Namespace) -> StoreQuery:
    """Return which outcomes the options mean.

    :raises UsageError: a date is wrong, or several tags are named.
    """
    if len(arguments.tag) > 1:
        raise UsageError("--tag: one tag at a time")
    return StoreQuery(
        direction=arguments.direction,
        target=arguments.target,
        arch=arguments.arch,
        dtype=DataType.parse(arguments.dtype).value if arguments.dtype else None,
        instance=arguments.instance,
        statuses=frozenset(map(Status, arguments.status)),
        tag=arguments.tag[0] if arguments.tag else None,
        session=arguments.session,
        since=parse_date(arguments.since, "--since"),
        before=parse_date(arguments.before, "--before"),
    )


def parse_date(text: str | None, option: str) -> float | None:
    """Return the seconds since the epoch of a date or time in ISO form, local time unless it says otherwise.

    :raises UsageError: it is none.
    """
    import datetime

    if text is None:
        return None
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise UsageError(f"{option}: expected a date such as 2026-01-31, got {text!r}") from None


def _single(arguments: argparse.Namespace) -> Path:
    if len(arguments.paths) != 1:
        raise UsageError(f"results {arguments.action}: one store at a time")
    path: Path = arguments.paths[0]
    return path


def _show(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.cli.results_text import overview
    from ckprof.store.store import Store

    with Store(_single(arguments)) as store:
        session.console.result(overview(store, query_of(arguments)))
    return ExitCode.OK


def _export(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.format import StoreFormats
    from ckprof.store.store import Store

    if arguments.output is None:
        raise UsageError("results export: add --output FILE")
    formats = StoreFormats(session.manager)
    chosen = formats.find(arguments.format) if arguments.format else formats.of_path(arguments.output)
    if chosen.write is None:
        raise UsageError(f"results export: the format {chosen.id} can only be imported")
    with Store(_single(arguments)) as store:
        result = chosen.write(store, query_of(arguments), arguments.output)
    session.console.info(f"{arguments.output}: {result.rows} rows")
    for why, count in result.left_out.most_common():
        session.console.warning(f"{count} left out: {why}")
    return ExitCode.OK


def _import(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.format import ImportHints, StoreFormats
    from ckprof.store.writer import StoreWriter

    store = _target_store(arguments)
    formats = StoreFormats(session.manager)
    direction = session.registry.operation(arguments.direction).id if arguments.direction else ""
    hints = ImportHints(
        direction=direction,
        target=arguments.target or "",
        arch=arguments.arch or "",
        device=arguments.device_name,
        dtype=DataType.parse(arguments.dtype) if arguments.dtype else None,
        layout=arguments.layout or "",
        tags=tuple(arguments.tag),
    )
    # All files are read before the first is added: a wrong one changes nothing.
    found = []
    for path in arguments.paths:
        chosen = formats.find(arguments.format) if arguments.format else formats.of_content(path)
        if chosen.read is None:
            raise UsageError(f"results import: the format {chosen.id} can only be exported")
        found.append((path, list(chosen.read(path, hints))))
    wait_s = None if arguments.wait else 0
    with StoreWriter(store, wait_s=wait_s, on_wait=session.console.info) as writer:
        for path, attempts in found:
            added = writer.append_many(attempts)
            known = len(attempts) - added
            session.console.info(f"{path}: {added} outcomes added, {known} were there already")
    return ExitCode.OK


def _merge(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.shard import merge
    from ckprof.store.writer import StoreWriter

    wait_s = None if arguments.wait else 0
    with StoreWriter(_target_store(arguments), wait_s=wait_s, on_wait=session.console.info) as writer:
        result = merge(writer, arguments.paths)
    session.console.result(
        f"{result.files} shards: {result.added} outcomes added, {result.known} were there already"
    )
    for bad in result.bad:
        session.console.warning(f"{bad.path}:{bad.line}: {bad.reason}")
    # the last line of a shard whose writer was killed is expected to be cut
    lost = [bad for bad in result.bad if not bad.torn]
    return ExitCode.FAILED if lost else ExitCode.OK


def _target_store(arguments: argparse.Namespace) -> Path:
    if arguments.store is None:
        raise UsageError(f"results {arguments.action}: add --store FILE, the store to add to")
    store: Path = arguments.store
    return store


def _check(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.maintenance import check
    from ckprof.store.writer import StoreWriter

    worst = ExitCode.OK
    for path in arguments.paths:
        if arguments.upgrade:
            # opening for writing is what brings a store up to date
            StoreWriter(path, wait_s=None if arguments.wait else 0).close()
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
    session.console.result(f"{arguments.output}: {result.saved} outcomes saved, {result.lost} lost")
    for reason in result.reasons:
        session.console.info(reason)
    return ExitCode.FAILED if result.lost else ExitCode.OK


def _prune(arguments: argparse.Namespace, session: Session) -> ExitCode:
    from ckprof.store.maintenance import prune

    query = query_of(arguments)
    if query == StoreQuery() and not arguments.samples_only:
        raise UsageError("results prune: say which outcomes, e.g. with --tag, --before or --status")
    dry = not arguments.yes
    result = prune(_single(arguments), query, samples_only=arguments.samples_only, dry_run=dry)
    what = f"{result.attempts} outcomes and {result.samples_bytes} bytes of raw samples"
    if dry:
        session.console.result(f"would remove {what}; add --yes to do it")
    else:
        freed = result.bytes_before - result.bytes_after
        session.console.result(f"removed {what}; the file is {freed} bytes smaller")
    return ExitCode.OK
