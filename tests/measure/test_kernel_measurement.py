"""Every way in which a kernel can behave, and what becomes of it."""

import re

import pytest

from ckprof.measure.options import CacheMode, RunOptions
from ckprof.model.outcome import Status
from tests.cases import each

from .run_instances import run_kernels

pytestmark = pytest.mark.compiler

#: kernel -> status, pattern of the reason
EXPECTED = {
    "ok": (Status.OK, ""),
    "ok_10ms": (Status.OK, ""),
    "ok_in_units": (Status.OK, ""),
    "prints": (Status.OK, ""),
    "slow": (Status.OK, ""),
    "unsupported": (Status.UNSUPPORTED, "C is not a multiple of 8"),
    "support_fails": (Status.RUN_ERROR, "in the support test: bad_function_call"),
    "rejects_run": (Status.UNSUPPORTED, "the grid is too large"),
    "lacks_shared": (Status.UNSUPPORTED, "^the tile needs 300000 bytes"),
    "fails": (Status.RUN_ERROR, "bad launch"),
    "fails_later": (Status.RUN_ERROR, "failed in a timed run: third time unlucky"),
    "segfault": (Status.RUN_ERROR, r"in the first run: .* SIGSEGV .*; last output: about to fall"),
    "aborts": (Status.RUN_ERROR, r"SIGABRT .*; last output: assertion failed: x > 0"),
    "support_crashes": (Status.RUN_ERROR, "in the support test: the worker was killed by SIGABRT"),
    "exits": (Status.RUN_ERROR, "the worker exited with status 0"),
    "leaves_child": (Status.RUN_ERROR, "SIGKILL .*perhaps because memory ran out"),
    "scribbles": (Status.RUN_ERROR, "the worker sent 'garbage', which is not a message"),
    "hangs": (Status.RUN_TIMEOUT, "not done within 2 s, killed in the first run"),
    "no_time": (Status.RUN_ERROR, "the launcher reported a duration of 0.0 ms"),
    "missing": (Status.RUN_ERROR, "no kernel with key missing"),
    "writes_before": (Status.WRONG_RESULT, "wrote outside the output tensor, before its memory"),
    "writes_after": (Status.WRONG_RESULT, "wrote outside the output tensor, after its memory"),
    "writes_after_later": (Status.WRONG_RESULT, r"after its memory \(in a timed run\)"),
    "writes_before_weight": (Status.WRONG_RESULT, "wrote outside the weight tensor, before"),
    "changes_input": (Status.WRONG_RESULT, "changed its operand, the input tensor"),
    "skips_last": (
        Status.WRONG_RESULT,
        r"1 of 192 elements differ \(0.521 %, 1 never written\), first at \[n=2,h=7,w=7,g=0,k=0\]",
    ),
    "writes_nothing": (Status.WRONG_RESULT, r"192 of 192 elements differ \(100 %, 192 never written\)"),
    "writes_nan": (Status.WRONG_RESULT, r"1 not finite\), first at \[n=0,h=0,w=1,g=0,k=0\]: got nan"),
    "writes_inf": (Status.WRONG_RESULT, r"1 not finite\), first at \[n=0,h=0,w=2,g=0,k=0\]: got inf"),
    "wrong": (Status.WRONG_RESULT, r"3 of 192 elements differ .*\[n=0,h=0,w=5,.*largest error 4,"),
}
#: a second good kernel at the end: whatever went before must not harm it
KERNELS = [*EXPECTED, "ok"]


@pytest.fixture(scope="module")
def outcomes(library, tmp_path_factory):
    """Every kernel on one problem, in one run."""
    options = RunOptions(rounds=1, timeout_s=2.0, max_time_s=0.1, cache=CacheMode.WARM)
    return run_kernels(library, KERNELS, options, tmp_path_factory.mktemp("locks"))


def test_every_kernel_has_one_outcome_with_its_units(outcomes):
    assert [outcome.key for outcome in outcomes] == KERNELS
    units = {outcome.key: outcome.measurement.units for outcome in outcomes if outcome.measurement}
    assert units.pop("ok_in_units") == ("wide", "narrow")
    assert set(units.values()) == {()}


@each(kernel=EXPECTED)
def test_status_and_reason(outcomes, kernel):
    outcome = outcomes[KERNELS.index(kernel)]
    status, reason = EXPECTED[kernel]
    assert outcome.status is status, outcome.reason
    assert re.search(reason, outcome.reason)
    assert bool(outcome.reason) is (status is not Status.OK)


def test_a_rejected_run_may_name_its_condition(outcomes):
    rules = {
        kernel: outcomes[KERNELS.index(kernel)].unmet_requirements[0].rule
        for kernel in ("rejects_run", "lacks_shared")
    }
    assert rules == {"rejects_run": "run", "lacks_shared": "device-shared-memory"}


def test_only_ok_is_measured_and_numbers_of_wrong_results_are_kept(outcomes):
    for outcome in outcomes:
        assert (outcome.measurement is not None) is (outcome.status is Status.OK)
        if outcome.status is Status.OK:
            assert outcome.verification.passed and outcome.verification.elements == 192
    verification = outcomes[KERNELS.index("wrong")].verification
    assert verification.wrong_elements == 3
    assert verification.max_error == pytest.approx(4)
    assert outcomes[-1].status is Status.OK


def test_durations_are_those_of_the_launcher(outcomes):
    # The kernel spins until 10 ms have passed; only a busy machine makes it longer.
    assert 10 <= outcomes[KERNELS.index("ok_10ms")].measurement.min_ms < 20
    slow = outcomes[KERNELS.index("slow")].measurement
    assert (slow.samples, slow.stopped_by) == (3, "max-time")
