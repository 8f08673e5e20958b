"""Parts of keys come back as they were, each stored once, and damaged ones are named."""

import sqlite3
from dataclasses import replace

import pytest

from ckprof.errors import InputError
from ckprof.model.outcome import Status
from ckprof.store.attempt import Mark
from ckprof.store.errors import DamagedRow
from ckprof.store.maintenance import check
from ckprof.store.parts import PartReader, PartWriter
from ckprof.store.row_types import ROW_TYPES, store_digest, store_digests
from ckprof.store.schema import create_tables
from ckprof.store.store import Store
from tests.store.samples import fill, make_attempt, make_key, make_session, make_store


@pytest.fixture
def connection():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    create_tables(connection)
    yield connection
    connection.close()


def settle(connection):
    """Have measurements without attempts be ones that can be read."""
    connection.execute("UPDATE measurements SET status = 'ok'")
    store_digests(connection, after=dict.fromkeys(ROW_TYPES, 0))


def test_every_part_is_stored_once(connection):
    key, kernel = make_key(), make_attempt().kernel
    texts = ["slow", "fast", "slow", ""]
    numbers = []
    for writer in (PartWriter(connection), PartWriter(connection)):
        numbers.append([writer.text(text) for text in texts])
        writer.forget()
        numbers.append([writer.text(text) for text in texts])
        assert writer.measurement(key, kernel) == writer.measurement(key, kernel) == 1
        assert writer.measurement(replace(key, split_k=3), kernel) == 2
        assert writer.session(make_session(0)) == 1
    settle(connection)
    assert numbers == [[1, 2, 1, None]] * 4
    for table in ("operations", "problems", "devices", "toolchains", "methods", "contexts", "kernels"):
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,), table  # noqa: S608
    reader = PartReader(connection)
    assert [reader.text(number) for number in numbers[0]] == texts
    assert reader.measurement(1) == (key, kernel)
    assert reader.measurement(2) == (replace(key, split_k=3), kernel)
    assert reader.measurement(2)[0].device is reader.part("devices", 1), "equal parts are one object"
    assert reader.decoded(1, len) == 4 and reader.decoded(None, len) is None


def test_the_first_description_of_a_session_stays(connection):
    writer, first = PartWriter(connection), make_session(1, tags=("a", "b", "a"))
    assert writer.session(first) == writer.session(replace(first, host="elsewhere", tags=("c",)))
    assert PartReader(connection).session(1) == first
    assert connection.execute("SELECT tag FROM tags ORDER BY tag").fetchall() == [("a",), ("b",)]


def test_a_reason_may_read_as_something_else_does(path):
    attempts = [
        make_attempt(0, 0, status=Status.RUN_ERROR, reason="noisy", marks=(Mark.NOISY,)),
        make_attempt(1, 1, status=Status.UNSUPPORTED, reason='["wide"]', requirements=("wide",)),
    ]
    with make_store(*attempts) as store:
        assert list(store) == attempts


def test_an_instance_leads_to_where_it_stands_now(path):
    def found(line):
        kernel = replace(make_attempt().kernel, source=f"list.conf:{line}" if line else "")
        return replace(make_attempt(0, line, round=line), kernel=kernel)

    fill(path, found(1), found(7), found(0))
    with Store(path) as store:
        assert {one.kernel.source for one in store} == {"list.conf:1"}, "a measurement that is known"
    for line in (8, 9):
        fill(path, replace(found(line), key=make_key(split_k=line)))
        with Store(path) as store:
            assert {one.kernel.source for one in store} == {f"list.conf:{line}"}
    assert check(path) == []
    # a new digest would hide the damage
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE instances SET layout = 'x'")
    connection.close()
    fill(path, replace(found(11), key=make_key(split_k=11)))
    assert any(text.startswith("table instances, row 1: is not what was stored") for text in check(path))


def damage(connection, statement, table="", number=1):
    connection.execute(statement)
    if table:
        store_digest(connection, table, number)


@pytest.mark.parametrize(
    ("statement", "digest", "message"),
    [
        ("DELETE FROM measurements", "", "table measurements, row 1: is missing, though others refer to it"),
        ("UPDATE contexts SET layout = 'x'", "", "table contexts, row 1: is not what was stored"),
        ("UPDATE kernels SET object_digest = ''", "", "table kernels, row 1: is not what was stored"),
        ("UPDATE instances SET body = '{}'", "", "table instances, row 1, column body: "),
        ("UPDATE instances SET body = '{}'", "instances", "table instances, row 1, column body: "),
        (
            "UPDATE methods SET body = '{'",
            "methods",
            "table methods, row 1, column body: Input data was trunc",
        ),
        (
            "UPDATE problems SET body = '3'",
            "problems",
            "table problems, row 1, column body: Expected `object`",
        ),
        ("UPDATE problems SET body = '{}'", "", "table problems, row 1, column body: no loaded plugin knows"),
        ("UPDATE devices SET body = body || ' '", "", "table devices, row 1: is not what was stored"),
    ],
)
def test_damaged_parts_of_a_measurement_are_named(connection, statement, digest, message):
    PartWriter(connection).measurement(make_key(), make_attempt().kernel)
    settle(connection)
    damage(connection, statement, digest)
    with pytest.raises(DamagedRow) as caught:
        PartReader(connection).measurement(1)
    assert str(caught.value).startswith(message)


def test_a_problem_of_a_plugin_that_is_not_loaded_is_no_damage(connection):
    PartWriter(connection).part("problems", make_key().problem)
    damage(connection, """UPDATE problems SET body = '{"moons":2}'""", "problems")
    with pytest.raises(InputError, match="no loaded plugin knows a problem with moons"):
        PartReader(connection).part("problems", 1)


def test_a_session_is_the_one_that_its_row_says(connection):
    PartWriter(connection).session(make_session(1))
    damage(connection, "UPDATE sessions SET started = 1", "sessions")
    with pytest.raises(DamagedRow, match="table sessions, row 1, column body: describes another session"):
        PartReader(connection).session(1)
