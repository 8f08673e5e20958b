"""What goes into a store comes out of it, and its figures agree with a plain calculation."""

import sqlite3
from dataclasses import replace

import pytest

from ckprof.model.outcome import Conditions, Status
from ckprof.model.types import DataType
from ckprof.store.attempt import SCALE, Mark
from ckprof.store.errors import DamagedStoreError
from ckprof.store.formats import row_columns
from ckprof.store.query import SharedKey
from ckprof.store.store import Store
from tests.store.samples import fill, make_attempt, make_key, make_problem, make_session, make_store

KEY = make_key()
SHARED = SharedKey(
    **{name: getattr(KEY, name) for name in ("operation", "device", "toolchain", "method")},
    **{"dtype": DataType.FP16, "layout": "nhwgc"},
)


def test_times_of_cards_that_share_a_problem_are_scaled_where_they_are_ranked(path):
    def of_part(sequence, time_ms, scale, marks=(Mark.PART,)):
        seen = Conditions(started=1.7e9 + sequence, round=sequence, extra={SCALE: scale} if scale else {})
        return make_attempt(0, sequence, time_ms, marks=marks, conditions=seen)

    attempts = [of_part(1, 2.0, 0.5), of_part(2, 1.0, 1.0)]
    fill(path, *attempts)
    with Store(path) as store:
        assert [one.measurement.time_ms for one in store] == [2.0, 1.0]
        assert [one.round_time.time_ms for one in store] == [1.0, 1.0]
        (summary,) = store.measurements()
        assert (summary.time_ms, summary.min_ms) == (1.0, 1.0)
    # as soon as one card has run all that may be the fastest, its rounds alone count
    fill(path, of_part(3, 1.5, None, marks=()))
    with Store(path) as store:
        (summary,) = store.measurements()
        assert summary.time_ms == 1.5
        visits = store.past_visits(SHARED, attempts[0].key.problem)
        assert [visit.scale for visit in visits] == [0.5, 1.0, None]
        assert [visit.round_time.time_ms for visit in visits] == [1.0, 1.0, 1.5]


def test_the_best_of_a_problem_is_the_fastest_verified_one():
    small, large = make_problem(4), make_problem(9)
    added = (
        make_attempt(0, 0, 5.0, problem=small),
        make_attempt(1, 1, 3.0, problem=small),
        make_attempt(2, 2, 1.0, problem=small, verified=False),
        make_attempt(3, 3, 2.0, problem=small),
        make_attempt(3, 4, problem=small, status=Status.WRONG_RESULT, reason="wrong"),
        make_attempt(4, 5, 7.0, problem=large),
        make_attempt(5, 6, 1.0, problem=large),
        make_attempt(5, 7, 99.0, problem=large),
        make_attempt(5, 8, 98.0, problem=large),
    )
    with make_store(*added) as store:
        best = {summary.key.problem: (summary.kernel.name, summary.time_ms) for summary in store.best()}
        assert best == {small: ("kernel_1", 3.0), large: ("kernel_4", 7.0)}
        assert list(store.problems()) == [small, large]


def test_data_frames_have_the_same_columns():
    pandas = pytest.importorskip("pandas")
    with make_store(make_attempt(0, 0, 2.0)) as store:
        frame = store.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(row_columns())
    assert frame.loc[0, "time_ms"] == 2.0


def test_queries_by_keyword():
    failed = make_attempt(1, 1, status=Status.RUN_ERROR, session=make_session(4))
    with make_store(make_attempt(), failed) as store:
        assert list(store.query(statuses={"run_error"})) == [failed]
        assert list(store.query(tag="day4", direction="fwd")) == [failed]


def test_of_equal_times_the_first_of_a_ranking_is_best():
    other = replace(KEY.device, model="another")
    added = [
        make_attempt(7, 0, 2.0),
        make_attempt(3, 1, 2.0, key=make_key(3, split_k=4)),
        make_attempt(3, 2, 2.0, key=make_key(3, split_k=2)),
        make_attempt(9, 3, 3.0, key=make_key(9, device=other)),
        make_attempt(8, 4, 4.0, key=make_key(8, device=other)),
    ]
    with make_store(*added) as store:
        best = [(one.kernel.name, one.key.split_k) for one in store.best()]
        assert best == [("kernel_3", 2), ("kernel_9", 1)], "one per ranking"
        assert store.devices() == [KEY.device, other]


def test_rows_are_read_by_their_numbers():
    first, second = make_session(5), make_session(2)
    attempts = [
        make_attempt(0, 0, session=first),
        make_attempt(1, 1, session=first, status=Status.RUN_ERROR),
        make_attempt(0, 0, session=second),
        make_attempt(1, 7, session=second),
    ]
    with make_store(*attempts) as store:
        assert [list(store.added(*rows)) for rows in ((2, 4), (4, 99), (5, 9))] == [
            attempts[1:3],
            attempts[3:],
            [],
        ]
        assert store.sessions() == [second, first], "the oldest first"
        assert list(store.attempts(samples=False)) == [one.without_samples() for one in attempts]
        assert (store.name, len(store)) == ("memory", 4)


def test_past_visits_are_those_under_the_same_conditions():
    other = make_problem(9)
    typed = replace(make_attempt(4).kernel, dtype=None, layout="")
    attempts = [
        make_attempt(0, 8),
        make_attempt(1, 2),
        make_attempt(2, 5, problem=other),
        make_attempt(0, 3, session=make_session(9)),
        replace(make_attempt(4, 6), kernel=typed),
    ]
    with make_store(*attempts) as store:
        assert len(store.past_visits(SHARED, KEY.problem)) == 3
        assert len(store.past_visits(replace(SHARED, dtype=None, layout=""), KEY.problem)) == 1
        for change in (
            {"operation": replace(KEY.operation, api_level="")},
            {"device": replace(KEY.device, arch="")},
            {"toolchain": replace(KEY.toolchain, headers="")},
            {"method": replace(KEY.method, init="")},
            {"layout": ""},
            {"dtype": DataType.BF16},
        ):
            assert store.past_visits(replace(SHARED, **change), KEY.problem) == [], change


@pytest.mark.parametrize(
    ("change", "use", "said"),
    [
        (
            "status = 'fine'",
            lambda store: store.past_visits(SHARED, KEY.problem),
            "row 1: 'fine' is not a valid",
        ),
        ("round = 'x'", lambda store: store.past_visits(SHARED, KEY.problem), "row 1: Expected `int`"),
        ("sequence = 'x'", list, "row 1, column sequence: Expected `int`, got `str`, found 'x'"),
        ("round = -1", list, "row 1, column round: Expected `int` >= 0"),
    ],
)
def test_damaged_cells_are_named_by_whoever_meets_them(path, change, use, said):
    fill(path, make_attempt())
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"UPDATE attempts SET {change}")  # noqa: S608
    connection.close()
    with Store(path) as store, pytest.raises(DamagedStoreError) as caught:
        use(store)
    assert str(caught.value).startswith(f"{path}: table attempts, row ") and said in str(caught.value)


def test_attempts_that_are_missing_are_told_of(path):
    fill(path, make_attempt(0, 0), make_attempt(1, 1))
    with Store(path) as store:
        store.check_complete()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("DELETE FROM attempts WHERE id = 2")
    connection.close()
    store = Store(path)
    with pytest.raises(DamagedStoreError) as caught:
        store.check_complete()
    assert str(caught.value).startswith(
        f"{path}: 2 attempts were stored, 2 of them with raw samples; there are 1 and 2; see what is damaged"
    )
    store.close()
    store.close()
