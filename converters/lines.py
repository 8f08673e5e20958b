"""From bytes to lines: text checks, line ends, comments. A file of any size is read piece by piece."""

from __future__ import annotations

import codecs
import io
import re
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof_converters.compiled import LineError, Problem
from ckprof_converters.drop_rules import COMMENT_MARKS
from ckprof_converters.log import instance_in, looks_like_log

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from ckprof.model.conversion import ConversionRequest

#: characters of the longest line that is read; instance lists have some hundreds
MAX_LINE: Final = 100_000

#: bytes that are read at once
_PIECE: Final = 1 << 18

#: begins a comment, anywhere in a line
_COMMENT: Final = re.compile("|".join(COMMENT_MARKS))

_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")


def iterate_lines(request: ConversionRequest) -> Iterator[str]:
    """Yield the physical lines without their ends, of any convention.

    :raises InputError: the content is no text, or a line is too long.
    """
    try:
        with request.stream() if request.stream else io.BytesIO(request.data) as stream:
            yield from _Lines(request, stream)
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", request.path) from None


def instance_text(line: str, *, upstream_comments: bool) -> str:
    """Return the line without comment and surrounding blanks; empty if nothing is left.

    :param upstream_comments: a comment mark anywhere makes the whole line a comment.
    """
    if upstream_comments and ("#" in line or ";" in line):
        return ""
    found = _COMMENT.search(line)
    return (line if found is None else line[: found.start()]).strip()


def without_comment(line: str) -> str:
    """Return a line of output without a comment that someone has added.

    That is one behind an instance, or a whole line; anything else may be part of what was printed.
    """
    found = _COMMENT.search(line)
    if found is None:
        return line
    before = line[: found.start()]
    return before if ">" in before or not before.strip() else line


class _Lines:
    """One pass over a stream. Pieces are checked before any line in them is handed out."""

    def __init__(self, request: ConversionRequest, stream: BinaryIO) -> None:
        self._request = request
        self._stream = stream
        # The mark of UTF-8 is dropped by the codec, all line ends become \n.
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self._newlines = io.IncrementalNewlineDecoder(None, translate=True)
        #: lines handed out so far
        self._number = 0
        #: the line that the latest piece ends in
        self._rest = ""

    def __iter__(self) -> Iterator[str]:
        first = True
        while piece := self._stream.read(_PIECE):
            if first and piece.startswith(_UTF16_MARKS):
                raise InputError("UTF-16 text, expected UTF-8", self._request.path, 1, 1)
            first = False
            lines = (self._rest + self._decoded(piece)).split("\n")
            self._rest = lines.pop()
            yield from self._counted(lines)
        lines = (self._rest + self._decoded(b"", final=True)).split("\n")
        if not lines[-1]:
            lines.pop()
        self._rest = ""
        yield from self._counted(lines)

    def _counted(self, lines: list[str]) -> Iterator[str]:
        for line in lines:
            self._number += 1
            if len(line) > MAX_LINE:
                self._too_long(self._number)
            yield line
        if len(self._rest) > MAX_LINE:
            self._too_long(self._number + 1)

    def _decoded(self, piece: bytes, *, final: bool = False) -> str:
        try:
            text = self._decoder.decode(piece, final)
        except UnicodeDecodeError as exc:
            # The object starts with the bytes of a character that the previous piece cut, if it did.
            raise InputError(
                f"byte 0x{exc.object[exc.start]:02x} is not UTF-8 text ({exc.reason})",
                self._request.path,
                *self._place(exc.object[: exc.start].decode("utf-8-sig")),
            ) from None
        nul = text.find("\0")
        if nul >= 0:
            raise InputError(
                "NUL byte: this is a binary file, not an instance list",
                self._request.path,
                *self._place(text[:nul]),
            )
        ends: str = self._newlines.decode(text, final)
        return ends

    def _place(self, before: str) -> tuple[int, int]:
        """Return the one-based line and column after the text ``before`` of the current piece."""
        # A \r at the end of a piece is held back until it is known what follows.
        held = "\r" if self._newlines.getstate()[1] & 1 else ""
        before = self._rest + (held + before).replace("\r\n", "\n").replace("\r", "\n")
        return self._number + before.count("\n") + 1, len(before) - before.rfind("\n")

    def _too_long(self, number: int) -> None:
        raise InputError(
            f"the line is longer than {MAX_LINE} characters: this is no instance list",
            self._request.path,
            number,
            1,
        )


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
        instance = instance_in(without_comment(line))
        if instance is None:
            raise LineError(Problem("a kernel is named, but in no way that ckProfiler is known to print", 0))
        return instance.text, instance.start
