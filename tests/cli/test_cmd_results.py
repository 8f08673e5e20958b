"""``ckprof results``: what stores hold, files and shards, damage, and what is removed."""

import re
import sqlite3
from dataclasses import replace

import pytest

from ckprof.model.outcome import Status
from ckprof.model.problem_case import ProblemCase
from ckprof.store.attempt import DEVICE_LOST, Mark
from ckprof.store.shard import ShardWriter
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from ckprof.sweep.evidence import layer_evidence
from tests.measured import SESSION, Made, attempts, problems, stored
from tests.store.test_baselines import measured


def checked_and_lost(path):
    """Store a kernel whose launches were checked, and one beside which the device failed; return its name."""
    (first, second) = attempts(Made(problems=1, instances=2, rounds=1))
    check = replace(first.verification, launches=200, checked=190)
    lost = replace(
        second,
        status=Status.RUN_ERROR,
        reason="the device failed beside this kernel, in the first run: gone",
        measurement=None,
        verification=None,
        marks=(Mark.NOT_LAUNCHED,),
        conditions=replace(second.conditions, extra={DEVICE_LOST: True}),
    )
    with StoreWriter(path) as writer:
        # each ended its session
        again = replace(lost, session=replace(lost.session, uid="f" * 32))
        for attempt in (replace(first, verification=check), lost, again):
            writer.append(attempt)
    return second.kernel.name


def test_the_share_of_checked_launches_and_kernels_beside_lost_devices_are_shown(ckprof, tmp_path):
    lost = checked_and_lost(tmp_path / "results.db")
    shown = ckprof("results", "show", "results.db").out
    assert "2 outcomes (1 ok, 1 not measured), 3 attempts" in shown
    assert "verified: 190 of 200 launches (95 %)" in shown
    assert f"not measured: {lost} on " in shown and "the device failed 2 times while it ran" in shown
    compared = ckprof("compare", "results.db", "results.db").out
    assert "verified: 190 of 200 launches (95 %) (old)" in compared


def test_results_show_sums_networks_up(ckprof, tmp_path):
    cases = [
        ProblemCase(problem=problem, count=number + 1, name=f"c{number}", network="net batch 1")
        for number, problem in enumerate(problems(2))
    ]
    made = Made(problems=2, instances=3, session=replace(SESSION, environment=layer_evidence(cases)))
    with StoreWriter(tmp_path / "results.db") as writer:
        for attempt in attempts(made):
            writer.append(attempt)
        key, kernel = attempt.key, attempt.kernel
        writer.add_baseline(
            measured(
                session=made.session,
                operation=key.operation,
                problem=key.problem,
                device=key.device,
                dtype=kernel.dtype.value,
                layout=kernel.layout,
            )
        )
    shown = ckprof("results", "show", "results.db").out
    rows = {line.split("  ")[1].strip(): line for line in shown.splitlines() if "net batch 1" in line}
    assert {"best kernel per layer", "a single kernel", "baseline vendor"} <= {*rows}
    # the second problem occurs twice, the first has no baseline
    assert " 5 " in rows["baseline vendor"] and "2 of 3" in rows["baseline vendor"]
    assert "c0" in rows["baseline vendor"]
    # the table of problems has the same names, and the numbers of reports; also of some statuses alone
    for options in ((), ("--status", "unsupported")):
        shown = ckprof("results", "show", "results.db", *options).out
        assert re.search(r"^P1 +c0 +2D .*\nP2 +c1 +2D ", shown, re.MULTILINE)


#: eight outcomes
SMALL = Made(problems=2, instances=2, rounds=2, session=replace(SESSION, tags=("nightly",)))


@pytest.fixture
def store(tmp_path):
    return stored(tmp_path / "a.db", SMALL)


def outcomes(path):
    with Store(path) as store:
        return list(store)


@pytest.mark.usefixtures("store")
def test_outcomes_survive_a_file_and_are_added_once(ckprof, tmp_path):
    assert ckprof("results", "export", "a.db", "-o", "a.ndjson") == (0, "", "a.ndjson: 8 rows\n")
    for told in ("8 outcomes added, 0 were there already", "0 outcomes added, 8 were there already"):
        called = ckprof("results", "import", "a.ndjson", "--store", "b.db", "--wait")
        assert called == (0, "", f"a.ndjson: {told}\n")
    assert outcomes(tmp_path / "b.db") == outcomes(tmp_path / "a.db")
    # a wrong file changes nothing, though a good one stands before it
    (tmp_path / "wrong.ndjson").write_text("{}\n")
    called = ckprof("results", "import", "a.ndjson", "wrong.ndjson", "--store", "c.db")
    called.fails_with(3, "wrong.ndjson")
    assert not (tmp_path / "c.db").exists()


def test_shards_are_merged_and_bad_lines_are_named(ckprof, tmp_path):
    with ShardWriter(tmp_path / "shards") as shard:
        for attempt in attempts(SMALL):
            shard.append(attempt)
    for told in ("8 outcomes added, 0 were there already", "0 outcomes added, 8 were there already"):
        assert ckprof("results", "merge", "shards", "--store", "b.db")[:2] == (0, f"1 shard: {told}\n")
    # a line that was cut at the end is what a killed writer leaves; another one is damage
    whole = shard.path.read_bytes()
    shard.path.write_bytes(whole + b'{"key": ')
    code, _, err = ckprof("results", "merge", "shards", "--store", "b.db")
    assert code == 0 and f"warning: {shard.path.relative_to(tmp_path)}:" in err
    lines = whole.splitlines(keepends=True)
    shard.path.write_bytes(b"".join([*lines[:2], b"[]\n", *lines[2:]]))
    ckprof("results", "merge", "shards", "--store", "b.db").fails_with(
        1, f"{shard.path.relative_to(tmp_path)}:3: "
    )


def test_a_damaged_store_is_found_and_what_is_readable_is_saved(ckprof, store, tmp_path):
    assert ckprof("results", "check", "a.db") == (0, "a.db: sound\n", "")
    assert ckprof("results", "recover", "a.db", "-o", "b.db") == (0, "b.db: 8 outcomes saved, 0 lost\n", "")
    connection = sqlite3.connect(store, isolation_level=None)
    connection.execute("UPDATE attempts SET round = -3 WHERE id = 1")
    connection.close()
    code, out, err = ckprof("results", "check", "a.db", "b.db")
    assert code == 1 and "a.db: table attempts, row 1" in out and out.endswith("b.db: sound\n")
    assert err == "save what is readable with 'ckprof results recover a.db --output NEW'\n"
    code, out, err = ckprof("results", "recover", "a.db", "-o", "c.db")
    assert (code, out) == (1, "c.db: 7 outcomes saved, 1 lost, the raw samples of 1\n")
    assert "row 1, column round" in err
    assert outcomes(tmp_path / "c.db") == outcomes(tmp_path / "b.db")[1:]


def test_pruning_says_what_it_would_remove_first(ckprof, store):
    code, out, _ = ckprof("results", "prune", "a.db", "--tag", "nightly")
    assert code == 0 and out.startswith("would remove 8 outcomes and ") and "; add --yes to do it\n" in out
    assert len(outcomes(store)) == 8
    _, out, _ = ckprof("results", "prune", "a.db", "--samples-only", "--yes")
    assert re.match(r"removed 0 outcomes and [1-9]\d+ bytes of raw samples", out)
    assert [one.measurement.samples_ms for one in outcomes(store)] == [()] * 8
    assert ckprof("results", "prune", "a.db", "--tag", "weekly", "--yes").out.startswith("removed 0 outcomes")
    assert ckprof("results", "prune", "a.db", "--tag", "nightly", "--yes").code == 0
    assert "nothing that fits" in ckprof("results", "show", "a.db").out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("export", "a.db"), 2, "results export: add --output FILE"),
        (("export", "a.db", "-o", "a.txt"), 2, "a.txt"),
        (("import", "a.ndjson"), 2, "results import: add --store FILE, the store to add to"),
        (("merge", "a"), 2, "results merge: add --store FILE"),
        (("recover", "a.db"), 2, "results recover: add --output FILE, a new store"),
        (("show", "a.db", "b.db"), 2, "results show: one store at a time"),
        (("prune", "a.db"), 2, "say which outcomes, e.g. with --tag, --before or --status"),
        (("show", "a.db", "--tag", "a", "--tag", "b"), 2, "--tag: one tag at a time"),
        (("shw", "a.db"), 2, "did you mean 'show'?"),
        (("a.db",), 2, "type 'ckprof results show a.db'"),
        (("show", "none.db"), 3, "none.db"),
    ],
)
@pytest.mark.usefixtures("store")
def test_wrong_calls(ckprof, words, code, message):
    ckprof("results", *words).fails_with(code, message)
