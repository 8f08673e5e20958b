"""Sides: which measurement of a kernel counts, and what is known of machines, cards and baselines."""

import math
from dataclasses import replace

from ckprof.compare.side import baseline_times, device_name, machine_state, provenance, shortened, side_of
from ckprof.model.outcome import CANARY_MS, Status
from ckprof.store.attempt import CANARIES, Mark
from ckprof.store.baselines import BaselineAttempt
from tests.measured import DEVICE, SESSION, Made, attempts, later

OLD = Made(seed=1, noise=0.004)


NEW = Made(seed=2, noise=0.004, session=later())


def test_a_kernel_whose_latest_attempt_failed_has_no_time():
    failed = replace(NEW, failing=lambda p, i: Status.RUN_ERROR)
    both = side_of("both", [*attempts(OLD), *attempts(failed)])
    assert not any(row.ranked for row in both.rows.values())


def test_rounds_with_drift_were_repeated_and_do_not_count():
    marked = [
        replace(one, marks=(Mark.DISTURBED,)) if one.conditions.round == 1 else one for one in attempts(OLD)
    ]
    assert {len(row.rounds) for row in side_of("x", marked).rows.values()} == {5}
    only = [one for one in marked if one.marks]
    assert {len(row.rounds) for row in side_of("x", only).rows.values()} == {1}


def test_devices_can_be_told_apart():
    other = replace(NEW, device=replace(OLD.device, model="Model 8"))
    both = [*attempts(OLD), *attempts(other)]
    assert len(side_of("x", both).rows) == 12
    assert len(side_of("x", both, by_device=True).rows) == 24


ONE = Made(problems=1, instances=1, rounds=1)


def test_the_state_of_a_machine_is_the_median_of_what_is_known():
    (first,) = attempts(ONE)
    seen = [
        replace(first, conditions=replace(first.conditions, load=load, clock_mhz=clock), marks=marks)
        for load, clock, marks in (
            (1.0, None, (Mark.BUSY_HOST, Mark.NOISY)),
            (8.0, 1500.0, (Mark.BUSY_HOST, Mark.LOW_CLOCK)),
            (2.0, 1700.0, ()),
            (None, None, ()),
        )
    ]
    state = machine_state(seen)
    assert (state.load, state.clock_mhz, state.temperature_c) == (2.0, 1600.0, None)
    assert state.contended == {Mark.BUSY_HOST: 0.5, Mark.LOW_CLOCK: 0.25}


def test_origins_are_listed_once_each():
    environment = {"host": {"cores": 8}, "sources": {"ckprof": "0123456789abcdef" * 2}}
    first = replace(SESSION, environment=environment)
    found = provenance([first, first, later(host="other", git_commit="", seed=1)])
    assert found == {
        "host": "lab, other",
        "ckprof_version": "1.0",
        "git_commit": "c" * 12,
        "seed": "1",
        "host.cpus": "8",
        "sources.ckprof": "0123456789ab",
    }
    assert shortened("a" * 24) == "a" * 24 and shortened("a" * 25) == "a" * 12
    assert shortened("branch of " * 4) == "branch of " * 4


def test_the_latest_time_of_a_baseline_counts_and_a_failure_ends_it():
    (first,) = attempts(ONE)

    def baseline(started, time_ms, **changes):
        values = {"name": "vendor", "description": "", "wrong_elements": 0, "status": Status.OK, **changes}
        return BaselineAttempt(
            session=SESSION,
            sequence=0,
            baseline=values.pop("name"),
            operation=first.key.operation,
            problem=first.key.problem,
            device=DEVICE,
            method=first.key.method,
            dtype="fp16",
            layout="nhwgc",
            time_ms=time_ms,
            started=started,
            **values,
        )

    early, late = baseline(1.0, 5.0), baseline(2.0, 4.0)
    (key,) = baseline_times([late, early])["vendor"]
    assert key == next(iter(side_of("x", [first]).by_problem))
    assert baseline_times([late, early]) == {"vendor": {key: 4.0}}
    for failed in (baseline(3.0, 1.0, wrong_elements=7), baseline(3.0, None, status=Status.RUN_ERROR)):
        assert baseline_times([failed, early]) == {"vendor": {}}
    (told,) = baseline_times([early], by_device=True)["vendor"]
    assert told.device == device_name(DEVICE) == "cpu Model 7 x86-64"
    assert device_name(replace(DEVICE, model="", arch="cpu")) == "cpu"


def test_rows_stand_fastest_first_and_those_without_a_time_last():
    failing = replace(OLD, problems=1, noise=0.0, failing=lambda p, i: Status.RUN_ERROR if i == 2 else None)
    side = side_of("x", attempts(failing))
    ((problem, rows),) = side.by_problem.items()
    assert [row.time_ms for row in rows] == sorted(row.time_ms for row in side.rows.values())
    assert rows[-1].key.instance == f"{2:032x}" and rows[-1].time_ms == math.inf and not rows[-1].rounds
    assert side.best(problem) is rows[0] and side.first_places(problem)[0] is rows[0]
    nothing = side_of("x", attempts(replace(failing, failing=lambda p, i: Status.RUN_ERROR)))
    assert nothing.best(problem) is None and nothing.first_places(problem) == []


def test_canaries_are_medians_over_the_rounds_of_a_visit():
    """They stand in all attempts of a round, however many these are, and count once."""
    environment = {CANARIES: {"device": {"model": "Model 7"}, "object": "1" * 40}}
    made = replace(ONE, instances=2, rounds=6, processes=2, session=replace(SESSION, environment=environment))
    # by round; the fourth one has lost its first kernel
    times = [1.0, 9.0, 2.0, 5.0, 7.0, 6.0]
    seen = [
        replace(
            one,
            conditions=replace(
                one.conditions,
                extra={**one.conditions.extra, CANARY_MS: {"arithmetic": times[one.conditions.round - 1]}},
            ),
        )
        for one in attempts(made)
        if (one.conditions.round, one.conditions.order) != (4, 0)
    ]
    side = side_of("x", seen)
    assert {process: dict(found) for (_, process), found in side.canaries.items()} == {
        f"{SESSION.uid}/0": {"arithmetic": 2.0},
        f"{SESSION.uid}/1": {"arithmetic": 6.0},
    }
    (problem,) = {problem for problem, _ in side.canaries}
    assert set(side.by_problem) == {problem}
    # the process is that of the rows
    assert {process for _, process in side.canaries} == set(side.by_problem[problem][0].trials)


def test_canaries_can_be_compared_where_object_and_device_are_equal():
    def digests(*kept):
        sessions = [
            replace(SESSION, uid=f"{i:032x}", environment={CANARIES: one}) for i, one in enumerate(kept)
        ]
        made = [
            one for session in sessions for one in attempts(replace(ONE, session=session, canaries=False))
        ]
        return side_of("x", made).canary_digests

    first = {"object": "1" * 40, "device": {"model": "a", "compute_units": 2}}
    same = {"device": {"compute_units": 2, "model": "a"}, "object": "1" * 40}
    assert digests(None, "damaged") == frozenset()
    assert len(digests(first, None, same)) == 1
    assert digests(first) == digests(same)
    assert len(digests(first, {**first, "object": "2" * 40}, {**first, "device": {"model": "b"}})) == 3


def test_the_error_of_a_row_is_the_largest_that_is_known():
    (first,) = attempts(ONE)
    seen = [replace(first.verification, max_error=error, spacing=0.5) for error in (1.0, 3.0, 2.0)]
    verified = [replace(first, verification=one) for one in (*seen, replace(seen[0], spacing=0.0))]
    (row,) = side_of("x", verified).rows.values()
    assert row.error_ulp == 6.0
    (unknown,) = side_of("x", [first]).rows.values()
    assert unknown.error_ulp is None
