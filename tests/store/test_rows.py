"""Raw samples are compressed without loss, and attempts sum up to what a plain calculation gives."""

import random
import sqlite3
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.model.outcome import Conditions, Status
from ckprof.store.attempt import DEVICE_LOST, Mark
from ckprof.store.errors import DamagedStoreError
from ckprof.store.maintenance import check as check_store
from ckprof.store.row_types import ROW_TYPES, store_digests
from ckprof.store.rows import pack_samples, unpack_samples, unstorable
from ckprof.store.store import Store
from tests.store.samples import (
    attempts,
    check_summaries,
    fill,
    make_attempt,
    make_key,
    make_problem,
    make_store,
)


@given(st.lists(st.floats(allow_nan=False) | st.integers(0, 10**15).map(lambda ns: ns / 1_000_000)))
def test_samples_come_back_exactly(samples):
    assert unpack_samples(pack_samples(samples)) == tuple(samples)


def test_samples_are_small_and_damage_is_found():
    noise = random.Random(1)
    samples = [round(noise.gauss(5e6, 2e4)) / 1_000_000 for _ in range(100)]
    assert len(pack_samples(samples)) < 100 * 8 / 2
    whole = pack_samples([0.1])
    unknown = [(one, "unknown kind") for one in (b"", b"x" + whole[1:], b"n\x03" + whole[2:])]
    damaged = [(one, "damaged samples") for one in (b"d\x08not zlib", b"n\x04", b"n\x04" + bytes(9))]
    for data, message in (*unknown, *damaged):
        with pytest.raises(ValueError, match=message):
            unpack_samples(data)


@settings(max_examples=25)
@given(drawn=st.lists(attempts(), max_size=12))
def test_the_time_of_a_kernel_is_that_of_its_attempts(drawn):
    key = make_key(0, make_problem(1, 1))
    added = [replace(attempt, key=key, sequence=number) for number, attempt in enumerate(drawn)]
    with make_store(*added) as store:
        check_summaries(store, added)


def test_the_share_of_checked_launches_is_stored_and_summed_up(path):
    check = replace(make_attempt().verification, launches=40, checked=39)
    known = make_attempt(1, 1, verification=check, conditions=Conditions(started=2.0, extra={"seen": 1}))
    again = replace(known, sequence=2, verification=replace(check, launches=10, checked=10))
    fill(path, make_attempt(0, 0), known, again)
    with Store(path) as store:
        assert [(one.launches, one.checked) for one in store.measurements()] == [(0, 0), (50, 49)]
        assert list(store)[1].conditions.extra == {"seen": 1}
        flat = [(row["launches"], row["checked_launches"]) for row in store.to_dicts()]
        assert flat == [(None, None), (40, 39), (10, 10)]
        assert check_store(path) == []


def test_samples_are_kept_in_the_narrowest_way_that_loses_nothing():
    """Whole nanoseconds as differences of 4 bytes, of 8 where one does not fit; doubles otherwise."""
    least, most = (2**31 - 1) / 1e6, 2**31 / 1e6
    for samples, kind in (
        ([], b"n\x04"),
        ([1.5, 0.000001], b"n\x04"),
        ([least, least], b"n\x04"),
        ([most], b"n\x08"),
        ([0.000001, most], b"n\x04"),
        ([most - 0.0005, 0.0], b"n\x04"),
        *[([-most], b"n\x04"), ([-most - 0.000001], b"n\x08")],
        ([1 / 3], b"d\x08"),
        ([2.0**33], b"d\x08"),
        ([float("inf")], b"d\x08"),
    ):
        assert pack_samples(samples)[:2] == kind, samples
        assert unpack_samples(pack_samples(samples)) == tuple(samples)


def test_a_kernel_beside_which_devices_were_lost_says_how_often(path):
    def lost(sequence, extra, marks=(Mark.NOT_LAUNCHED,)):
        seen = Conditions(started=float(sequence), extra=extra)
        return make_attempt(0, sequence, status=Status.RUN_ERROR, reason="x", marks=marks, conditions=seen)

    fill(path, lost(1, {DEVICE_LOST: True}), lost(2, {}), lost(3, {DEVICE_LOST: True}))
    with Store(path) as store:
        (summary,) = store.measurements()
        assert (summary.devices_lost, summary.attempts, summary.time_ms) == (2, 3, None)
    fill(path, replace(make_attempt(0, 4), conditions=Conditions(started=0.5)))
    with Store(path) as store:
        (summary,) = store.measurements()
        assert (summary.devices_lost, summary.status, summary.time_ms) == (0, Status.OK, 1.5)
        assert summary.reason == ""


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (
            "UPDATE attempts SET min_ms = NULL",
            "table attempts, row 1, column min_ms: is missing beside a median",
        ),
        ("UPDATE attempts SET samples = NULL", "column samples: is missing beside a median"),
        (
            "UPDATE attempts SET tolerance_id = NULL",
            "column tolerance_id: is missing beside a count of wrong",
        ),
        ("UPDATE attempts SET extra = '{'", "table attempts, row 1, column extra: Input data was truncated"),
        ("UPDATE attempts SET extra = '[]'", "table attempts, row 1, column extra: Expected `object`"),
        ('UPDATE attempts SET extra = \'{"process": "x"}\'', "column extra: Expected `int`"),
        ("UPDATE samples SET data = x'00'", "table samples, row 1, column data: samples of an unknown kind"),
        ("UPDATE texts SET body = 'tired' WHERE body = 'noisy'", "column body: 'tired' is not a valid Mark"),
    ],
)
def test_cells_that_do_not_fit_each_other_are_named(path, statement, message):
    fill(path, make_attempt(marks=(Mark.NOISY,)))
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(statement)
    store_digests(connection, after=dict.fromkeys(ROW_TYPES, 0))
    connection.close()
    with Store(path) as store, pytest.raises(DamagedStoreError) as caught:
        list(store)
    assert message in str(caught.value)


def test_figures_that_no_store_can_hold_are_named():
    assert unstorable(make_attempt()) == ""
    timing = make_attempt().measurement
    wrong = make_attempt(measurement=replace(timing, min_ms=0.0))
    assert unstorable(wrong) == "min_ms: Expected `float` > 0.0, found 0.0"
    assert unstorable(make_attempt(sequence=-1)).startswith("sequence: Expected `int` >= 0")


def test_the_units_that_computed_are_kept_beside_what_observers_have_seen():
    seen = Conditions(started=1.0, extra={"fan": 3, "b": [1]})
    attempts = make_attempt(0, 0, 1.5, conditions=seen), make_attempt(1, 1, 1.0)
    with make_store(*attempts) as store:
        assert [one.measurement.units for one in store] == [("tiles", "fp32"), ()]
        assert list(store) == list(attempts)
