"""Rounds that cannot have been: found by table, row and column, and never where they can."""

import sqlite3
from dataclasses import replace

import pytest

from ckprof.store.errors import DamagedStoreError
from ckprof.store.maintenance import check, prune
from ckprof.store.query import StoreQuery
from ckprof.store.row_types import ROW_TYPES, store_digests
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from tests.measured import SESSION, Made, attempts, later

MADE = list(attempts(Made(problems=2, instances=4, rounds=3)))


def stored(path, made):
    with StoreWriter(path) as writer:
        writer.append_many(made)
    return path


def changed(path, *statements):
    """Change a store as a writer that is wrong would have written it: every digest is that of its row."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    store_digests(connection, after=dict.fromkeys(ROW_TYPES, 0))
    connection.close()
    return check(path)


@pytest.mark.parametrize(
    ("statement", "findings"),
    [
        # attempts 1 to 4 are round 1 of the first problem, 5 to 8 are round 2, 9 to 12 are round 3
        (
            "UPDATE attempts SET round = 1 WHERE id = 6",
            ["table attempts, row 6, column round: is 1 after round 2 of attempt 5, but at position 1"],
        ),
        (
            "UPDATE attempts SET round = 5 - round WHERE id BETWEEN 5 AND 12",
            ["table attempts, row 9, column round: is 2 after round 3 of attempt"],
        ),
        (
            "UPDATE attempts SET position = 1 WHERE id = 7",
            ["table attempts, row 7, column position: is 1 in round 2, after 1 in round 2 of attempt 6"],
        ),
        (
            "UPDATE attempts SET round = 2 WHERE id BETWEEN 9 AND 12",
            [f"table attempts, row {row}, column round: is 2, the round of attempt" for row in range(9, 13)],
        ),
    ],
)
def test_rounds_in_another_order_are_named(tmp_path, statement, findings):
    path = stored(tmp_path / "some.db", MADE)
    assert not check(path)
    found = changed(path, statement)
    for expected in findings:
        assert any(text.startswith(expected) for text in found), found


def test_readers_of_whole_stores_refuse_what_cannot_have_been(tmp_path):
    """Reports and comparisons look at the rounds, and every reader at the figures of what it reads."""
    path = stored(tmp_path / "some.db", MADE)
    changed(path, "UPDATE attempts SET round = 1 WHERE id = 6")
    with Store(path) as store, pytest.raises(DamagedStoreError, match="row 6, column round: is 1 after"):
        store.check_complete()
    changed(path, "UPDATE attempts SET round = 2, min_ms = 2 * time_ms WHERE id = 6")
    with Store(path) as store:
        store.check_complete()
        with pytest.raises(DamagedStoreError, match=r"row 6, column min_ms: .* is above its median"):
            list(store)


def test_an_attempt_that_stands_twice_is_named(tmp_path):
    twice = replace(MADE[-1], sequence=len(MADE) + 7)
    path = stored(tmp_path / "some.db", [*MADE, twice])
    (found,) = check(path)
    assert found.startswith(f"table attempts, row {len(MADE) + 1}, column round: is the same as attempt")


def test_samples_that_are_no_times_are_named(tmp_path):
    timing = MADE[0].measurement
    assert timing is not None
    samples = (timing.time_ms, -1.0, timing.time_ms)
    path = stored(tmp_path / "some.db", [replace(MADE[0], measurement=replace(timing, samples_ms=samples))])
    assert check(path) == [
        "table samples, row 1, column data: sample 1 is -1 ms, expected a finite and positive time"
    ]


def sound():
    """Stores whose rounds look odd and are not."""
    repeated = [replace(one, sequence=len(MADE) + one.sequence, conditions=again(one)) for one in MADE]
    card = replace(SESSION, environment={**SESSION.environment, "card": {"id": "host:0"}})
    first = MADE[3]
    return {
        "another session begins anew": [*MADE, *attempts(Made(problems=2, session=later()))],
        "a card is given its problems again": [replace(one, session=card) for one in (*MADE, *repeated)],
        "imported without rounds": [
            replace(one, conditions=replace(one.conditions, round=0, order=0, started=5.0)) for one in MADE
        ],
        "attempts were never stored": [one for one in MADE if one.sequence % 3],
        "one": [first],
    }


def again(attempt):
    return replace(attempt.conditions, started=attempt.conditions.started + 100)


@pytest.mark.parametrize("name", sound())
def test_what_can_have_been_is_sound(tmp_path, name):
    assert check(stored(tmp_path / "some.db", sound()[name])) == []


def test_a_pruned_store_is_sound(tmp_path):
    path = stored(tmp_path / "some.db", MADE)
    prune(path, StoreQuery(instance=MADE[0].key.kernel.instance), dry_run=False)
    assert check(path) == []
