"""What goes into a store comes out of it, and its figures agree with a plain calculation."""

from __future__ import annotations

import pytest

from ckprof.model.outcome import Conditions, Status
from ckprof.model.types import DataType
from ckprof.store.attempt import SCALE, Mark
from ckprof.store.formats import row_columns
from ckprof.store.query import SharedKey
from ckprof.store.store import Store
from tests.store.samples import fill, make_attempt, make_problem, make_session, make_store


def test_times_of_cards_that_share_a_problem_are_scaled_where_they_are_ranked(path):
    def of_part(sequence, time_ms, scale, marks=(Mark.PART,)):
        seen = Conditions(started=1.7e9 + sequence, round=sequence, extra={SCALE: scale} if scale else {})
        return make_attempt(0, sequence, time_ms, marks=marks, conditions=seen)

    attempts = [of_part(1, 2.0, 0.5), of_part(2, 1.0, 1.0)]
    fill(path, *attempts)
    with Store(path) as store:
        assert [one.measurement.median_ms for one in store] == [2.0, 1.0]
        assert [one.round_time.median_ms for one in store] == [1.0, 1.0]
        (summary,) = store.measurements()
        assert (summary.median_ms, summary.min_ms) == (1.0, 1.0)
    # as soon as one card has run all that may be the fastest, its rounds alone count
    fill(path, of_part(3, 1.5, None, marks=()))
    with Store(path) as store:
        (summary,) = store.measurements()
        assert summary.median_ms == 1.5
        key = attempts[0].key
        shared = SharedKey(
            operation=key.operation,
            device=key.device,
            toolchain=key.toolchain,
            method=key.method,
            dtype=DataType.FP16,
            layout="nhwgc",
        )
        visits = store.past_visits(shared, key.problem)
        assert [visit.scale for visit in visits] == [0.5, 1.0, None]
        assert [visit.round_time.median_ms for visit in visits] == [1.0, 1.0, 1.5]


def test_the_best_of_a_problem_is_the_fastest_verified_one(path):
    small, large = make_problem(4), make_problem(9)
    fill(
        path,
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
    with Store(path) as store:
        best = {summary.key.problem: (summary.kernel.name, summary.median_ms) for summary in store.best()}
        assert best == {small: ("kernel_1", 3.0), large: ("kernel_4", 7.0)}
        assert list(store.problems()) == [small, large]


def test_data_frames_have_the_same_columns(tmp_path):
    pandas = pytest.importorskip("pandas")
    with make_store(make_attempt(0, 0, 2.0)) as store:
        frame = store.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == list(row_columns())
    assert frame.loc[0, "median_ms"] == 2.0


def test_queries_by_keyword(tmp_path):
    failed = make_attempt(1, 1, status=Status.RUN_ERROR, session=make_session(4))
    with make_store(make_attempt(), failed) as store:
        assert list(store.query(statuses={"run_error"})) == [failed]
        assert list(store.query(tag="day4", direction="fwd")) == [failed]
