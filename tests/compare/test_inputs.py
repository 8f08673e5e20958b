"""Sides of comparisons: stores, a tag of one, other files, and what is none."""

from dataclasses import replace
from pathlib import Path

import pytest

from ckprof.compare.inputs import compare_inputs, input_attempts, input_baselines, read_input, split_tag
from ckprof.compare.options import CompareOptions
from ckprof.compare.side import Side, side_of
from ckprof.errors import ExitCode, InputError, UsageError
from ckprof.plugin.manager import PluginManager
from ckprof.session import Session
from ckprof.settings import Settings
from ckprof.store.writer import StoreWriter
from tests.measured import SESSION, Made, attempts, later

MADE = Made(problems=1, instances=2, rounds=1)
MAIN, BRANCH = (
    replace(MADE, session=session)
    for session in (replace(SESSION, tags=("main",)), later(tags=("branch", "a@b")))
)


@pytest.fixture(scope="module")
def session():
    manager = PluginManager()
    manager.load_all()
    return Session(settings=Settings(), manager=manager, emit=lambda event: None)


@pytest.fixture
def store(tmp_path):
    with StoreWriter(tmp_path / "both.db") as writer:
        for made in (MAIN, BRANCH):
            writer.append_many(attempts(made))
    return tmp_path / "both.db"


def test_a_tag_is_what_stands_behind_the_last_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("me@home.db").touch()
    for name, path, tag in (
        ("a.db", "a.db", None),
        ("a.db@main", "a.db", "main"),
        ("a.db@", "a.db", ""),
        ("me@home.db", "me@home.db", None),
        ("me@home.db@main", "me@home.db", "main"),
        ("@main", "@main", None),
    ):
        assert split_tag(name) == (Path(path), tag), name


def test_a_store_is_read_whole_or_by_tag(session, store):
    whole = read_input(session, store)
    assert (whole.label, len(whole.rows), len(whole.sessions)) == (str(store), 2, 2)
    for tag, made in (("main", MAIN), ("branch", BRANCH)):
        side = read_input(session, f"{store}@{tag}")
        assert side.label.endswith(f"@{tag}") and [one.uid for one in side.sessions] == [made.session.uid]
    assert read_input(session, whole) is whole
    (first, _) = input_attempts(session, f"{store}@main", samples=True)
    assert first.measurement and len(first.measurement.samples_ms) == 5
    assert [*input_baselines(store)] == []


def test_what_is_no_input_is_told(session, store, tmp_path):
    (tmp_path / "text.db").write_text("hello")
    for name, said in (
        ("both.db@other", "nothing was measured with the tag 'other'"),
        ("no.db", "cannot read"),
        ("text.db", "in none of the known formats"),
    ):
        with pytest.raises(InputError, match=said) as told:
            read_input(session, tmp_path / name)
        assert name.partition("@")[0] in str(told.value) and told.value.exit_code is ExitCode.INPUT


def test_a_direction_leaves_the_rows_of_others_out(session):
    found = [
        replace(one, key=replace(one.key, operation=replace(one.key.operation, direction=direction)))
        for direction, made in (("fwd", MADE), ("bwd_data", replace(MADE, session=later())))
        for one in attempts(made)
    ]
    side = side_of("x", found)
    assert len(compare_inputs(session, side, side, CompareOptions()).rows) == 4
    only = compare_inputs(session, side, side, CompareOptions(direction="fwd"))
    assert {row.key.problem.direction for row in only.rows} == {"fwd"} and len(only.rows) == 2
    with pytest.raises(UsageError, match="sideways"):
        compare_inputs(session, side, Side(label="", rows={}), CompareOptions(direction="sideways"))
