"""Reports of a batch: one line per list, what failed in full, a total that adds up."""

import csv
import dataclasses
import io
import json
from pathlib import Path

import pytest

from ckprof.model.outcome import Status
from ckprof.model.requirement import UnmetRequirement
from ckprof.model.results import BatchResults, ListResult, ListVerdict
from ckprof.report.batch_report import batch_document, render_batch_csv, render_batch_json


@pytest.fixture
def batch(results):
    """A list with every kind of outcome, one that is fine, a broken and a skipped one."""
    fine = tuple(o for o in results.outcomes if o.status is Status.OK)
    rejected = tuple(
        dataclasses.replace(
            o, unmet_requirements=(UnmetRequirement(rule="vector-a", message="C = 3 is odd"),)
        )
        if o.status is Status.UNSUPPORTED
        else o
        for o in results.outcomes
    )
    stages = {"convert": 0.5, "build": 2.0, "run": 3.0}
    results = dataclasses.replace(results, stages_s=stages)
    return BatchResults(
        root="conf",
        set_name="tests",
        found=4,
        lists=(
            ListResult(
                name="a.conf",
                direction="fwd",
                verdict=ListVerdict.FAILED,
                results=dataclasses.replace(results, outcomes=rejected),
                seconds=5.5,
            ),
            ListResult(
                name="b.conf",
                direction="fwd",
                verdict=ListVerdict.FINE,
                results=dataclasses.replace(results, outcomes=fine),
                seconds=5.5,
            ),
            ListResult(
                name="c.conf", direction="", verdict=ListVerdict.BROKEN, reason="c.conf:1:1: what is\n that?"
            ),
            ListResult(name="d.conf", direction="fwd", verdict=ListVerdict.SKIPPED, reason="nothing passes"),
        ),
    )


def test_table(batch):
    text = batch_document(batch).text()
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.strip()}
    # instances, ok, unsupported, failed, best, build, run, total
    assert lines["a.conf"][1:] == ["fwd", "9", "3", "1", "5", "115.6", "2.0", "3.0", "5.5", "failed"]
    assert lines["b.conf"][1:] == ["fwd", "9", "3", "0", "0", "115.6", "2.0", "3.0", "5.5", "fine"]
    assert lines["total"][1:] == ["18", "6", "1", "5", "4.0", "6.0", "11.0"]
    assert "  c.conf: broken: c.conf:1:1: what is that?" in text
    assert "  d.conf: skipped: nothing passes" in text
    for status in (status for status in Status if status.is_failure):
        assert f": {status.value}: " in text
    assert text.endswith(
        "4 lists: 1 fine, 1 failed, 1 broken, 1 skipped; 12 outcomes: 6 ok, 1 unsupported, 1 compile_error, "
        "1 compile_timeout, 1 run_error, 1 run_timeout, 1 wrong_result\n"
    )


def test_an_interrupted_tour_says_how_far_it_came(batch):
    short = dataclasses.replace(batch, lists=batch.lists[:1])
    assert "interrupted: 1 of 4 lists: 1 failed; 9 outcomes" in batch_document(short).text()
    assert json.loads(render_batch_json(short))["finished"] is False


def test_why_adds_up_the_conditions_of_all_lists(batch):
    assert "vector-a" not in batch_document(batch).text()
    explained = dataclasses.replace(batch, why=True, lists=(batch.lists[0], batch.lists[0]))
    line = next(line for line in batch_document(explained).text().splitlines() if line.startswith("vector-a"))
    assert line.split()[1:4] == ["2", "2", "a.conf:"]


def test_markdown_and_csv_have_a_row_per_list(batch):
    assert batch_document(batch).markdown().startswith("| list ")
    rows = list(csv.DictReader(io.StringIO(render_batch_csv(batch))))
    assert [row["verdict"] for row in rows] == ["failed", "fine", "broken", "skipped"]
    assert rows[0]["best_instance"] == "kernel_2" and rows[2]["ok"] == ""


def test_json_holds_the_report_of_each_list(batch):
    report = json.loads(render_batch_json(batch))
    assert (report["schema"], report["version"], report["finished"]) == ("ckprof.batch", 1, True)
    assert report["lists"] == {"fine": 1, "failed": 1, "broken": 1, "skipped": 1}
    assert report["outcomes"]["ok"] == 6
    assert report["stops"][0]["report"]["schema"] == "ckprof.run"
    assert report["stops"][2]["report"] is None
    assert Path(report["stops"][2]["list"]).name == "c.conf"
