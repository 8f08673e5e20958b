"""Rounds, a run, a store and a comparison of the same measurements name the same winner, time and ties."""

import math
import random
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ckprof.compare.compare import compare
from ckprof.compare.side import side_of
from ckprof.measure.round_times import Timing
from ckprof.measure.rounds import Ranking, RoundOptions
from ckprof.model.outcome import Outcome, RoundTime, Status, Verification
from ckprof.model.ranking import ranking, summarise
from ckprof.store.attempt import Mark
from ckprof.store.store import Store
from ckprof.store.writer import StoreWriter
from tests.store.samples import make_attempt, make_session

ROUNDS = 5


@st.composite
def measured(draw):
    """Any rounds of some kernels: noisy, disturbed, with kernels that are pruned or fail."""
    kernels = draw(st.integers(1, 6))
    # few different values, so that some are equal
    times = st.sampled_from([1.0, 1.01, 1.02, 1.05, 1.3, 2.0])
    spreads = st.sampled_from([0.0, 0.01, 0.2])
    sessions = [make_session(number) for number in range(draw(st.integers(1, 2)))]
    disturbed = draw(st.sets(st.integers(1, ROUNDS), max_size=2))
    attempts = []
    for session in sessions:
        for kernel in range(kernels):
            for number in range(1, draw(st.integers(1, ROUNDS)) + 1):
                attempt = make_attempt(
                    kernel,
                    len(attempts),
                    draw(times),
                    session=session,
                    round=number,
                    verified=draw(st.booleans()),
                )
                marks = (Mark.DISTURBED,) if number in disturbed else ()
                assert attempt.measurement is not None
                spread = replace(attempt.measurement, spread_ms=draw(spreads))
                attempts.append(replace(attempt, measurement=spread, marks=marks))
            if kernel and draw(st.booleans()):
                attempts[-1] = replace(attempts[-1], marks=(*attempts[-1].marks, Mark.DROPPED))
            if draw(st.integers(0, 9)) == 0:
                failed = make_attempt(kernel, len(attempts), session=session, status=Status.RUN_ERROR)
                attempts.append(failed)
    return attempts


def outcomes_of(attempts):
    """Return what a run of these measurements reports."""
    kernels = {}
    for one in attempts:
        kernels.setdefault(one.key.kernel.instance, []).append(one)
    found = []
    for key, some in kernels.items():
        last = max(some, key=lambda one: (one.conditions.started, one.session.uid, one.sequence))
        rounds = tuple(one.round_time for one in some if one.round_time is not None)
        verified = next((one.verification for one in some if one.ranked), None)
        found.append(
            Outcome(
                key=key,
                problem_index=0,
                status=last.status,
                measurement=next((one.measurement for one in some if one.ranked), None),
                verification=verified,
                rounds=rounds,
            )
        )
    return found


@settings(max_examples=60, deadline=None)
@given(attempts=measured())
def test_the_same_measurements_name_the_same_winner(tmp_path_factory, attempts):
    path = tmp_path_factory.mktemp("store") / "results.db"
    marks = [(one.session.uid, one.sequence, mark) for one in attempts for mark in one.marks]
    with StoreWriter(path) as writer:
        # as rounds do it: marks come after what they are about
        writer.append_many(replace(one, marks=()) for one in attempts)
        writer.add_marks(marks)
    with Store(path) as store:
        stored = store.best()
        summaries = {one.key.kernel.instance: one.time_ms for one in store.measurements()}
        side = side_of("x", store.attempts(samples=False))
    outcomes = outcomes_of(attempts)
    ranked = ranking(outcomes, {one.key: number for number, one in enumerate(outcomes)})
    (problem,) = side.by_problem
    compared = compare(side, side).problems
    if ranked[0].rank is None:
        assert (stored, side.best(problem), compared) == ([], None, ())
        return
    winner = ranked[0].outcome.key
    times = {row.key.instance: row.time_ms for row in side.rows.values() if row.ranked}
    assert times == {key: time for key, time in summaries.items() if time is not None}
    assert set(times) == {one.outcome.key for one in ranked if one.rank is not None}
    assert {one.outcome.key: one.ratio for one in ranked if one.rank is not None} == {
        key: time / times[winner] for key, time in times.items()
    }
    assert [one.key.kernel.instance for one in stored] == [winner]
    assert [(one.old.key.instance, one.new.time_ms, one.changed) for one in compared] == [
        (winner, times[winner], False)
    ]
    first = [one.outcome.key for one in ranked if one.rank == 1]
    assert [row.key.instance for row in side.first_places(problem)] == first
    pruned = {one.outcome.key for one in ranked if one.outcome.pruned}
    # what all were slower than may have failed since
    assert winner in pruned or not pruned & {*first}, "nobody who left the rounds is tied with the best"


@given(
    seed=st.integers(0, 2**32),
    ratios=st.lists(st.sampled_from([1.0, 1.01, 1.1, 1.3, 1.6, 3.0]), min_size=1, max_size=8),
    noise=st.sampled_from([0.001, 0.02, 0.1]),
)
@settings(max_examples=60, deadline=None)
def test_rounds_end_with_what_tables_say(seed, ratios, noise):
    chance = random.Random(seed)
    decided = Ranking(list(range(len(ratios))), RoundOptions(seed=seed, passes=1))
    seen = {cell: [] for cell in decided.cells}
    passes = 0
    while decided.ending is None:
        passes += 1
        for planned in decided.visit():
            time_ms = ratios[planned.cell] * math.exp(abs(chance.gauss(0, noise)))
            decided.record(planned, Timing(time_ms=time_ms, process=str(passes)))
            measured = RoundTime(time_ms=time_ms, place=("", planned.round), process=str(passes))
            seen[planned.cell].append(measured)
    verified = Verification(max_error=0.0, wrong_elements=0, elements=1, rtol=0.0, atol=0.0)
    outcomes = [
        Outcome(
            key=str(cell),
            problem_index=0,
            status=Status.OK,
            measurement=summarise([1.0], "", keep_samples=False),
            verification=verified,
            rounds=tuple(
                replace(one, doubtful=one.place[1] in decided.disturbed, pruned=cell in decided.dropped)
                for one in rounds
            ),
        )
        for cell, rounds in seen.items()
    ]
    ranked = ranking(outcomes, {one.key: number for number, one in enumerate(outcomes)})
    first = [one for one in ranked if one.rank == 1]
    assert decided.resolution is not None and decided.resolution.first == len(first)
    assert ranked[0].outcome.key == str(decided.best())
    assert not any(one.outcome.pruned for one in first)
