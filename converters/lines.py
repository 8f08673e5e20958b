"""From bytes to lines: text checks of the whole file, line ends, comments."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.model.conversion import ConversionRequest

#: characters of the longest line that is read; instance lines have some hundreds
MAX_LINE: Final = 1_000_000

_BOM: Final = b"\xef\xbb\xbf"


def iterate_lines(request: ConversionRequest) -> Iterator[str]:
    """Return an iterator over the physical lines without their ends, of any convention.

    :raises InputError: the content is no text, or a line is too long.
    """
    data = request.data
    if data.startswith(_BOM):
        data = data[len(_BOM) :]
    _check_text(request, data)
    return _lines(request, data)


def instance_text(line: str, *, upstream_comments: bool) -> str:
    """Return the line without comment and surrounding blanks; empty if nothing is left.

    :param upstream_comments: a comment mark anywhere makes the whole line a comment.
    """
    if "#" in line or ";" in line:
        line = "" if upstream_comments else line.partition("#")[0].partition(";")[0]
    return line.strip()


def _lines(request: ConversionRequest, data: bytes) -> Iterator[str]:
    # BytesIO shares the bytes and the wrapper decodes piece by piece, so a large list is not held twice.
    with io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline=None) as text:
        for number, line in enumerate(text, 1):
            if len(line) > MAX_LINE:
                raise InputError(
                    f"the line is longer than {MAX_LINE} characters: this is no instance list",
                    request.path,
                    number,
                    1,
                )
            yield line.rstrip("\n")


def _check_text(request: ConversionRequest, data: bytes) -> None:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("UTF-16 text, expected UTF-8", request.path, 1, 1)
    nul = data.find(b"\0")
    if nul >= 0:
        raise InputError(
            "NUL byte: this is a binary file, not an instance list", request.path, *_place(data, nul)
        )
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError as exc:
        raise InputError(
            f"byte 0x{data[exc.start]:02x} is not UTF-8 text ({exc.reason})",
            request.path,
            *_place(data, exc.start),
        ) from None


def _place(data: bytes, offset: int) -> tuple[int, int]:
    """Return the one-based line and column of a byte."""
    before = data[:offset].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return before.count(b"\n") + 1, len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
