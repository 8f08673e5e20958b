"""``ckprof parity``: prove that the generated instances are those that CK Builder has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli import parity_options, shared_options
from ckprof.cli.parity_tasks import parity_tasks, shown
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.flow.candidates import list_candidates
from ckprof.parity.agreement import agree
from ckprof.parity.compare import compare
from ckprof.parity.dispatcher_side import catalog_side
from ckprof.parity.lockfile import (
    DEFAULT_PATH,
    ListContent,
    Lock,
    digest,
    freeze,
    locked_side,
    write_lock,
)
from ckprof.parity.side_files import built_side, expected_side, read_bytes

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from ckprof.cli.parity_tasks import ParityTask
    from ckprof.cli.session import Session
    from ckprof.model.conversion import Conversion
    from ckprof.model.parity import Comparison
    from ckprof.parity.lockfile import LockedStrings
    from ckprof.parity.side import Side
    from ckprof.parity.side_files import Reading

_EPILOG = """\
examples:
  ckprof parity fwd --conf legacy.conf                        # computed on both sides, builds nothing
  ckprof parity fwd --conf legacy.conf --against profiler.log # what the tile profiler printed
  ckprof parity fwd --conf legacy.conf --from both            # ask the built kernels as well
  ckprof parity --all                                         # every list that ships with ckprof
  ckprof parity fwd --conf legacy.conf --write parity.lock    # freeze what was found
  ckprof parity --locked                                      # compare with parity.lock: for CI

Strings are compared as multisets after normalisation: true and 1, false and 0 are the same, fields that a
revision does not print have the value that their absence stands for. Lossy is what catalogs cannot say: it is
listed, and fails the command with --fail-on missing,extra,duplicate,lossy. What a rule leaves out is listed
as skipped and never counts as a match. Exit code 0: everything asked for matches, 1: it does not.
"""


def add_arguments(parser: argparse.ArgumentParser, session: Session) -> None:
    """Add the options of ``ckprof parity``."""
    parser.epilog = _EPILOG
    known = ", ".join(session.registry.directions.ids)
    parser.add_argument(
        "direction",
        metavar="DIRECTION",
        nargs="?",
        help=f"what is computed: {known}; may be left out with --all, --tree and --locked",
    )
    which = parser.add_argument_group("what is compared")
    which.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="FILE",
        help="instance list: a legacy .conf, or a catalog together with --against; lists that ship with "
        "ckprof work by name (repeatable; each is compared by itself, but all together with --against or a "
        "library)",
    )
    which.add_argument("--all", action="store_true", help="every list that ships with ckprof")
    which.add_argument(
        "--tree", type=Path, metavar="DIR", help="every DIR/<direction>/<set>/<name>.conf, each by itself"
    )
    which.add_argument(
        "--against",
        type=Path,
        metavar="FILE",
        help="CK Builder's strings: one a line, or the log of a profiler run (default: computed from the "
        "list)",
    )
    which.add_argument(
        "--from",
        dest="source",
        choices=("library", "catalog", "both"),
        help="where the generated instances come from (default: catalog, or both with --library); with both, "
        "library and catalog must agree first",
    )
    which.add_argument(
        "--library", type=Path, metavar="PATH", help="the built kernel library (default: it is built)"
    )
    locking = parser.add_argument_group("lock file")
    locking.add_argument(
        "--write", type=Path, metavar="FILE", help="freeze the strings in this file if everything matches"
    )
    locking.add_argument(
        "--locked",
        nargs="?",
        const=DEFAULT_PATH,
        metavar="FILE",
        help=f"compare with the strings of this file (default: {DEFAULT_PATH}) instead of CK Builder's; "
        "without --conf, all of its lists",
    )
    parity_options.add_comparison_options(parser, session)
    parity_options.add_reading_options(parser)
    shared_options.add_build_options(parser, session)


def run(arguments: argparse.Namespace, session: Session) -> ExitCode:
    """Run the command.

    :raises CkprofError: a list, a log, the library or an option is wrong.
    """
    _settle(arguments, session)
    session.registry.parity_formats.find(arguments.format)
    fail_on = parity_options.chosen_findings(arguments)
    tasks = parity_tasks(arguments, session)
    # A lock names its revision, so this follows the tasks.
    reading = parity_options.chosen_reading(arguments)
    comparisons: list[Comparison] = []
    frozen: list[LockedStrings] = []
    for task in tasks:
        each = _Run(arguments, session, reading, task)
        comparisons += each.compare()
        if arguments.write is not None:
            strings = each.freeze(arguments.write.parent)
            if strings.strings:
                frozen.append(strings)
            else:
                session.console.info(f"not frozen, since every instance is left out: {each.title}")
    if not any(comparison.compared for comparison in comparisons):
        rules = ", ".join(sorted({skip.rule for item in comparisons for skip in item.skipped}))
        raise InputError(f"nothing is compared: every instance is left out ({rules})", comparisons[0].title)
    code = parity_options.report(arguments, session, reading, fail_on, comparisons)
    if arguments.write is not None:
        if code is not ExitCode.OK:
            session.console.error(f"{arguments.write} is not written: the strings do not match")
            return code
        lock = Lock(revision=reading.revision.name, expected=tuple(frozen))
        written = write_lock(arguments.write, lock)
        count = sum(len(item.strings) for item in frozen)
        session.console.info(f"{'wrote' if written else 'unchanged'} {arguments.write}: {count} strings")
    return code


def _settle(arguments: argparse.Namespace, session: Session) -> None:
    """Fill in defaults and reject options that contradict each other.

    :raises UsageError: they do.
    """
    ids = {id_ for d in session.registry.directions for id_ in (d.id, *d.aliases)}
    if arguments.direction is None and arguments.locked in ids:
        arguments.direction, arguments.locked = arguments.locked, DEFAULT_PATH
    chosen = [
        name
        for name, given in (
            ("--conf", bool(arguments.conf)),
            ("--all", arguments.all),
            ("--tree", arguments.tree is not None),
        )
        if given
    ]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} both say which lists are meant: pass one of them")
    if not chosen and arguments.locked is None:
        raise UsageError("no list: pass --conf FILE, --all, --tree DIR or --locked")
    if arguments.conf and arguments.direction is None:
        raise UsageError("--conf needs DIRECTION in front")
    if arguments.locked is not None:
        for option, given in (
            ("--write", arguments.write),
            ("--against", arguments.against),
            ("--all", arguments.all),
            ("--tree", arguments.tree),
            ("--revision", arguments.revision),
        ):
            if given:
                raise UsageError(f"--locked and {option} contradict each other")
    if not arguments.conf and (arguments.against or arguments.library) and arguments.locked is None:
        raise UsageError("--against and --library belong to lists that --conf names")
    if arguments.library is not None and arguments.source == "catalog":
        raise UsageError("--library and --from catalog contradict each other")
    if arguments.source is None:
        arguments.source = "both" if arguments.library is not None else "catalog"


class _Run:
    """The comparison of one task."""

    def __init__(
        self, arguments: argparse.Namespace, session: Session, reading: Reading, task: ParityTask
    ) -> None:
        self._arguments = arguments
        self._session = session
        self._registry = session.registry
        self._reading = reading
        self._task = task
        self.title = f"{task.direction.id} {', '.join(shown(path) for path in task.paths)}"
        self._generated: Side | None = None

    def compare(self) -> Iterator[Comparison]:
        """Return the comparison, or two: with both sources they must agree with each other first."""
        expected = self._expected()
        conversions = [
            self._reading.convert(path, self._registry, self._task.direction.id) for path in self._task.paths
        ]
        for conversion in conversions:
            for note in conversion.notes:
                self._session.console.detail(f"{conversion.path}: {note}")
        source = self._arguments.source
        computed = None
        if source != "library":
            computed = catalog_side(conversions, self._registry, with_keys=source == "both")
        self._generated = computed
        if source != "catalog":
            built = self._built(conversions)
            self._generated = built
            if computed is not None:
                agreement = agree(computed, built, self._registry.strings, f"{self.title}: both sources")
                yield agreement
                if agreement.missing or agreement.extra:
                    return
        assert self._generated is not None  # noqa: S101  # one of the two sources is always asked
        yield compare(expected, self._generated, self._registry.strings, self.title)

    def freeze(self, folder: Path) -> LockedStrings:
        """Return the generated strings for the lock file."""
        assert self._generated is not None  # noqa: S101  # freezing follows the comparison
        return freeze(
            self._task.direction.id,
            [ListContent(path=path, data=read_bytes(path)) for path in self._task.paths],
            [
                self._registry.strings.render(entry.parsed, self._reading.revision)
                for entry in self._generated.entries
            ],
            folder,
        )

    def _expected(self) -> Side:
        task, locked = self._task, self._task.locked
        if locked is None:
            return expected_side(
                task.paths, self._arguments.against, self._registry, self._reading, task.direction.id
            )
        notes = [
            f"{item.path} has changed since the lock was written"
            for item, path in zip(locked.lists, task.paths, strict=True)
            if digest(read_bytes(path)) != item.digest
        ]
        return locked_side(locked, self._registry.strings, Path(self._arguments.locked), notes)

    def _built(self, conversions: Sequence[Conversion]) -> Side:
        """Return the library's side; the library is built unless it was named."""
        candidates = list_candidates(conversions, self._registry)
        if self._arguments.library is not None:
            return built_side(self._arguments.library, candidates, self._registry)
        from ckprof.cli.building import build_candidates

        target = shared_options.chosen_target(self._arguments, self._session)
        library = build_candidates(self._arguments, self._session, candidates, self._task.direction, target)
        for rejection in library.rejected:
            if rejection.status.is_failure:
                self._session.console.warning(
                    f"{rejection.status.value}: {rejection.candidate.name}: {rejection.reason}"
                )
        if library.path is None:
            raise InputError("no kernel could be built", self.title)
        arch = self._arguments.arch or self._session.settings.arch or target.default_arch
        return built_side(library.path, candidates, self._registry, (arch, library.recipe.api_level))
