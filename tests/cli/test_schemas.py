"""The versions of files and results: all constants of the code are in one table, and in the document."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from ckprof.cli.commands import schemas, version_of

ROOT = Path(__file__).parents[2]


def constants() -> dict[str, set[int]]:
    """Return the names in ``SCHEMA = ...`` of the code, and the versions that stand beside them."""
    found: dict[str, set[int]] = {}
    for path in [*(ROOT / "ckprof").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]:
        values, text = {}, path.read_text()
        # most files need not be parsed
        for node in ast.parse(text).body if "\nSCHEMA" in text else ():
            target = node.target if isinstance(node, ast.AnnAssign) else None
            if isinstance(node, ast.Assign):
                (target,) = node.targets
            if isinstance(target, ast.Name) and isinstance(getattr(node, "value", None), ast.Constant):
                values[target.id] = node.value.value
        if "SCHEMA" in values:
            found.setdefault(values["SCHEMA"], set()).add(values["VERSION"])
    return found


def test_every_schema_of_the_code_is_in_the_table():
    table = {name: {version_of(place)} for name, place, _ in schemas() if place.endswith(":VERSION")}
    assert constants() == table


def test_the_documents_have_the_table():
    pages = [ROOT / "docs" / "schemas.md", *(ROOT / "plugins").glob("*/docs/*.md")]
    tables = [page.read_text().partition("\n| schema | version |")[2] for page in pages]
    rows = dict(re.findall(r"^\| `([^`]+)` \| (\d+) \|", "".join(tables), re.MULTILINE))
    assert rows == {name: str(version_of(place)) for name, place, _ in schemas()}
