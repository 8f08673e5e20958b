"""Proof that the generated instances are those that CK Builder has."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.building import build_library
from ckprof.api.events import ConversionNotes, NotFrozen
from ckprof.api.parity_request import parity_tasks, strings_reading
from ckprof.errors import InputError
from ckprof.flow.candidates import list_candidates
from ckprof.flow.list_files import find_list
from ckprof.model.parity import DEFAULT_FAIL_ON, ParityReport
from ckprof.model.recipe import Purpose
from ckprof.parity.agreement import agree
from ckprof.parity.builder_side import against_each_other
from ckprof.parity.compare import compare
from ckprof.parity.dispatcher_side import catalog_side
from ckprof.parity.lockfile import ListContent, Lock, digest, freeze, locked_side
from ckprof.parity.side_files import built_side, expected_side, read_bytes, side_of_file
from ckprof.paths import conf_root
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.api.parity_request import ParityRequest, ParityTask
    from ckprof.api.requests import ListReading
    from ckprof.api.session import Session
    from ckprof.model.conversion import Conversion
    from ckprof.model.parity import Comparison, ParityFinding
    from ckprof.parity.lockfile import LockedStrings
    from ckprof.parity.side import Side
    from ckprof.parity.side_files import Reading


def check_parity(session: Session, request: ParityRequest) -> tuple[ParityReport, Lock]:
    """Compare lists with CK Builder's strings, or with those of a lock file.

    :returns: all comparisons, and what a lock file would hold; empty unless ``request.write`` is set.
    :raises CkprofError: a list, a log, the library or the request is wrong.
    """
    request = request.checked()
    tasks, revision = parity_tasks(request, session.registry)
    reading = request.strings_reading(revision)
    comparisons: list[Comparison] = []
    frozen: list[LockedStrings] = []
    for task in tasks:
        each = _TaskRun(session, request, reading, task)
        comparisons += each.compare()
        if request.write is not None:
            strings = each.freeze(request.write.parent)
            if strings.strings:
                frozen.append(strings)
            else:
                session.tell(NotFrozen(title=each.title))
    if not any(comparison.compared for comparison in comparisons):
        rules = ", ".join(sorted({skip.rule for item in comparisons for skip in item.skipped}))
        raise InputError(f"nothing is compared: every instance is left out ({rules})", comparisons[0].title)
    report = _report(reading, request.fail_on, comparisons)
    return report, Lock(revision=reading.revision.name, expected=tuple(frozen))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedFiles:
    """Two files of instances, and how their strings are compared."""

    #: paths, or names of lists that ship with ckprof
    names: tuple[str, str]
    #: id or alias that both must belong to
    direction: str | None = None
    #: CK revision whose strings are compared; ``None`` for the default
    revision: str | None = None
    fail_on: tuple[ParityFinding, ...] = DEFAULT_FAIL_ON


def compare_files(session: Session, files: ComparedFiles, reading: ListReading) -> ParityReport:
    """Compare the instances of any two of list, catalog, native list, library and log.

    :raises CkprofError: a file is wrong or of no known kind.
    """
    registry = session.registry
    strings = strings_reading(reading, files.revision)
    wanted = registry.operation(files.direction).id if files.direction else None
    names = files.names
    first, second = (side_of_file(_path(name), registry, strings, wanted) for name in names)
    first, second = against_each_other(first, second)
    comparison = compare(first, second, registry.strings, f"{names[0]} and {names[1]}")
    return _report(strings, files.fail_on, [comparison])


def _path(name: str) -> Path:
    path = Path(name)
    return path if path.is_file() else find_list(name)


def _report(
    reading: Reading, fail_on: tuple[ParityFinding, ...], comparisons: Sequence[Comparison]
) -> ParityReport:
    return ParityReport(
        ckprof_version=__version__,
        revision=reading.revision.name,
        fail_on=fail_on,
        comparisons=tuple(comparisons),
    )


def _shown(path: Path) -> str:
    """Return a path for titles; lists that ship with ckprof by the name that finds them."""
    root = conf_root()
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


class _TaskRun:
    """The comparison of one task."""

    def __init__(self, session: Session, request: ParityRequest, reading: Reading, task: ParityTask) -> None:
        self._session = session
        self._request = request
        self._registry = session.registry
        self._reading = reading
        self._task = task
        self.title = f"{task.direction.id} {', '.join(_shown(path) for path in task.paths)}"
        self._generated: Side | None = None

    def compare(self) -> Iterator[Comparison]:
        """Return the comparison, or two: with both sources they must agree with each other first."""
        expected = self._expected()
        conversions = [
            self._reading.convert(path, self._registry, self._task.direction.id) for path in self._task.paths
        ]
        for conversion in conversions:
            if conversion.notes:
                self._session.tell(ConversionNotes(path=conversion.path, notes=conversion.notes))
        source = self._request.source
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
        task, locked, lock = self._task, self._task.locked, self._request.locked
        if locked is None or lock is None:
            return expected_side(
                task.paths, self._request.against, self._registry, self._reading, task.direction.id
            )
        notes = [
            f"{item.path} has changed since the lock was written"
            for item, path in zip(locked.lists, task.paths, strict=True)
            if digest(read_bytes(path)) != item.digest
        ]
        return locked_side(locked, self._registry.strings, lock, notes)

    def _built(self, conversions: Sequence[Conversion]) -> Side:
        """Return the library's side; the library is built unless it was named."""
        candidates = list_candidates(conversions, self._registry)
        if self._request.library is not None:
            return built_side(self._request.library, candidates, self._registry)
        # the comparison that follows says more than the error of a build
        library = build_library(
            self._session, candidates, self._request.build, Purpose.RUN, compare_strings=False
        )
        if library.path is None:
            raise InputError("no kernel could be built", self.title)
        built_for = (library.recipe.arch, library.recipe.api_level)
        return built_side(library.path, candidates, self._registry, built_for)
