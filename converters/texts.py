"""Where the instance stands in a line, of a list or of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof_converters.compiled import LineError, Problem
from ckprof_converters.lines import instance_text
from ckprof_converters.log import instance_in, looks_like_log

if TYPE_CHECKING:
    from ckprof.model.conversion import ConversionRequest


class LineTexts:
    """Takes instances out of the lines of one input."""

    def __init__(self, request: ConversionRequest) -> None:
        #: true for output of ckProfiler, where lines that name no instance are no errors
        self.log = looks_like_log(request.data)
        self._upstream_comments = request.upstream_comments

    def of(self, line: str) -> tuple[str, int]:
        """Return the instance in a line and its zero-based place; an empty text if there is none.

        :raises LineError: a line of a log names an instance in an unknown way.
        """
        if not self.log:
            text = instance_text(line, upstream_comments=self._upstream_comments)
            return text, len(line) - len(line.lstrip()) if text else 0
        if line.lstrip().startswith("#"):
            return "", 0
        found = instance_in(line)
        if found is None:
            raise LineError(Problem("a kernel is named, but in no way that ckProfiler is known to print", 0))
        return found.text, found.start
