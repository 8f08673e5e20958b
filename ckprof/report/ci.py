"""What CI services read: annotations of GitHub Actions, JUnit XML, and why there is no result.

Services follow a JUnit case from run to run by its class and its name. So neither has line numbers or paths
of a checkout: those stand in messages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias
from xml.etree import ElementTree

from ckprof.errors import InputError
from ckprof.paths import checkout_path, lasting_name
from ckprof.report.escape import markdown_block, xml_text
from ckprof.sanitize import one_line, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.errors import CkprofError


class JUnit:
    """A report that grows.

    :param name: what is tested.
    """

    def __init__(self, name: str) -> None:
        self._root = ElementTree.Element("testsuites", name=xml_text(name))
        self._names: dict[tuple[str, str], int] = {}

    def suite(self, name: str) -> ElementTree.Element:
        """Add a suite, for test cases of :meth:`case`; it is the class of its cases."""
        return add(self._root, "testsuite", name=name)

    def case(self, suite: ElementTree.Element, name: str) -> ElementTree.Element:
        """Add a test case; of several with one name, the second and later ones are numbered."""
        owner = suite.get("name", "")
        count = self._names[owner, name] = self._names.get((owner, name), 0) + 1
        return add(suite, "testcase", classname=owner, name=name if count == 1 else f"{name} #{count}")

    def render(self) -> str:
        """Return the document, with the counts of its cases."""
        counts = {
            "tests": "testcase",
            "failures": "testcase/failure",
            "errors": "testcase/error",
            "skipped": "testcase/skipped",
        }
        for key, path in counts.items():
            for suite in self._root:
                suite.set(key, str(len(suite.findall(path))))
            self._root.set(key, str(len(self._root.findall(f"testsuite/{path}"))))
        ElementTree.indent(self._root)
        return ElementTree.tostring(self._root, encoding="unicode", xml_declaration=True) + "\n"


def add(parent: ElementTree.Element, tag: str, text: str = "", **attributes: str) -> ElementTree.Element:
    """Add an element to another one."""
    child = ElementTree.SubElement(parent, tag, {key: xml_text(value) for key, value in attributes.items()})
    child.text = xml_text(text) or None
    return child


#: annotations of a level that GitHub shows of one step; it drops the others without a word
MOST_SHOWN: Final = 10

_PLACE: Final = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))?")


class AnnotationLevel(Enum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


#: how bad something is, and the line that GitHub reads
Remark: TypeAlias = tuple[AnnotationLevel, str]


def remark(
    level: AnnotationLevel,
    title: str,
    message: str,
    path: Path | str | None = None,
    line: int | None = None,
    column: int | None = None,
) -> Remark:
    """Return one remark.

    :param path: what it is about: a file, or any other source, which is shown without a place.
    :param line: one-based, as ``column`` is.
    """
    properties = {"title": title}
    if path is not None and Path(path).is_file():
        # from the root of the repository, as pull requests have it, wherever ckprof was called
        place = {"file": str(checkout_path(Path(path)) or path), "line": line, "col": column}
        properties = {key: str(value) for key, value in place.items() if value} | properties
    written = ",".join(f"{key}={_escaped_property(value)}" for key, value in properties.items())
    return level, f"::{level.value} {written}::{_escaped(plain(message))}"


def remark_at(source: str, level: AnnotationLevel, title: str, message: str) -> Remark:
    """Return a remark on a source in the form ``file``, ``file:line`` or ``file:line:column``."""
    found = _PLACE.fullmatch(source)
    if found is None:
        return remark(level, title, message, source)
    column = int(found["column"]) if found["column"] else None
    return remark(level, title, message, found["path"], int(found["line"]), column)


def render(remarks: Iterable[Remark], verdict: str) -> str:
    """Return all remarks, as far as GitHub shows them, and a line for those who read the log.

    :param verdict: that line.
    """
    levels: dict[AnnotationLevel, list[str]] = defaultdict(list)
    for level, written in remarks:
        levels[level].append(written)
    lines = []
    for level, found in levels.items():
        shown = found if len(found) <= MOST_SHOWN else found[: MOST_SHOWN - 1]
        lines += shown
        if len(found) > len(shown):
            _, rest = remark(level, f"{len(found) - len(shown)} more", "other formats have all of them")
            lines.append(rest)
    return "\n".join([*lines, one_line(verdict)]) + "\n"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(one_line(text)).replace(":", "%3A").replace(",", "%2C")


def failure_junit(error: CkprofError) -> str:
    """Return a report of one case, which ended with an error."""
    junit = JUnit("ckprof")
    path = error.path if isinstance(error, InputError) else None
    name = lasting_name(path) if path is not None else "ckprof"
    case = junit.case(junit.suite(name), "can be read" if isinstance(error, InputError) else "has a result")
    first, *_ = str(error).splitlines()
    add(case, "error", str(error), type=type(error).__name__, message=first)
    return junit.render()


def failure_markdown(error: CkprofError) -> str:
    """Return what went wrong, for pull requests."""
    lines = markdown_block(str(error).splitlines())
    return f"**ckprof: no result, exit code {int(error.exit_code)}**\n\n{lines}\n"


def failure_annotations(error: CkprofError) -> str:
    """Return a remark for each place that is wrong."""
    return render(remarks_on(error), f"no result, exit code {int(error.exit_code)}")


def remarks_on(error: CkprofError) -> list[Remark]:
    """Return a remark for each thing that is wrong, at its place."""
    if not isinstance(error, InputError):
        return [remark(AnnotationLevel.ERROR, "ckprof", str(error))]
    return [
        remark(AnnotationLevel.ERROR, "ckprof", one.message, one.path, one.line, one.column)
        if Path(one.path).is_file()
        else remark(AnnotationLevel.ERROR, "ckprof", str(one))
        for one in error.diagnostics
    ]
