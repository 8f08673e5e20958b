"""What a pair of kernels loses, and every format of a migration: of sides that are made up."""

import csv
import io
import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

import ckprof
from ckprof.errors import PluginError
from ckprof.kernels.inspection import InspectedKernel
from ckprof.measure.worker.messages import AbiStatus, Support, SupportQuery
from ckprof.model.device import Occupancy
from ckprof.model.outcome import Outcome, Status
from ckprof.model.requirement import UnmetRequirement
from ckprof.option import limits
from ckprof_plugins.old_ck import migration_report
from ckprof_plugins.old_ck.migration_report import MIGRATION_FORMATS, migration_document
from ckprof_plugins.old_ck.pairs import RULES, Agreement, KernelPair, Loss, Migration, PairSide
from tests.cases import Cases
from tests.convolutions import convolution
from tests.report.test_inspection_report import device_kernel

QUERIES = [
    SupportQuery(convolution(f"2 1 1 8 {channels} 1 1 6 5 1 1 1 1 0 0 0 0"), 1) for channels in (8, 4, 2)
]
YES, SPLIT = (Support(status=AbiStatus.OK, split_k=splits) for splits in (1, 2))
NEEDING = Support(status=AbiStatus.OK, split_k=1, workspace_bytes=8)
VECTOR, STRIDE = (
    Support(
        status=AbiStatus.REJECTED,
        split_k=1,
        unmet_requirements=(UnmetRequirement(rule=rule, message=f"{rule} is not met"),),
    )
    for rule in ("vector", "stride")
)
RIGHT = Outcome(key="k", problem_index=0, status=Status.OK)
WRONG = replace(RIGHT, status=Status.WRONG_RESULT, reason="3 elements differ")


@pytest.fixture(scope="module")
def kernels():
    """Two kernels of other types."""
    chosen = ckprof.Profiler().instances(ckprof.InstanceQuery(rule_set="tiny", directions="fwd")).candidates
    return chosen[0], next(one for one in chosen if one.instance.types != chosen[0].instance.types)


@pytest.fixture
def pair(kernels):
    """Return a pair without a loss; what is given is that of the new side."""

    def made(source="a/list.conf:1", *, ruled=None, exact=True, old=None, **new):
        side = PairSide(candidate=kernels[0], reason="", answers=[YES, YES, VECTOR])
        old, new = (replace(side, **(changes or {})) for changes in (old, new))
        return KernelPair(source=source, queries=QUERIES, old=old, new=new, exact=exact, ruled=ruled or {})

    return made


@pytest.fixture
def migration(pair):
    def made(*pairs, fail_on="support,results"):
        return Migration(
            pairs=pairs,
            direction="fwd",
            target="hip",
            arch="gfx942",
            times="predicted for MI300X",
            random=3,
            fail_on=limits(Loss, fail_on, (Loss.SLOWER,)),
            notes=("nothing was timed",),
        )

    return made


def code(**changes):
    return InspectedKernel(name="any", key="k", variants=(device_kernel(**changes),))


def test_answers_are_summed_up(pair, migration):
    lost = pair(answers=[VECTOR, VECTOR, VECTOR], ruled={0: "", 2: "C = 2"})
    gained = pair(answers=[YES, YES, YES], ruled={0: ""}, old={"reason": "no such type"})
    broken = pair(old={"reason": "error: no such type", "broken": True})
    found = migration(pair(), lost, gained, broken).answers
    assert found == {"asked": 9, "both": 4, "lost": 2, "gained": 1, "judged": 2}
    text = migration_document(migration(lost)).text()
    said = "of 3 questions to each side both support 0, the old kernels alone 2, the new ones alone 0"
    assert f"{said}; rules of audits judge 2" in text


def test_losses(pair):
    fewer = Occupancy(waves_per_simd=1, workgroups_per_cu=1, limited_by="lds")
    cases = (
        ({}, {}),
        ({"answers": [YES, VECTOR, VECTOR]}, {Loss.SUPPORT: 1}),
        ({"answers": [YES, YES, YES]}, {}),
        ({"outcomes": {0: WRONG}, "old": {"outcomes": {0: RIGHT, 1: RIGHT}}}, {Loss.RESULTS: 1}),
        ({"outcomes": {0: WRONG}, "old": {"outcomes": {0: WRONG}}}, {}),
        ({"times": {0: (3.0, "")}, "old": {"times": {0: (2.0, ""), 1: (1.0, "")}}}, {Loss.SLOWER: 0.5}),
        ({"times": {0: (1.01, "")}, "old": {"times": {0: (1.0, "")}}}, {}),
        ({"times": {0: (1.0, "")}, "old": {"times": {0: (2.0, "")}}}, {}),
        ({"code": code(vgpr_spills=2), "old": {"code": code(vgprs=99)}}, {Loss.RESOURCES: 1}),
        ({"code": code(occupancy=fewer), "old": {"code": code()}}, {Loss.RESOURCES: 1}),
        ({"code": code(vgpr_spills=2)}, {}),
        ({"answers": [SPLIT, YES, VECTOR]}, {Loss.SPLITS: 1}),
        ({"answers": [NEEDING, YES, VECTOR]}, {Loss.SPLITS: 1}),
        ({"strings": ("printed", "expected")}, {Loss.STRINGS: 1}),
        ({"ruled": {0: "", 1: "", 2: "C = 2"}}, {}),
        ({"ruled": {0: "C = 8", 2: ""}}, {Loss.RULES: 2}),
        ({"old": {"reason": "error: no such type", "broken": True}}, {Loss.BUILD: 1}),
        ({"reason": "error: no such type", "broken": True}, {}),
    )
    with Cases() as found:
        for number, (changes, losses) in enumerate(cases):
            with found.case(number, changes):
                assert pair(**changes).losses == pytest.approx(losses)


def test_nothing_is_gained_where_nobody_knows_what_the_old_kernel_supports(pair):
    refused = {"answers": [VECTOR] * 3, "reason": "error: no such type"}
    unknown, known = (pair(old={**refused, "broken": broken}) for broken in (True, False))
    assert not unknown.only(unknown.new) and not unknown.conditions(unknown.old)
    assert len(known.only(known.new)) == sum(one.supported for one in known.new.answers) > 0


def test_results_agree_as_far_as_is_known(pair, kernels):
    rounded = replace(RIGHT, one_set="no memory")
    for changes, agreement in (
        ({"outcomes": {0: RIGHT}}, Agreement.EQUAL),
        ({"outcomes": {0: rounded}}, Agreement.ROUNDING),
        ({"outcomes": {0: RIGHT}, "exact": False}, Agreement.ROUNDING),
        ({"outcomes": {0: RIGHT}, "candidate": kernels[1]}, Agreement.OWN_REFERENCES),
        ({"outcomes": {0: RIGHT}, "old": {"outcomes": {0: WRONG}}}, Agreement.OLD_WRONG),
        ({"outcomes": {0: WRONG}, "old": {"outcomes": {0: WRONG}}}, Agreement.BOTH_WRONG),
    ):
        changed = {"old": {"outcomes": {0: RIGHT}}, **changes}
        assert pair(**changed).agreements == {0: agreement}


def test_conditions_of_both_sides_are_named(pair):
    found = pair(answers=[STRIDE, VECTOR, YES], ruled={2: "C = 2"})
    assert [one[:2] for one in found.conditions(found.new)] == [("stride", 1), ("vector", 1)]
    assert found.conditions(found.new)[0][2:] == (QUERIES[0].problem.describe(), "stride is not met")
    # old objects name no condition: the rules of audits do
    assert [(rule, said) for rule, _, _, said in found.conditions(found.old)] == [(RULES, "C = 2")]


def test_every_format_says_what_is_lost(pair, migration, monkeypatch):
    lost = pair(
        answers=[VECTOR, YES, YES],
        outcomes={1: WRONG},
        times={1: (3.0, "LDS")},
        code=code(vgpr_spills=2),
        old={"outcomes": {1: RIGHT}, "times": {1: (2.0, "memory")}, "code": code()},
    )
    absent = pair("b/list.conf:7", reason="API level 2025-11 has no such pipeline", answers=[STRIDE] * 3)
    found = migration(lost, absent, pair("c.conf:2"), fail_on="support,results,slower=60%")
    assert found.failures == ["2 support", "1 results"]
    assert migration(lost, fail_on="slower=50%").failures == ["1 slower"]
    assert not migration(lost, fail_on="none").failures
    text = migration_document(found).text()
    for said in (
        "predicted for MI300X",
        "support, results, slower, resources",
        "no new kernel: API level 2025-11 has no such pipeline",
        "new: 3 elements differ",
        "vector is not met",
        "memory -> LDS",
        "+50.0 %",
        "not compared: nothing was timed",
        "failed: 2 support, 1 results (--fail-on support,results,slower=60%)",
    ):
        assert said in text, said
    rendered = {one.id: one.render(found) for one in MIGRATION_FORMATS}
    assert rendered["table"] == text and "| a/list.conf:1" in rendered["md"]
    rows = list(csv.DictReader(io.StringIO(rendered["csv"])))
    assert [row["line"] for row in rows] == ["a/list.conf:1", "b/list.conf:7", "c.conf:2"]
    assert (rows[0]["lost"], rows[0]["gained"], rows[0]["new us"]) == ("1", "1", "3.0000000000000004")
    content = json.loads(rendered["json"])
    assert content["passed"] is False and content["counts"]["support"] == 2
    first = content["lines"][0]
    assert first["support"]["lost"][0]["condition"] == "vector"
    assert first["results"][0]["agreement"] == "new is wrong"
    assert first["new"]["code"]["spills"] == 2
    junit = ElementTree.fromstring(rendered["junit"])  # noqa: S314 - our own text
    assert [suite.get("name") for suite in junit] == ["support", "results", "slower"]
    assert [suite.get("failures") for suite in junit] == ["2", "1", "0"]
    if "html" in rendered:
        assert "<table" in rendered["html"] and "b/list.conf:7" in rendered["html"]
    monkeypatch.setattr(migration_report, "find_spec", lambda name: None)
    with pytest.raises(PluginError, match="--format html needs the pages package, which is not installed"):
        MIGRATION_FORMATS.find("html").render(found)


def test_hot_loops_are_those_of_the_longest_problem(pair, migration):
    """By unit, of the query that takes the new kernel longest; nothing where times are measured."""
    times = {0: (10.0, "memory"), 1: (5.0, "memory")}
    old = {"times": times, "loops": {0: {"matrix": 8, "lds": 4}, 1: {"matrix": 1}}}
    new = {"times": {0: (30.0, "matrix"), 1: (6.0, "memory")}, "loops": {0: {"matrix": 16, "vector": 40}}}
    one = pair(old=old, **new)
    assert (one.loop(one.old), one.loop(one.new)) == ({"matrix": 8, "lds": 4}, {"matrix": 16, "vector": 40})
    rows = list(csv.DictReader(io.StringIO(MIGRATION_FORMATS.find("csv").render(migration(one)))))
    assert rows[0]["loop"] == "12 (8 matrix) -> 56 (16 matrix)"
    (line,) = json.loads(MIGRATION_FORMATS.find("json").render(migration(one)))["lines"]
    assert line["times"][0]["new_loop"] == {"matrix": 16, "vector": 40}
    assert line["times"][1]["new_loop"] is None
    measured = pair(old={"times": times}, times=times)
    assert measured.loop(measured.new) == {}
    assert "loop" not in MIGRATION_FORMATS.find("csv").render(migration(measured)).splitlines()[0].split(",")
