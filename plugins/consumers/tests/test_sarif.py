"""SARIF: what code hosts read."""

import json
from pathlib import Path

from ckprof_plugins.consumers.cmd_audit import render_sarif
from ckprof_plugins.consumers.records import AuditReport, FileAudit, Reason


def test_a_document_with_a_place_and_one_of_a_whole_file(tmp_path):
    files = (FileAudit(path=tmp_path / "x.txt", label="a"), FileAudit(path=Path("y.txt"), label="b"))
    files[0].find(Reason.WRONG_TIME, "bad\x1b[31m", line=3)
    files[1].find(Reason.EMPTY_FILE, "odd")
    document = json.loads(render_sarif(AuditReport(files=files, fail_on=frozenset())))
    (run,) = document["runs"]
    assert document["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [reason.value for reason in Reason]
    first, second = run["results"]
    assert (first["level"], second["level"]) == ("error", "note")
    assert "\x1b" not in first["message"]["text"]
    assert first["locations"][0]["physicalLocation"]["region"] == {"startLine": 3}
    assert "region" not in second["locations"][0]["physicalLocation"]
