"""Where results go: to standard output, to files, and in several formats at once.

What a command prints as its result goes to the file of ``-o FILE`` as a whole, or it stays as it was.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
import time
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ckprof.errors import CkprofError, InputError, PluginError, UsageError, system_errors
from ckprof.files import check_name, resolved, write_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from ckprof.cli.session import Session
    from ckprof.plugin.additions import RegistryEntries
    from ckprof.report.document import Document
    from ckprof.report.table import Table


T = TypeVar("T")

#: seconds after which a file that was to become a report belongs to a process that was killed
_ABANDONED_S: Final = 600.0


def check_report(path: Path | None) -> None:
    """Make sure that a report can be written, before anything is done that takes time.

    :param path: the file; ``None`` for no report.
    :raises InputError: it cannot.
    """
    if path is None:
        return
    check_name(path)
    if path.is_dir():
        raise InputError("cannot write the report: this is a folder, expected a file", path)
    if path.exists() and not path.is_file():
        # a device or a pipe
        return
    folder = resolved(path).parent
    if not folder.is_dir():
        raise InputError(f"cannot write the report: there is no folder {folder}; make it first", path)
    with system_errors(InputError, "cannot write the report", path):
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b" " * 4096)


def write_report(text: str | bytes, path: Path) -> None:
    """Write a report.

    :raises InputError: the file cannot be written.
    """
    check_report(path)
    write_output(path, text)
    # what an earlier process left behind that was killed while it wrote the same report
    for left in path.resolve().parent.glob(f".{path.name}.*.tmp"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _ABANDONED_S:
                left.unlink()


#: formats for people, which are what commands have by default
_FITTED: Final = ("table", "text")
_FORMAT_FILE: Final = re.compile(r"([a-z][a-z0-9_]*)=(.+)", re.DOTALL)


def add_output_file(group: argparse._ActionsContainer) -> None:
    """Add ``-o FILE`` to a command whose result has one format."""
    group.add_argument(
        "-o",
        "--output",
        dest="outputs",
        type=lambda text: [(Path(text), "")],
        metavar="FILE",
        help="write the result to this file instead of standard output",
    )


def add_formats(group: argparse._ActionsContainer, help: str) -> None:
    """Add ``--format`` and ``-o`` to a command that renders its result with formats that plugins add."""
    group.add_argument("--format", default="table", metavar="ID", help=help)
    add_outputs(group)


def add_outputs(group: argparse._ActionsContainer) -> None:
    """Add ``-o`` to a command that renders its result in several formats."""
    group.add_argument(
        "-o",
        "--output",
        dest="outputs",
        action="append",
        type=_output,
        metavar="[FORMAT=]FILE",
        help="write the result to this file instead of standard output; with FORMAT=, e.g. "
        "-o junit=results.xml, write it to this file in that format as well (repeatable)",
    )


def _output(text: str) -> tuple[Path, str]:
    """Return a file and its format, which is empty for what would go to standard output otherwise."""
    found = _FORMAT_FILE.fullmatch(text)
    return (Path(found[2]), found[1]) if found else (Path(text), "")


@contextmanager
def to_output_file(arguments: argparse.Namespace, session: Session) -> Iterator[None]:
    """Have what a command prints as its result go to the file of ``-o FILE``, if there is one.

    :raises UsageError: there are several, one is named twice, or is a file that the command reads.
    :raises InputError: it cannot be written.
    """
    given = {**vars(arguments), "outputs": None}
    others = [given.pop(name, None) for name in ("output", "json", "export_json")]
    written = [path for path in (*(one for one, _ in _outputs(arguments)), *others) if isinstance(path, Path)]
    values = (value if isinstance(value, (list, tuple)) else [value] for value in given.values())
    read = {os.path.realpath(one) for items in values for one in items if isinstance(one, (str, Path))}
    places = [os.path.realpath(path) for path in written]
    for path, place in zip(written, places, strict=True):
        if place in read and resolved(path).is_file():
            raise UsageError(f"{path}: the command reads this file, which its result would replace")
        # a device or a pipe takes several
        if places.count(place) > 1 and (path.is_file() or not path.exists()):
            raise UsageError(f"{path} is named twice: each result needs a file of its own")
    paths = [path for path, form in _outputs(arguments) if not form]
    if len(paths) > 1:
        raise UsageError(
            f"-o names two files for one result: {paths[0]} and {paths[1]}; FORMAT=FILE writes a further one"
        )
    with result_in_file(paths[0] if paths else None, session):
        yield


@contextmanager
def result_in_file(path: Path | None, session: Session) -> Iterator[None]:
    """Have what is printed as a result go to a file.

    :param path: the file; ``None`` for standard output.
    :raises InputError: it cannot be written.
    """
    if path is None:
        yield
        return
    check_report(path)
    with session.console.collected() as text:
        try:
            yield
        except BaseException:
            # what there is of it, as on standard output
            with session.signals.deferred():
                if text.getvalue():
                    try:
                        write_report(text.getvalue(), path)
                    except CkprofError as exc:
                        session.console.error(str(exc))
            raise
    with session.signals.deferred():
        write_report(text.getvalue(), path)


def _outputs(arguments: argparse.Namespace) -> list[tuple[Path, str]]:
    return getattr(arguments, "outputs", None) or []


class Outputs(AbstractContextManager["Outputs"]):
    """The formats that were asked for: as a context manager, reports in them why there is no result.

    :param formats: those that there are.
    :raises UsageError: there is no such format.
    :raises InputError: a file cannot be written.
    """

    def __init__(
        self, arguments: argparse.Namespace, session: Session, formats: RegistryEntries[Any]
    ) -> None:
        self._session = session
        #: of standard output
        self.format = formats.find(arguments.format)
        #: what is written besides
        self.further = [(formats.find(form), path) for path, form in _outputs(arguments) if form]
        for _, path in self.further:
            check_report(path)
        self._delivered = False

    def deliver(self, result: T, document: Callable[[T], Document]) -> None:
        """Write a result in all formats: the files first.

        :param document: shows it on standard output, fitted to the terminal, if no other format is asked for.
        :raises CkprofError: a format cannot show it, or a file cannot be written.
        """
        self.mark_delivered()
        for chosen, path in self.further:
            write_report(chosen.render(result), path)
        if self.format.id in _FITTED:
            self._session.console.result(document(result))
        else:
            self._session.console.exact(self.format.render(result))

    def mark_delivered(self) -> None:
        """Note that there is a result: whoever has it writes it, and what follows is no reason against it."""
        self._delivered = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not isinstance(error, CkprofError) or isinstance(error, UsageError) or self._delivered:
            return
        for chosen, path in self.further:
            if chosen.render_failure is not None:
                write_report(chosen.render_failure(error), path)
        if self.format.render_failure is not None:
            self._session.console.exact(self.format.render_failure(error))


def _write(render: Callable[[], str], path: Path) -> None:
    write_report(render(), path)


class Delivery:
    """The report of a command in several forms. A signal meanwhile is only noted.

    :param session: whose console shows results and errors.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        #: the first thing that went wrong
        self.error: CkprofError | None = None

    def deliver(
        self,
        outputs: Outputs,
        forms: Iterable[tuple[Path | None, Callable[[], str]]],
        render: Callable[[], str | Table[Any] | Document],
        fallback: Callable[[], str],
    ) -> None:
        """Write forms to their files, and then show one: standard output may be a terminal that is gone.

        :param fallback: shown on standard error if ``render`` fails.
        """
        outputs.mark_delivered()
        for path, written in forms:
            if path is not None:
                self._try(partial(_write, written, path), f"the report {path}")
        shown: list[str | Table[Any] | Document] = []
        if not self._try(lambda: shown.append(render()), "the report"):
            self._session.console.info("the results follow as a table")
            self._try(lambda: self._session.console.warning(fallback()), "the table")
            return
        # lines may be commands of a build service
        console, exact = self._session.console, outputs.format.commands and isinstance(shown[0], str)
        show: Callable[[Any], None] = console.exact if exact else console.result
        self._try(lambda: show(shown[0]), "standard output")

    def finish(self, end: BaseException | None = None) -> None:
        """Raise what went wrong.

        :param end: what ended the work that is reported.
        :raises BaseException: that, if there was any.
        :raises CkprofError: a form could not be rendered or written.
        """
        if end is not None and self.error is not None:
            self._session.console.error(str(self.error))
        if (reason := end or self.error) is not None:
            raise reason

    def _try(self, do: Callable[[], None], what: str) -> bool:
        try:
            with self._session.signals.deferred():
                do()
        except BrokenPipeError:
            raise
        except CkprofError as exc:
            self._note(exc)
            return False
        except Exception as exc:
            # Formats come from plugins, and the results may be hours of work.
            failed = PluginError(f"{what} cannot be made: {type(exc).__name__}: {exc}")
            failed.__cause__ = exc
            self._note(failed)
            return False
        return True

    def _note(self, error: CkprofError) -> None:
        if self.error is None:
            self.error = error
        else:
            self._session.console.error(str(error))
