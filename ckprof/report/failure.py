"""Why there is no result, in the forms that CI services read: an input that cannot be used, above all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import Diagnostic, InputError, ListError
from ckprof.paths import lasting_name
from ckprof.report.document import Block, Document
from ckprof.report.github import Annotation, Level, render
from ckprof.report.junit import JUnit, add

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.errors import CkprofError


def failure_junit(error: CkprofError) -> str:
    """Return a report of one case, which ended with an error."""
    junit = JUnit("ckprof")
    add_failure(junit, error)
    return junit.render()


def add_failure(junit: JUnit, error: CkprofError, suite: str = "") -> None:
    """Add a suite of one case, which ended with an error.

    :param suite: its name; by default that of the input.
    """
    path = error.path if isinstance(error, InputError) else None
    name = suite or (lasting_name(path) if path is not None else "ckprof")
    case = junit.case(junit.suite(name), "can be read" if isinstance(error, InputError) else "has a result")
    first, *_ = str(error).splitlines()
    add(case, "error", str(error), type=type(error).__name__, message=first)


def failure_markdown(error: CkprofError) -> str:
    """Return what went wrong, for pull requests."""
    lines = tuple(str(error).splitlines())
    return Document([f"**ckprof: no result, exit code {int(error.exit_code)}**", Block(lines)]).markdown()


def failure_annotations(error: CkprofError) -> str:
    """Return a remark for each place that is wrong."""
    return render(remarks_on(error), f"no result, exit code {int(error.exit_code)}")


def remarks_on(error: CkprofError) -> list[Annotation]:
    """Return a remark for each place that is wrong."""
    return [
        Annotation(
            level=Level.ERROR,
            title="ckprof",
            message=one.message,
            path=one.path or None,
            line=one.line,
            column=one.column,
        )
        for one in _diagnostics(error)
    ]


def _diagnostics(error: CkprofError) -> Sequence[Diagnostic]:
    if isinstance(error, ListError):
        return error.diagnostics
    if isinstance(error, InputError):
        path = error.path if error.path is not None else ""
        return [Diagnostic(path=path, message=error.message, line=error.line, column=error.column)]
    return [Diagnostic(path="", message=str(error))]
