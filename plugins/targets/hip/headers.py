"""Finds CK Tile's headers."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import ToolchainError
from ckprof_plugins.targets.hip.fetch import FETCH_COMMAND, bundles
from ckprof_plugins.targets.hip.rocm import rocm_roots

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT_VARIABLE: Final = "CK_ROOT"
#: a root may be that of the headers, of an installation or of a checkout
_BELOW: Final = ("", "include", "projects/composablekernel/include")
_SIGN: Final = Path("ck_tile", "core.hpp")


@dataclass(frozen=True, slots=True, kw_only=True)
class CkHeaders:
    """A set of CK Tile headers."""

    #: folder that holds ``ck_tile``
    root: Path
    api_level: str
    #: who named it, for messages
    origin: str


def find_headers(requested: Path | None = None) -> CkHeaders:
    """Return the headers that the user named, or the first set that is found.

    :param requested: ``--ck-root``.
    :raises ToolchainError: there are none, or they are of an unknown API level.
    """
    looked: list[str] = []
    for origin, folder, named in _candidates(requested):
        for below in _BELOW:
            root = folder / below if below else folder
            if (root / _SIGN).is_file():
                return CkHeaders(root=root.resolve(), api_level=detect_api_level(root), origin=origin)
        if named:
            raise ToolchainError(f"{origin} {folder}: no ck_tile/core.hpp there or in its include folder")
        looked.append(str(folder))
    raise ToolchainError(
        f"no CK Tile headers found; looked in {', '.join(looked)}\n"
        f"name the folder that holds ck_tile/ with --ck-root or ${ROOT_VARIABLE}, or fetch a set of "
        f"July 2025 with '{FETCH_COMMAND}'"
    )


def _candidates(requested: Path | None) -> Iterator[tuple[str, Path, bool]]:
    """Yield origin, folder, and whether the user expects the headers to be there."""
    if requested is not None:
        yield "--ck-root", requested, True
        return
    from_environment = os.environ.get(ROOT_VARIABLE, "").strip()
    if from_environment:
        yield f"${ROOT_VARIABLE}", Path(from_environment), True
        return
    for root in rocm_roots():
        yield "ROCm", root, False
    # the newest state has most
    for month, bundle in reversed(bundles().items()):
        if month in table().levels:
            yield "fetched", bundle.root, False


_TABLE: Final = Path(__file__).with_name("api_levels.json")
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class ApiLevelTable(msgspec.Struct, forbid_unknown_fields=True):
    """The table of levels."""

    schema: str
    version: int
    #: template -> header below ``ck_tile``
    headers: dict[str, str]
    #: level -> template -> kinds of its parameters; ``typename*4`` stands for four of them
    levels: dict[str, dict[str, str]]


@lru_cache(maxsize=1)
def table() -> ApiLevelTable:
    """Return the table of levels."""
    return msgspec.json.decode(_TABLE.read_bytes(), type=ApiLevelTable)


def detect_api_level(root: Path) -> str:
    """Return the API level of the headers below ``root``.

    :param root: folder that holds ``ck_tile``.
    :raises ToolchainError: a header is missing, or the templates are those of no known level.
    """
    declared = {
        name: template_parameters(_read(root / "ck_tile" / header), name)
        for name, header in table().headers.items()
    }
    for level, templates in table().levels.items():
        if all(_matches(declared[name], kinds) for name, kinds in templates.items()):
            return level
    raise ToolchainError(_unknown(root, declared))


def template_parameters(text: str, name: str) -> tuple[tuple[str, bool], ...]:
    """Return the parameters of the template called ``name``; empty if the text has none.

    Each is ``typename`` or the type of a value, and whether it has a default.

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


def _matches(parameters: tuple[tuple[str, bool], ...], kinds: str) -> bool:
    wanted = expand(kinds)
    listed, further = parameters[: len(wanted)], parameters[len(wanted) :]
    return tuple(kind for kind, _ in listed) == wanted and all(has_default for _, has_default in further)


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


def _parameter(text: str) -> tuple[str, bool]:
    declared, _, default = text.partition("=")
    words = declared.replace("...", " ").split()
    kind = words[0] if len(words) < 2 else " ".join(words[:-1])
    kind = "typename" if kind == "class" else kind.removeprefix("ck_tile::")
    return kind, bool(default.strip())


def _unknown(root: Path, declared: Mapping[str, tuple[tuple[str, bool], ...]]) -> str:
    lines = [
        f"{root}: the CK Tile headers there are of no API level that ckprof knows "
        f"({', '.join(table().levels)})"
    ]
    for name, parameters in declared.items():
        kinds = " ".join(kind for kind, _ in parameters) or "not found"
        lines.append(f"  {name}: {kinds}")
    lines.append("use other headers with --ck-root or $CK_ROOT")
    return "\n".join(lines)
