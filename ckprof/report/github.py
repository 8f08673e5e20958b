"""Annotations for GitHub Actions: lines that it shows beside the files of a pull request."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.paths import checkout_path
from ckprof.plain_text import one_line, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

#: annotations of a level that GitHub shows of one step; it drops the others without a word
MOST_SHOWN: Final = 10

_PLACE: Final = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?::(?P<column>\d+))?")


class Level(Enum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """One remark."""

    level: Level
    title: str
    message: str
    #: what it is about: a file, or any other source, which is shown without a place
    path: Path | str | None = None
    #: one-based
    line: int | None = None
    column: int | None = None

    @classmethod
    def at(cls, source: str, *, level: Level, title: str, message: str) -> Annotation:
        """Return a remark on a source in the form ``file``, ``file:line`` or ``file:line:column``."""
        found = _PLACE.fullmatch(source)
        if found is None:
            return cls(level=level, title=title, message=message, path=source)
        column = int(found["column"]) if found["column"] else None
        return cls(
            level=level,
            title=title,
            message=message,
            path=found["path"],
            line=int(found["line"]),
            column=column,
        )

    def command(self) -> str:
        """Return the line that GitHub reads."""
        properties = {"title": self.title}
        if self.path is not None and Path(self.path).is_file():
            # from the root of the repository, as pull requests have it, wherever ckprof was called
            place = {
                "file": str(checkout_path(Path(self.path)) or self.path),
                "line": self.line,
                "col": self.column,
            }
            properties = {key: str(value) for key, value in place.items() if value} | properties
        written = ",".join(f"{key}={_escaped_property(value)}" for key, value in properties.items())
        return f"::{self.level.value} {written}::{_escaped(plain(self.message))}"


def render(annotations: Iterable[Annotation], verdict: str) -> str:
    """Return all remarks, as far as GitHub shows them, and a line for those who read the log.

    :param verdict: that line.
    """
    levels: dict[Level, list[Annotation]] = defaultdict(list)
    for annotation in annotations:
        levels[annotation.level].append(annotation)
    lines = []
    for level, found in levels.items():
        shown = found if len(found) <= MOST_SHOWN else found[: MOST_SHOWN - 1]
        lines += [annotation.command() for annotation in shown]
        if len(found) > len(shown):
            title = f"{len(found) - len(shown)} more"
            rest = Annotation(level=level, title=title, message="other formats have all of them")
            lines.append(rest.command())
    return "\n".join([*lines, one_line(verdict)]) + "\n"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escaped_property(text: str) -> str:
    return _escaped(one_line(text)).replace(":", "%3A").replace(",", "%2C")
