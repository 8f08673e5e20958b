"""Proof that the generated instances are those that CK Builder has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import InputError
from ckprof.events import Level, Message
from ckprof.kernels.candidates import list_candidates
from ckprof.kernels.choose import Selection
from ckprof.kernels.library import build_library
from ckprof.lists.list_files import find_list, is_json, list_request, read_request
from ckprof.model.parity import DEFAULT_FAIL_ON, ParityReport
from ckprof.model.recipe import Purpose
from ckprof.parity.compare import agree, compare
from ckprof.parity.lockfile import Lock, digest, freeze, locked_side
from ckprof.parity.request import chosen_revision, parity_tasks
from ckprof.parity.side import (
    against_each_other,
    builder_side,
    catalog_side,
    expected_side,
    is_library,
    library_side,
    printed_strings,
    read_builder,
)
from ckprof.paths import conf_root, lasting_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.model.conversion import Conversion, ConversionRequest, ListReading
    from ckprof.model.parity import ParityFinding, Skipped, StringComparison
    from ckprof.model.strings.kind import Revision
    from ckprof.parity.lockfile import LockedStrings
    from ckprof.parity.request import ParityRequest
    from ckprof.parity.side import StringSide
    from ckprof.plugin.protocols import Operation
    from ckprof.plugin.registry import Registry
    from ckprof.session import Session


def check_parity(session: Session, request: ParityRequest) -> tuple[ParityReport, Lock]:
    """Compare lists with CK Builder's strings, or with those of a lock file.

    :returns: all comparisons, and what a lock file would hold; empty unless ``request.write`` is set.
    :raises CkprofError: a list, a log, the library or the request is wrong.
    """
    request = request.checked()
    tasks, revision = parity_tasks(request, session.registry)
    comparisons: list[StringComparison] = []
    frozen: list[LockedStrings] = []
    for task in tasks:
        check = _TaskCheck(session, request, revision, *task)
        generated = check.compare()
        comparisons += check.comparisons
        if request.write is not None:
            strings = [session.registry.strings.render(entry.parsed, revision) for entry in generated.entries]
            if strings:
                frozen.append(freeze(task[0].id, check.lists, strings, request.write.parent))
            else:
                session.emit(Message(f"not in the lock file, since every instance is skipped: {check.title}"))
    if not any(comparison.compared for comparison in comparisons):
        rules = ", ".join(sorted({skip.rule for item in comparisons for skip in item.skipped}))
        raise InputError(f"nothing is compared: every instance is excluded ({rules})", comparisons[0].title)
    report = ParityReport(revision=revision.name, fail_on=request.fail_on, comparisons=tuple(comparisons))
    return report, Lock(revision=revision.name, expected=tuple(frozen))


def compare_files(
    session: Session,
    names: tuple[str, str],
    reading: ListReading,
    *,
    direction: str | None = None,
    revision: str | None = None,
    fail_on: tuple[ParityFinding, ...] = DEFAULT_FAIL_ON,
) -> ParityReport:
    """Compare the instances of any two of list, catalog, native list, library and log.

    :param names: paths, or names of lists that ship with ckprof.
    :param direction: id or alias that both must belong to.
    :param revision: the only CK revision that may have printed the strings; ``None`` for every one, line by
        line.
    :raises CkprofError: a file is wrong or of no known kind.
    """
    registry = session.registry
    expected = chosen_revision(revision)
    insisted = expected if revision else None
    direction = registry.operation(direction).id if direction else None
    paths = [path if (path := Path(name)).is_file() else find_list(name) for name in names]
    requests = [list_request(path, reading, direction, whole=True) for path in paths]
    named = zip(paths, requests, strict=True)
    first, second = against_each_other(*(_side(*one, registry, insisted) for one in named))
    comparison = compare(first, second, registry.strings, f"{names[0]} and {names[1]}")
    comparison = replace(comparison, title_of_checkout=" and ".join(map(lasting_name, paths)))
    return ParityReport(revision=expected.name, fail_on=fail_on, comparisons=(comparison,))


def _side(path: Path, file: ConversionRequest, registry: Registry, revision: Revision | None) -> StringSide:
    """Return the side of any file: list, log, catalog or library.

    :raises InputError: the file is wrong or of no known kind.
    """
    name = str(file.path)
    if is_library(file.data):
        return replace(library_side(path, (), registry), name=name)
    if is_json(file.data):
        return catalog_side([read_request(file, registry)], registry, name)
    return builder_side([read_builder(file, registry, revision)], registry.strings, name)


def _shown(path: Path) -> str:
    """Return a path for titles; lists that ship with ckprof by the name that finds them."""
    root = conf_root()
    return str(path.relative_to(root) if path.is_relative_to(root) else path)


class _TaskCheck:
    """The comparison of one task."""

    def __init__(
        self,
        session: Session,
        request: ParityRequest,
        revision: Revision,
        direction: Operation,
        paths: Sequence[Path],
        locked: LockedStrings | None,
    ) -> None:
        self._session = session
        self._registry = session.registry
        self._request = request
        self._direction = direction
        self._locked = locked
        self._insisted = revision if request.revision else None
        self.title = f"{direction.id} {', '.join(_shown(path) for path in paths)}"
        self._lasting_title = f"{direction.id} {', '.join(map(lasting_name, paths))}"
        self.comparisons: list[StringComparison] = []
        #: lines of the lists that CK Builder was asked for and has no string for, by where they are
        self._left_out: Mapping[str, Skipped] = {}
        self.lists = [self._read(path) for path in paths]

    def compare(self) -> StringSide:
        """Compare, and return the generated side; with both sources they must agree with each other first."""
        conversions = [read_request(request, self._registry) for request in self.lists]
        expected = self._printed(conversions) if self._request.builder is not None else self._expected()
        for conversion in conversions:
            for note in conversion.notes:
                self._session.emit(Message(f"{conversion.path}: {note}", Level.DETAIL))
        source = self._request.source
        if source == "library":
            generated = self._built(conversions)
        else:
            generated = catalog_side(conversions, self._registry, with_keys=source == "both")
        if source == "both":
            computed, generated = generated, self._built(conversions)
            agreement = agree(computed, generated, self._registry.strings, f"{self.title}: both sources")
            lasting = f"{self._lasting_title}: both sources"
            self.comparisons.append(replace(agreement, title_of_checkout=lasting))
            if agreement.missing or agreement.extra:
                return generated
        told = generated.without(self._left_out)
        comparison = compare(expected, told, self._registry.strings, self.title)
        self.comparisons.append(replace(comparison, title_of_checkout=self._lasting_title))
        return generated

    def _read(self, path: Path) -> ConversionRequest:
        return list_request(path, self._request.reading, self._direction.id, whole=True)

    def _expected(self) -> StringSide:
        locked, lock, against = self._locked, self._request.locked, self._request.against
        if locked is None or lock is None:
            printed = [self._read(against)] if against is not None else []
            return expected_side(self.lists, printed, self._registry, self._insisted)
        notes = [
            f"{item.path} has changed since the lock was written"
            for item, request in zip(locked.lists, self.lists, strict=True)
            if digest(request.data) != item.digest
        ]
        return locked_side(locked, self._registry.strings, lock, notes)

    def _printed(self, conversions: Sequence[Conversion]) -> StringSide:
        """Return what CK Builder itself prints, after comparing the lists with it."""
        tree = self._request.builder
        assert tree is not None  # noqa: S101  # the caller asks
        self._session.emit(
            Message(f"asking the CK Builder of {tree} (compiled the first time): {self.title}")
        )
        requests, self._left_out, notes = printed_strings(
            self._registry, self._direction.id, tree, self.lists, conversions, self._request.build.compiler
        )
        lists = builder_side(
            [read_builder(request, self._registry) for request in self.lists], self._registry.strings, "list"
        )
        printed = builder_side(
            [read_builder(request, self._registry, self._insisted) for request in requests],
            self._registry.strings,
        )
        printed = replace(printed, notes=(*printed.notes, *notes))
        first, second = against_each_other(printed, lists.without(self._left_out))
        self.comparisons.append(
            compare(first, second, self._registry.strings, f"{self.title}: the lines of the list")
        )
        return expected_side(self.lists, requests, self._registry, self._insisted)

    def _built(self, conversions: Sequence[Conversion]) -> StringSide:
        """Return the library's side; the library is built unless it was named."""
        candidates = list_candidates(conversions, self._registry)
        if self._request.library is not None:
            return library_side(self._request.library, candidates, self._registry)
        # the comparison that follows says more than the error of a build
        selection = Selection(conversions=(), candidates=tuple(candidates), source=self.title)
        library = build_library(self._session, selection, self._request.build, Purpose.RUN)
        if library.path is None:
            raise InputError("no kernel could be built", self.title)
        built_for = (library.recipe.arch, library.recipe.api_level)
        return library_side(library.path, candidates, self._registry, built_for)
