"""SARIF: what code hosts read."""

from __future__ import annotations

import json
from pathlib import Path

from ckprof_plugins.consumers.cmd_audit import sarif_document, sarif_result


def test_a_document_with_a_place_and_one_of_a_whole_file(tmp_path):
    results = [
        sarif_result("a", "error", "bad\x1b[31m", tmp_path / "x.txt", 3),
        sarif_result("b", "note", "odd", Path("y.txt"), 0),
    ]
    document = json.loads(sarif_document({"a": "means a", "b": "means b"}, results))
    (run,) = document["runs"]
    assert document["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["a", "b"]
    first, second = run["results"]
    assert "\x1b" not in first["message"]["text"]
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    assert "region" not in second["locations"][0]["physicalLocation"]
