"""What is asked of a store."""

from dataclasses import replace
from datetime import datetime, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.errors import UsageError
from ckprof.measure.rounds import KernelConfiguration
from ckprof.model.outcome import Conditions, Status
from ckprof.model.types import DataType
from ckprof.option import options_of
from ckprof.store.attempt import DEVICE_LOST, PROCESS, SCALE, Mark
from ckprof.store.query import PastVisit, SharedKey, SqlConditions, StoreQuery
from tests.store.samples import attempts, make_attempt, make_key, make_problem, make_session, make_store


def test_queries_select_by_every_part():
    other = make_session(1, tags=("night",))
    wrong = make_attempt(1, 1, session=other, status=Status.WRONG_RESULT, reason="off")
    big = make_attempt(2, 2, problem=make_problem(30))
    with make_store(make_attempt(0, 0), wrong, big) as store:

        def names(**conditions):
            return [one.kernel.name for one in store.attempts(StoreQuery(**conditions))]

        assert names() == ["kernel_0", "kernel_1", "kernel_2"]
        assert names(tag="night") == names(session=other.uid[:32]) == ["kernel_1"]
        assert names(statuses=frozenset({Status.WRONG_RESULT})) == ["kernel_1"]
        assert names(problem=make_problem(30)) == ["kernel_2"]
        assert names(instance=f"{2:032x}") == ["kernel_2"]
        assert names(since=big.conditions.started) == ["kernel_2"]
        assert names(before=wrong.conditions.started) == ["kernel_0"]
        assert names(direction="fwd", target="cpu", arch="x86", dtype="fp16") == names()
        assert names(instance="", session="") == names()
        assert names(session=other.uid[:-1]) == ["kernel_0", "kernel_1", "kernel_2"]
        for absent in ("direction", "target", "arch", "dtype", "tag", "instance", "session"):
            assert names(**{absent: "no"}) == []
        assert [one.kernel.name for one in store.measurements(StoreQuery(tag="night"))] == ["kernel_1"]
        assert [one.kernel.name for one in store.best(StoreQuery(tag="day0"))] == ["kernel_0", "kernel_2"]
        assert store.sessions() == [make_session(0), other]


def test_measurements_are_selected_by_the_status_and_the_times_of_their_attempts():
    failed = make_attempt(1, 1, status=Status.RUN_ERROR)
    with make_store(make_attempt(), failed, make_attempt(1, 2, status=Status.WRONG_RESULT)) as store:

        def names(**conditions):
            return [one.kernel.name for one in store.measurements(StoreQuery(**conditions))]

        assert names(statuses=frozenset({Status.WRONG_RESULT, Status.OK})) == ["kernel_0", "kernel_1"]
        assert names(statuses=frozenset({Status.RUN_ERROR})) == [], "the latest one has another"
        started = failed.conditions.started
        assert names(since=started) == names(since=started, before=started + 0.5) == ["kernel_1"]
        assert names(before=started) == ["kernel_0"]
        assert names(since=started + 2) == []


def test_conditions_are_joined_with_their_values():
    conditions = SqlConditions()
    assert conditions.where() == ""
    conditions.add("a = ? OR b = ?", 1, 2)
    conditions.add("c IS NULL")
    assert (conditions.where(), conditions.values) == (" WHERE a = ? OR b = ? AND c IS NULL", [1, 2])


def test_options_are_read_as_people_write_them():
    read = {field.name: found.parse for field, found in options_of(StoreQuery)}
    midnight = datetime(2026, 1, 31).timestamp()
    assert read["since"]("2026-01-31") == read["before"]("2026-01-31T00:00") == midnight
    at = datetime(2026, 1, 31, 12, 30, tzinfo=timezone.utc).timestamp()
    assert read["since"]("2026-01-31T12:30:00+00:00") == at
    with pytest.raises(UsageError, match="expected a date such as 2026-01-31, got 'monday'"):
        read["since"]("monday")
    assert read["dtype"]("fp16") == "fp16"


EVIDENCE = st.fixed_dictionaries(
    {},
    optional={
        PROCESS: st.integers(0, 5),
        SCALE: st.floats(0.5, 2.0),
        DEVICE_LOST: st.booleans(),
    },
)


@settings(max_examples=10)
@given(drawn=st.lists(st.tuples(attempts(), EVIDENCE), max_size=8))
def test_a_sweep_that_resumes_knows_of_an_attempt_what_the_one_that_made_it_did(drawn):
    problem = make_problem(1, 1)
    made = [
        replace(
            one,
            **{"key": make_key(n % 3, problem, split_k=one.key.split_k), "sequence": n},
            session=make_session(n % 2, environment={"card": {"id": f"host:{n % 2}"}}),
            conditions=replace(one.conditions, extra=extra),
        )
        for n, (one, extra) in enumerate(drawn)
    ]
    key = make_key()
    shared = SharedKey(
        **{name: getattr(key, name) for name in ("operation", "device", "toolchain", "method")},
        **{"dtype": DataType.FP16, "layout": "nhwgc"},
    )
    with make_store(*made) as store:
        assert store.past_visits(shared, problem) == [PastVisit.of(one) for one in made]
        assert store.past_visits(shared, make_problem(2, 1)) == []
    for one in made:
        visit = PastVisit.of(one)
        assert visit.round_time == (one.round_time and replace(one.round_time, started=0.0))
        assert (visit.cell, visit.device_lost) == (
            KernelConfiguration(one.key.kernel.instance, one.key.split_k),
            one.lost_device,
        )


def test_a_visit_of_a_kernel_is_marked_once():
    visit = PastVisit.of(make_attempt(marks=(Mark.NOISY,), conditions=Conditions(started=1.0)))
    assert (visit.marks, visit.all_marks) == ("noisy", (Mark.NOISY,))
    again = visit.marked(Mark.DROPPED).marked(Mark.DROPPED)
    assert (again.marks, again.all_marks) == ("dropped,noisy", (Mark.DROPPED, Mark.NOISY))
    assert again.round_time.pruned and not visit.round_time.pruned
    assert PastVisit.of(make_attempt()).marks is None
    assert PastVisit.of(make_attempt()).marked(Mark.PART).marks == "part"
    strange = Conditions(started=1.0, extra={PROCESS: "x", SCALE: 3})
    visit = PastVisit.of(make_attempt(conditions=strange))
    assert (visit.process, visit.scale, visit.round_time.time_ms) == (0, None, 1.5)
    unspread = visit._replace(spread_ms=None).round_time
    assert (unspread.spread_ms, unspread.started) == (0.0, 0.0)
    for unranked in (
        {"status": "run_error"},
        {"time_ms": None},
        {"wrong_elements": None},
        {"wrong_elements": 1},
    ):
        assert visit._replace(**unranked).round_time is None
