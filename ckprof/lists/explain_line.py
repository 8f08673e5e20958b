"""What becomes of one line, by itself and among the others of its file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError
from ckprof.lists.list_files import find_list, is_json, list_request

if TYPE_CHECKING:
    from ckprof.model.conversion import ConversionRequest, ExplainedLine, ListReading
    from ckprof.plugin.registry import Registry

#: FILE:LINE or FILE:LINE:COLUMN
_PLACE: Final = re.compile(r"(?P<file>.+?):(?P<line>[0-9]+)(?::[0-9]+)?:?", re.DOTALL)


def explain(text: str, registry: Registry, reading: ListReading) -> ExplainedLine:
    """Explain a line, or the line of a file that ``FILE:LINE`` or ``FILE:LINE:COLUMN`` names.

    A file may be a path, or the name of a list that ships with ckprof.

    :param reading: how lines are read.
    :raises InputError: the file cannot be read or has no such line.
    :raises UsageError: no converter knows such a line.
    """
    # No list line ends in a colon and a number, and no file name holds a bracket of a template.
    named = _PLACE.fullmatch(text) if "<" not in text else None
    if named is None:
        return _explain(text, reading.request(Path("line"), b""), registry)
    path, number = find_list(named["file"]), int(named["line"])
    request = list_request(path, replace(reading, lenient=True))
    if is_json(request.data):
        raise InputError("is a JSON catalog; only lines of lists and logs can be explained", path)
    line = _line_of(request, number)
    explained = _explain(line, request, registry, number)
    if explained.errors:
        alone = _explain(line, replace(request, data=b"", stream=None), registry)
        if not alone.errors:
            error = "; ".join(message for _, message in explained.errors)
            return replace(alone, path=path, line=number, list_error=error)
    return replace(explained, path=path, line=number)


def _line_of(request: ConversionRequest, number: int) -> str:
    if number < 1:
        raise InputError("lines count from 1", request.path)
    try:
        with request.path.open(encoding="utf-8-sig") as stream:
            count = 0
            for count, line in enumerate(stream, 1):
                if count == number:
                    return line.rstrip("\n")
    except UnicodeDecodeError as exc:
        raise InputError(f"not UTF-8 text ({exc.reason})", request.path) from None
    except OSError as exc:
        raise InputError(f"cannot read: {exc.strerror}", request.path) from None
    raise InputError(f"there is no line {number}, the file has {count} lines", request.path)


def _explain(
    text: str, request: ConversionRequest, registry: Registry, number: int | None = None
) -> ExplainedLine:
    for converter in registry.converters:
        explained = converter.explain(text, request, number)
        if explained is not None:
            return explained
    raise UsageError("no converter plugin can explain lines")
