"""What an attempt says of itself: marks, times that are ranked, and the session that it belongs to."""

import hashlib
from dataclasses import replace
from itertools import combinations

import pytest

from ckprof.model.outcome import CANARY_MS, Conditions, Status
from ckprof.store.attempt import (
    DEVICE_LOST,
    PROCESS,
    SCALE,
    Mark,
    Session,
    decode_marks,
    encode_marks,
    telling,
)
from tests.store.samples import make_attempt, make_key, make_session


def test_marks_are_text_in_the_order_of_their_definition():
    assert (encode_marks(()), decode_marks("")) == ("", ())
    for first, second in combinations(Mark, 2):
        text = f"{first.value},{second.value}"
        assert encode_marks((second, first, second)) == text
        assert decode_marks(text) == (first, second)
    with pytest.raises(ValueError, match="'tired'"):
        decode_marks("noisy,tired")


def test_an_imported_file_is_the_session_of_its_content(tmp_path):
    file = tmp_path / "sweep.csv"
    file.write_bytes(b"kernel\n")
    session = Session.of_file(file, b"kernel\n", "csv", ("old",))
    assert session.uid == hashlib.blake2b(b"kernel\n", digest_size=16, person=b"ckprof import").hexdigest()
    assert (session.started, session.origin, session.tags) == (
        file.stat().st_mtime,
        "csv sweep.csv",
        ("old",),
    )
    assert Session.of_file(file, b"kernel", "csv", (), 5.0).uid != session.uid
    assert Session.of_file(file, b"kernel\n", "csv", (), 0.0).started == 0.0


@pytest.mark.parametrize(
    ("environment", "device", "command"),
    [
        ({}, "", ""),
        ({"card": {"id": "host:1"}, "sweep": "s1"}, "host:1", "s1"),
        ({"card": {"name": "x"}, "sweep": ""}, "", ""),
        ({"card": "host:1", "sweep": 7}, "", ""),
    ],
)
def test_sessions_of_one_command_name_it_and_their_devices(environment, device, command):
    session = make_session(3, environment=environment)
    assert (session.device_id, session.command) == (device, command or session.uid)


def test_what_an_attempt_says_of_the_time_of_its_kernel():
    seen = Conditions(started=5.0, round=4, extra={PROCESS: 2, SCALE: 0.5})
    time = make_attempt(time_ms=3.0, conditions=seen, marks=(Mark.DROPPED,)).round_time
    uid = make_session().uid
    assert (time.time_ms, time.spread_ms) == (1.5, pytest.approx(0.015))
    assert (time.place, time.process, time.started) == ((uid, 4), f"{uid}/2", 5.0)
    assert (time.pruned, time.contended, time.doubtful) == (True, False, 0)
    plain = make_attempt(time_ms=3.0, conditions=Conditions(started=5.0, extra={SCALE: "x"})).round_time
    assert (plain.time_ms, plain.place, plain.process) == (3.0, None, f"{uid}/0")
    assert not plain.pruned


def test_marks_make_times_doubtful_or_contended():
    doubtful = {Mark.PART: 1, Mark.DISTURBED: 2, Mark.SLOW_DEVICE: 2}
    contended = {Mark.BUSY_HOST, Mark.LOW_CLOCK, Mark.SHARED_DEVICE}
    for marks in [(), *((mark,) for mark in Mark), *combinations(Mark, 2)]:
        time = make_attempt(marks=marks).round_time
        assert time.doubtful == max((doubtful.get(mark, 0) for mark in marks), default=0), marks
        assert time.contended == any(mark in contended for mark in marks), marks


def test_only_a_verified_time_is_ranked():
    wrong = replace(make_attempt().verification, max_error=1e300, wrong_elements=1)
    for attempt in (
        make_attempt(verified=False),
        make_attempt(status=Status.RUN_ERROR),
        make_attempt(verification=wrong),
    ):
        assert attempt.round_time is None


def test_what_was_never_launched_says_nothing_unless_there_is_nothing_else():
    never, noisy = (Mark.NOT_LAUNCHED, Mark.PART), (Mark.NOISY,)
    assert telling([never, noisy, never, ()], tuple) == [noisy, ()]
    assert telling([never, never], tuple) == [never, never]
    assert telling([], tuple) == []


def test_attempts_are_outcomes_of_a_run_and_have_an_order():
    deduced = make_attempt(2, 5, key=make_key(2, split_k=-1), split_chosen=4, reason="r")
    outcome = deduced.outcome(7)
    assert (outcome.key, outcome.problem_index, outcome.reason) == (f"{2:032x}", 7, "r")
    assert (outcome.split_k, outcome.split_k_deduced) == (4, True)
    assert (outcome.measurement, outcome.verification) == (deduced.measurement, deduced.verification)
    for asked, chosen, runs, is_deduced in ((0, None, 0, True), (1, None, 1, False), (3, 2, 2, False)):
        found = make_attempt(key=make_key(split_k=asked), split_chosen=chosen).outcome(0)
        assert (found.split_k, found.split_k_deduced) == (runs, is_deduced)
    assert deduced.moment == (1_700_000_005.0, make_session().uid, 5)


@pytest.mark.parametrize(("said", "lost"), [(True, True), (False, False), (1, False), (None, False)])
def test_a_device_that_was_lost_beside_a_kernel_is_no_outcome_of_it(said, lost):
    assert make_attempt(conditions=Conditions(started=0.0, extra={DEVICE_LOST: said})).lost_device is lost


def test_times_of_canaries_are_read_from_the_evidence_as_far_as_they_are_times():
    for said, expected in (
        ({"arithmetic": 0.25, "bandwidth": 0.5}, {"arithmetic": 0.25, "bandwidth": 0.5}),
        ({"arithmetic": "x", "bandwidth": 0.5}, {"bandwidth": 0.5}),
        ("damaged", {}),
        (None, {}),
    ):
        assert Conditions(started=0.0, extra={CANARY_MS: said}).canaries == expected, said
