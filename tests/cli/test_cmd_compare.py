"""``ckprof compare`` on stores."""

import json
from dataclasses import replace

import pytest

from ckprof.store.writer import StoreWriter
from tests.measured import SLOW, Made, attempts, later, stored


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    stored(folder / "old.db", Made(seed=1, noise=0.004))
    stored(folder / "processes.db", Made(seed=4, rounds=16, processes=4, noise=0.004))
    stored(folder / "noisy.db", Made(seed=4, rounds=16, processes=4, noise=0.1))
    stored(folder / "same.db", Made(seed=3, noise=0.004, session=later()))
    stored(folder / "slow.db", SLOW)
    stored(
        folder / "both.db",
        replace(Made(seed=1, noise=0.004), session=replace(Made().session, tags=("main",))),
        SLOW,
    )
    return folder


def test_changes_and_what_fails(ckprof, stores):
    called = ckprof("compare", stores / "old.db", stores / "same.db").ok()
    assert "0 SLOWER, 0 FASTER" in called.out
    ckprof("compare", stores / "old.db", stores / "slow.db", "-q").fails_with(1, "failed: 1 slower")
    assert ckprof("compare", stores / "old.db", stores / "slow.db", "--fail-on", "status").code == 0
    assert ckprof("compare", stores / "old.db", stores / "slow.db", "--fail-on", "none").code == 0


def test_tags_of_one_store(ckprof, stores):
    called = ckprof(
        "compare", f"{stores / 'both.db'}@main", f"{stores / 'both.db'}@branch", "--format", "json"
    )
    assert json.loads(called.out)["verdicts"]["slower"] == 1
    ckprof("compare", f"{stores / 'both.db'}@main", f"{stores / 'both.db'}@other").fails_with(
        3, "tag 'other'"
    )


def test_a_format_into_a_file(ckprof, stores, tmp_path):
    called = ckprof(
        "compare", stores / "old.db", stores / "slow.db", "--format", "junit", "-o", "compare.xml"
    )
    assert (called.code, called.out) == (1, "")
    assert "compare.xml: 11 same, 0 faster, 1 slower, 0 unclear" in called.err
    assert (tmp_path / "compare.xml").read_text().startswith("<?xml")


def test_the_smallest_change_of_interest(ckprof, stores):
    called = ckprof("compare", stores / "old.db", stores / "slow.db", "--min-change", "50").ok()
    assert "12 SAME" in called.out


@pytest.mark.parametrize(
    "wrong",
    [
        ("compare", "a.db"),
        ("compare", "a.db", "b.db", "c.db"),
        ("compare", "a.db", "b.db", "--fail-on", "bad"),
        ("compare", "a.db", "b.db", "--format", "yaml"),
        ("compare", "a.db", "b.db", "--min-change", "0"),
    ],
)
def test_wrong_usage(ckprof, wrong):
    called = ckprof(*wrong)
    assert (called.code, called.out) == (2, "")


def test_inputs_that_are_no_stores(ckprof, stores, tmp_path):
    (tmp_path / "text.db").write_text("hello")
    for name in ("no.db", "text.db"):
        called = ckprof("compare", name, stores / "old.db")
        assert (called.code, called.out) == (3, "")
        assert name in called.err


def test_stores_without_anything_in_common(ckprof, stores, tmp_path):
    other = Made(problems=1, instances=1, session=later())
    stored(tmp_path / "other.db", replace(other, device=other.device))
    moved = [
        replace(one, key=replace(one.key, split_k=7), session=later(), sequence=one.sequence)
        for one in attempts(other)
    ]
    with StoreWriter(tmp_path / "moved.db") as writer:
        writer.append_many(moved)
    ckprof("compare", "other.db", "moved.db").fails_with(2, "nothing can be compared")


def test_self_tests(ckprof, stores):
    called = ckprof("compare", "--self-test", stores / "processes.db", "--seeds", "2").ok()
    assert "0 of 24 rows are called faster or slower between halves of 2 to 2 passes" in called.out
    assert "2 of 2 injected slowdowns of 5 % were found" in called.out
    called = ckprof("compare", "--self-test", stores / "noisy.db", "--seeds", "2")
    assert called.code == 1
    assert "0 of 2 injected slowdowns of 5 % were found" in called.out
    assert "measure more passes, with --passes" in called.err
    called = ckprof("compare", "--self-test", stores / "old.db")
    assert (called.code, called.out) == (1, "")
    assert "measure more, e.g. with 'ckprof sweep --passes 6'" in called.err


def test_settling_needs_the_kernels(ckprof, stores):
    ckprof("compare", stores / "old.db", stores / "slow.db", "--settle").fails_with(2, "--conf or --rule-set")
