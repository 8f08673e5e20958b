"""Comparisons of made-up measurements, whose truth is known."""

import csv
import io
import json
from dataclasses import replace
from itertools import combinations
from statistics import geometric_mean
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
from ckprof.store.attempt import Mark
from ckprof.store.writer import StoreWriter
from tests.cases import each
from tests.measured import TOOLCHAIN, Made, attempts, later
from tests.report.services import obeyed

OLD = Made(seed=1, noise=0.004)
NEW = Made(seed=2, noise=0.004, session=later())


def side(made, label="x.db"):
    return side_of(label, attempts(made))


def compared(old=OLD, new=NEW):
    return compare(side(old, "old.db"), side(new, "new.db"))


def failing_on(comparison, *reasons):
    """Return why a comparison fails that is asked to fail on these."""
    return replace(comparison, policy=replace(comparison.policy, fail_on=reasons)).failures


def test_the_same_kernels_are_the_same():
    comparison = compared()
    assert comparison.verdicts[Verdict.SAME] == 12
    assert comparison.failures == []
    assert not comparison.status_changes
    assert comparison.geometric_mean is not None
    _, low, high = comparison.geometric_mean
    assert low < 1.0 < high


def test_a_slower_kernel_is_found_and_fails():
    comparison = compared(new=replace(NEW, factor=lambda p, i: 1.2 if (p, i) == (1, 2) else 1.0))
    (row,) = comparison.with_verdict(Verdict.SLOWER)
    assert row.change is not None
    assert row.change.ratio == pytest.approx(1.2, rel=0.03)
    assert row.key.instance == f"{2:032x}"
    assert comparison.failures == ["1 slower"]
    assert failing_on(comparison, FailOn.STATUS) == []
    for least, failures in ((0.1, ["1 slower"]), (0.3, [])):
        policy = replace(comparison.policy, fail_on={FailOn.SLOWER: least, FailOn.STATUS: 0.0})
        assert replace(comparison, policy=policy).failures == failures


def test_the_best_that_changed():
    first = side(OLD)
    problem = next(iter(first.by_problem))
    best = first.best(problem)
    assert best is not None
    index = int(best.key.instance, 16)
    comparison = compared(new=replace(NEW, factor=lambda p, i: 3.0 if (p, i) == (0, index) else 1.0))
    (changed,) = [one for one in comparison.problems if one.changed]
    assert changed.old.key.instance == best.key.instance
    runner_up = first.by_problem[problem][1]
    assert changed.new.key == runner_up.key
    assert changed.old_best_now == pytest.approx(3 * best.time_ms / runner_up.time_ms, rel=0.03)


def test_the_geometric_mean_is_that_of_the_bests():
    comparison = compared(new=replace(NEW, factor=lambda p, i: 0.5))
    assert comparison.geometric_mean is not None
    expected = geometric_mean(one.new.time_ms / one.old.time_ms for one in comparison.problems)
    assert comparison.geometric_mean[0] == pytest.approx(expected)
    assert comparison.geometric_mean[0] == pytest.approx(0.5, rel=0.02)


def test_wrong_numbers_always_fail():
    comparison = compared(
        new=replace(NEW, failing=lambda p, i: Status.WRONG_RESULT if (p, i) == (0, 0) else None)
    )
    assert failing_on(comparison) == ["1 computing wrong numbers"]
    assert comparison.status_changes[0].worsened
    assert comparison.status_changes[0].change is None


@pytest.mark.parametrize("status", [Status.UNSUPPORTED, Status.RUN_ERROR])
def test_kernels_that_stopped_to_work(status):
    comparison = compared(new=replace(NEW, failing=lambda p, i: status if (p, i) == (0, 0) else None))
    assert comparison.failures == ["1 failing"]
    assert failing_on(comparison, FailOn.SLOWER) == []


def test_kernels_that_work_now_are_no_failure():
    comparison = compared(old=replace(OLD, failing=lambda p, i: Status.RUN_ERROR if i == 0 else None))
    assert len(comparison.status_changes) == 3
    assert comparison.failures == []


def test_rows_of_one_side_only():
    comparison = compared(new=replace(NEW, instances=3))
    assert len(comparison.only_old) == 3
    assert failing_on(comparison, FailOn.MISSING) == ["3 missing"]
    back = compared(old=replace(OLD, problems=2))
    assert len(back.only_new) == 4
    assert failing_on(back, FailOn.MISSING) == []


def test_what_changed_besides_the_times():
    comparison = compared(
        new=replace(
            NEW, toolchain=replace(TOOLCHAIN, compiler="clang 22.0"), session=later(ckprof_version="1.1")
        )
    )
    changes = {one.name: (one.old, one.new, one.rows) for one in comparison.what_changed}
    assert changes["toolchain.compiler"] == ("clang 19.1", "clang 22.0", 12)
    assert changes["ckprof_version"] == ("1.0", "1.1", 0)
    assert changes["kernel.object_digest"][2] == 12
    assert "toolchain.headers" not in changes
    assert not any(one.incomparable for one in comparison.what_changed)


@pytest.mark.parametrize(
    ("flags", "old", "new"),
    [
        (("-O3", "-fno-x", "CPATH=/y"), "none but these", "-fno-x CPATH=/y"),
        ((), "-O3", "none but these"),
        (("-O2",), "-O3", "-O2"),
        (("-g", "-O3", "-w"), "none but these", "-g -w"),
    ],
)
def test_flags_are_named_that_differ(flags, old, new):
    changed = compared(new=replace(NEW, toolchain=replace(TOOLCHAIN, flags=flags))).what_changed
    assert [(one.old, one.new) for one in changed if one.name == "toolchain.flags"] == [(old, new)]


def test_other_operands_are_named_but_compare():
    (seeded,) = [one for one in compared(new=replace(NEW, operand_seed=3)).what_changed if "seed" in one.name]
    assert (seeded.name, seeded.old, seeded.new, seeded.rows) == ("method.seed", "0", "3", 12)
    assert not seeded.incomparable


def test_files_of_plugins_and_cpus_are_named_where_sessions_say_them():
    def seen(cpus, **sources):
        return {"host": {"cores": cpus}, "sources": sources}

    old = replace(OLD, session=replace(OLD.session, environment=seen(8, ckprof="a" * 40, mine="b" * 40)))
    new = replace(NEW, session=later(environment=seen(2, ckprof="a" * 40, mine="c" * 40, other="d" * 40)))
    changes = {one.name: (one.old, one.new) for one in compared(old=old, new=new).what_changed}
    assert changes["sources.mine"] == ("b" * 12, "c" * 12)
    assert changes["sources.other"] == ("unknown", "d" * 12)
    assert changes["host.cpus"] == ("8", "2")
    assert "sources.ckprof" not in changes
    silent = {one.name for one in compared(new=new).what_changed}
    assert "sources.mine" in silent and not {"sources.ckprof", "host.cpus"} & silent


def test_another_device_is_marked():
    comparison = compared(new=replace(NEW, device=replace(OLD.device, model="Model 8")))
    assert [one.name for one in comparison.what_changed if one.incomparable] == ["device.model"]


def test_the_latest_measurement_of_a_kernel_counts():
    upgraded = replace(NEW, toolchain=replace(TOOLCHAIN, compiler="clang 22.0"), factor=lambda p, i: 2.0)
    both = side_of("both", [*attempts(OLD), *attempts(upgraded)])
    comparison = compare(side(OLD), both)
    assert comparison.superseded == 12
    assert comparison.verdicts[Verdict.SLOWER] == 12


def test_rounds_that_others_disturbed_count_where_there_are_no_others():
    def busy(numbers):
        made = (
            replace(
                one,
                marks=(Mark.LOW_CLOCK,),
                measurement=one.measurement and replace(one.measurement, time_ms=3 * one.measurement.time_ms),
            )
            if one.conditions.round in numbers
            else one
            for one in attempts(NEW)
        )
        return side_of("busy.db", made)

    assert compare(side(OLD), busy({1, 2})).verdicts[Verdict.SLOWER] == 0
    assert compare(side(OLD), busy(set(range(1, 7)))).verdicts[Verdict.SLOWER] == 12


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
