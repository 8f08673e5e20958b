"""What fails a comparison is decided once: exit code and all formats say the same of the same sides."""

import csv
import io
import json
from dataclasses import replace
from itertools import combinations
from xml.etree import ElementTree

import pytest

from ckprof.compare.change import Verdict
from ckprof.compare.compare import compare
from ckprof.compare.options import FailOn
from ckprof.compare.side import side_of
from ckprof.model.outcome import Status
from ckprof.report.ci_formats import render_comparison_github, render_comparison_junit
from ckprof.report.comparison_data import render_csv, render_json
from ckprof.report.comparison_text import comparison_document
from ckprof.store.writer import StoreWriter
from tests.cases import each
from tests.measured import Made, attempts, later
from tests.report.services import obeyed

OLD = Made(seed=1, noise=0.004)
NEW = Made(seed=2, noise=0.004, session=later())
#: what happens to a side -> the new side
CHANGES = {
    "nothing": NEW,
    "slower": replace(NEW, factor=lambda p, i: 1.3 if (p, i) == (1, 2) else 1.0),
    "faster": replace(NEW, factor=lambda p, i: 0.7 if (p, i) == (1, 2) else 1.0),
    "unclear": replace(NEW, factor=lambda p, i: 1.03 if (p, i) == (2, 1) else 1.0),
    "status": replace(NEW, failing=lambda p, i: Status.RUN_ERROR if (p, i) == (0, 0) else None),
    "wrong": replace(NEW, failing=lambda p, i: Status.WRONG_RESULT if (p, i) == (0, 0) else None),
    "missing": NEW,
    "shift": replace(NEW, factor=lambda p, i: 1.06, canaries=False),
}
#: nothing, each alone, the usual two, all
ASKED = [(), *combinations(FailOn, 1), (FailOn.SLOWER, FailOn.STATUS), tuple(FailOn)]


def changed(what):
    """Return what the new side has measured."""
    measured = list(attempts(CHANGES[what]))
    left_out = measured[-1].key if what == "missing" else None
    return [one for one in measured if one.key != left_out]


@pytest.fixture(scope="module", params=CHANGES)
def change(request):
    old, new = side_of("old.db", attempts(OLD)), side_of("new.db", changed(request.param))
    return request.param, compare(old, new)


@each(asked=ASKED)
def test_all_formats_say_whether_it_fails(change, asked):
    what, compared = change
    comparison = replace(compared, policy=replace(compared.policy, fail_on=asked))
    reasons = {reason.value for reason in asked}
    # where all rows changed alike, none of them is known to be the same
    fails = what == "wrong" or what in reasons or (what == "shift" and "unclear" in reasons)
    assert bool(comparison.failures) is fails
    junit = ElementTree.fromstring(render_comparison_junit(comparison))  # noqa: S314 - our own text
    assert bool(junit.findall(".//failure")) is fails
    assert sum(int(suite.get("failures", "0")) for suite in junit) == len(junit.findall(".//failure"))
    assert ("error" in {one["level"] for one in obeyed(render_comparison_github(comparison))}) is fails
    data = json.loads(render_json(comparison))
    assert (data["failures"], data["policy"]["fail_on"]) == (
        comparison.failures,
        [one.value for one in asked],
    )
    failed = [row["failure"] for row in csv.DictReader(io.StringIO(render_csv(comparison)))]
    assert [row["failure"] or "" for row in data["rows"]] == failed
    assert any(failed) is (fails and what != "missing" and (what != "shift" or "unclear" in reasons))
    line = f"failed: {', '.join(comparison.failures)} (--fail-on" if fails else "passed (--fail-on"
    for text in (
        comparison_document(comparison).text(),
        comparison_document(comparison).markdown(),
        render_comparison_github(comparison),
    ):
        assert line in text.replace("\\", "")


def test_the_changes_are_what_they_are_called(change):
    what, comparison = change
    found = {verdict.value for verdict in Verdict if comparison.verdicts[verdict]} - {"same"}
    found |= {"missing"} if comparison.only_old else set()
    found |= {"shift"} if comparison.shifted else set()
    found |= {"wrong" if row.computes_wrong else "status" for row in comparison.rows if row.worsened}
    assert found == ({what, "unclear"} if what == "shift" else {what} - {"nothing"})


@pytest.mark.parametrize("what", ["slower", "unclear", "missing", "shift", "wrong"])
def test_exit_codes_and_reports_agree(ckprof, tmp_path, what):
    for name, measured in (("old.db", attempts(OLD)), ("new.db", changed(what))):
        with StoreWriter(tmp_path / name) as writer:
            writer.append_many(measured)
    for asked in ("none", what.replace("wrong", "status"), "faster"):
        outputs = ("-o", "junit=r.xml", "-o", "github=r.txt", "-o", "md=r.md", "-o", "csv=r.csv")
        called = ckprof("compare", "old.db", "new.db", "--fail-on", asked, *outputs)
        fails = what == "wrong" or asked == what
        assert called.code == int(fails)
        assert ("failed: " in called.err) is fails and ("failed: " in called.out) is fails
        assert ("<failure" in (tmp_path / "r.xml").read_text()) is fails
        assert ("::error" in (tmp_path / "r.txt").read_text()) is fails
        assert ("failed: " in (tmp_path / "r.md").read_text()) is fails
