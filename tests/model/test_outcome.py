"""What became of kernels: which results may be ranked, and what is a failure."""

from dataclasses import replace

from ckprof.model.outcome import KernelResult, Measurement, Outcome, RoundTime, Status, Verification

TIME = Measurement(
    time_ms=1.0,
    spread_ms=0.1,
    min_ms=0.9,
    mean_ms=1.0,
    samples=3,
    stopped_by="stdrel",
    samples_ms=(0.9, 1.0, 1.1),
)
RIGHT = Verification(max_error=0.1, wrong_elements=0, elements=9, rtol=0.1, atol=0.1)


def test_what_a_device_cannot_do_is_no_failure():
    assert {status for status in Status if not status.is_failure} == {Status.OK, Status.UNSUPPORTED}


def test_only_verified_times_are_ranked():
    fine = KernelResult(status=Status.OK, measurement=TIME, verification=RIGHT)
    assert fine.ranked and RIGHT.passed
    for changes in (
        {"status": Status.RUN_ERROR},
        {"measurement": None},
        {"verification": None},
        {"verification": replace(RIGHT, wrong_elements=1)},
    ):
        assert not replace(fine, **changes).ranked


def test_raw_samples_can_be_left_out():
    outcome = Outcome(key="k", problem_index=0, status=Status.OK, measurement=TIME, verification=RIGHT)
    less = outcome.without_samples()
    assert less == replace(outcome, measurement=replace(TIME, samples_ms=()))
    assert less.without_samples() is less
    failed = Outcome(key="k", problem_index=0, status=Status.RUN_ERROR)
    assert failed.without_samples() is failed


def test_a_kernel_that_left_the_rounds_says_so_in_its_last_one():
    outcome = Outcome(key="k", problem_index=0, status=Status.OK)
    first, last = RoundTime(time_ms=1.0), RoundTime(time_ms=1.0, pruned=True)
    assert not outcome.pruned and not replace(outcome, rounds=(last, first)).pruned
    assert replace(outcome, rounds=(first, last)).pruned
