"""Finds out which state of CK Tile's interface a set of headers has.

Headers carry no number that tells. What generated code depends on is the order of template parameters, so
that is what is read: the kinds of the parameters of three templates, compared with ``api_levels.json``.
Parameters that a set has beyond those of a level must have defaults.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ckprof.errors import ToolchainError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TABLE: Final = Path(__file__).with_name("api_levels.json")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """The table of levels."""

    schema: str
    version: int
    #: template -> header below ``ck_tile``
    headers: dict[str, str]
    #: level -> template -> kinds of its parameters; ``typename*4`` stands for four of them
    levels: dict[str, dict[str, str]]


class Parameter(NamedTuple):
    """One template parameter."""

    #: ``typename``, or the type of a value
    kind: str
    has_default: bool


@lru_cache(maxsize=1)
def table() -> Document:
    """Return the table of levels."""
    return msgspec.json.decode(_TABLE.read_bytes(), type=Document)


def detect_api_level(root: Path) -> str:
    """Return the API level of the headers below ``root``.

    :param root: folder that holds ``ck_tile``.
    :raises ToolchainError: a header is missing, or the templates are those of no known level.
    """
    found = {
        name: template_parameters(_read(root / "ck_tile" / header), name)
        for name, header in table().headers.items()
    }
    for level, templates in table().levels.items():
        if all(_matches(found[name], kinds) for name, kinds in templates.items()):
            return level
    raise ToolchainError(_unknown(root, found))


def template_parameters(text: str, name: str) -> tuple[Parameter, ...]:
    """Return the parameters of the template called ``name``; empty if the text has none.

    :param text: the header.
    """
    text = _COMMENT.sub(" ", text)
    for declared in re.finditer(rf"\b(?:struct|class|using)\s+{name}\b", text):
        before = text[: declared.start()].rstrip()
        if before.endswith(">"):
            return tuple(_parameter(part) for part in _split(_bracketed(before)))
    return ()


def expand(kinds: str) -> tuple[str, ...]:
    """Return the kinds that a line of the table stands for."""
    expanded: list[str] = []
    for word in kinds.split():
        kind, _, count = word.partition("*")
        expanded += [kind] * int(count or 1)
    return tuple(expanded)


def _matches(found: tuple[Parameter, ...], kinds: str) -> bool:
    wanted = expand(kinds)
    own, further = found[: len(wanted)], found[len(wanted) :]
    return tuple(parameter.kind for parameter in own) == wanted and all(
        parameter.has_default for parameter in further
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as exc:
        raise ToolchainError(
            f"{path}: cannot be read ({exc.strerror}): no CK Tile headers with grouped convolutions; "
            "give the folder that holds ck_tile/ with --ck-root"
        ) from exc


def _bracketed(before: str) -> str:
    """Return what stands between the last pair of angle brackets of a text that ends in ``>``."""
    depth = parentheses = 0
    for position in range(len(before) - 1, -1, -1):
        character = before[position]
        parentheses += (character == ")") - (character == "(")
        if parentheses:
            continue  # a comparison
        depth += (character == ">") - (character == "<")
        if depth == 0:
            return before[position + 1 : -1]
    return ""


def _split(text: str) -> list[str]:
    """Split at commas that stand in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<({[") - (character in ">)}]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def _parameter(text: str) -> Parameter:
    declared, _, default = text.partition("=")
    words = declared.replace("...", " ").split()
    kind = words[0] if len(words) < 2 else " ".join(words[:-1])
    kind = "typename" if kind == "class" else kind.removeprefix("ck_tile::")
    return Parameter(kind, bool(default.strip()))


def _unknown(root: Path, found: Mapping[str, tuple[Parameter, ...]]) -> str:
    lines = [
        f"{root}: the CK Tile headers there are of no API level that ckprof knows "
        f"({', '.join(table().levels)})"
    ]
    for name, parameters in found.items():
        kinds = " ".join(parameter.kind for parameter in parameters) or "not found"
        lines.append(f"  {name}: {kinds}")
    lines.append("use other headers with --ck-root or $CK_ROOT")
    return "\n".join(lines)
