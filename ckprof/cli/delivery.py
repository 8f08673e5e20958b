"""Brings results to where they were asked for; what fails on the way costs that place alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.cli.report_file import write_report
from ckprof.errors import CkprofError, PluginError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ckprof.cli.session import Session
    from ckprof.report.document import Document
    from ckprof.report.table import Table


class Delivery:
    """The report of a command in several forms. A signal meanwhile is only noted.

    :param session: whose console shows results and errors.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        #: the first thing that went wrong
        self.error: CkprofError | None = None

    def write(self, path: Path | None, render: Callable[[], str]) -> bool:
        """Write a form to a file, if one was asked for; say whether it went well."""
        return path is None or self._try(lambda: write_report(render(), path), f"the report {path}")

    def show(
        self,
        render: Callable[[], str | Table[Any] | Document],
        fallback: Callable[[], str],
        *,
        commands: bool = False,
    ) -> None:
        """Show a form on standard output; what cannot be rendered is shown otherwise, on standard error.

        :param commands: lines may be commands of a build service.
        """
        shown: list[str | Table[Any] | Document] = []
        if not self._try(lambda: shown.append(render()), "the report"):
            self._session.console.info("the results follow as a table")
            self._try(lambda: self._session.console.warning(fallback()), "the table")
            return
        self._try(lambda: self._print(shown[0], commands), "standard output")

    def _print(self, content: str | Table[Any] | Document, commands: bool) -> None:
        if commands and isinstance(content, str):
            self._session.console.exact(content)
        else:
            self._session.console.result(content)

    def finish(self, end: BaseException | None = None) -> None:
        """Raise what went wrong.

        :param end: what ended the work that is reported.
        :raises BaseException: that, if there was any.
        :raises CkprofError: a form could not be rendered or written.
        """
        if end is not None:
            if self.error is not None:
                self._session.console.error(str(self.error))
            raise end
        if self.error is not None:
            raise self.error

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
