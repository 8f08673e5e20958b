"""SARIF 2.1.0: findings as code hosts show them beside the files of a change."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from ckprof.paths import checkout_path
from ckprof.plain_text import plain
from ckprof.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_result(rule: str, level: str, message: str, path: Path, line: int) -> dict[str, Any]:
    """Return one finding.

    :param level: ``error``, ``warning`` or ``note``.
    :param line: one-based; 0 for the whole file.
    """
    place: dict[str, Any] = {"artifactLocation": {"uri": (checkout_path(path) or path).as_posix()}}
    if line:
        place["region"] = {"startLine": line}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": plain(message)},
        "locations": [{"physicalLocation": place}],
    }


def sarif_document(rules: Mapping[str, str], results: Sequence[Mapping[str, Any]]) -> str:
    """Return the document.

    :param rules: id -> what it means.
    """
    driver = {
        "name": "ckprof",
        "version": __version__,
        "rules": [{"id": id_, "shortDescription": {"text": text}} for id_, text in rules.items()],
    }
    run = {"tool": {"driver": driver}, "results": list(results)}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1) + "\n"
