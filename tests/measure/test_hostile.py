"""Kernels that want to be called right although they are not, or that harm others: one outcome each."""

import os
import re
import signal
from itertools import pairwise
from pathlib import Path

import pytest

from ckprof.measure.options import CacheMode, RunOptions
from ckprof.model.outcome import Status
from ckprof.model.types import DataType

from .run_instances import run_kernels

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

RIGHT = {Status.OK}
#: where interrupts are ignored, as in a background job of a shell, the kernel returns and has written nothing
INTERRUPTED = (
    ({Status.WRONG_RESULT}, "192 never written")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    else ({Status.RUN_ERROR}, "in the first run: the worker")
)
#: kernel -> statuses that are true of it, pattern of the reason of any that is not ``ok``
EXPECTED = {
    # it talks to the parent in the worker's name
    "forges_line": ({Status.RUN_ERROR}, "which is not a message"),
    "forges_guessed_nonce": ({Status.RUN_ERROR}, "does not answer the request"),
    "forges_nonce": ({Status.RUN_ERROR}, "nobody has asked|does not answer the request"),
    "forges_nonce_and_is_right": ({Status.RUN_ERROR}, "nobody has asked|does not answer the request"),
    "scribbles": ({Status.RUN_ERROR}, "which is not a message"),
    # on a busy machine its time is over before the line is too long
    "endless_line": ({Status.RUN_ERROR, Status.RUN_TIMEOUT}, "endless line|not done within"),
    "twins": ({Status.RUN_ERROR}, "nobody has asked|does not answer the request"),
    "reads_requests": ({Status.RUN_TIMEOUT}, "killed in the first run"),
    "redirects": ({Status.RUN_ERROR}, "closed its connection"),
    "closes_all": ({Status.RUN_ERROR}, "in the first run: the worker"),
    # it is right, whatever else it does
    "prints": (RIGHT, ""),
    "prints_much": (RIGHT, ""),
    "closes_standard": (RIGHT, ""),
    "truncates": (RIGHT, ""),
    "removes_files": (RIGHT, ""),
    "allows_no_files": (RIGHT, ""),
    "leaves_daemon": (RIGHT, ""),
    "leaves_writer": ({Status.OK, Status.RUN_ERROR}, "no message|not a message|nobody has asked"),
    "sets_alarm": ({Status.OK, Status.RUN_ERROR}, "SIGALRM"),
    # it ends, or does not
    "exits": ({Status.RUN_ERROR}, "exited with status 0"),
    "exits_later": ({Status.RUN_ERROR}, "while it was timed: the worker exited with status 0"),
    "exits_in_support": ({Status.RUN_ERROR}, "in the support test: the worker exited with status 0"),
    "interrupts": INTERRUPTED,
    "kills_group": ({Status.RUN_ERROR}, "SIGKILL"),
    "throws": ({Status.RUN_ERROR}, "SIGABRT"),
    "overflows_stack": ({Status.RUN_ERROR}, "SIGSEGV"),
    "unmaps_shared": ({Status.RUN_ERROR}, "SIGSEGV"),
    "stops": ({Status.RUN_TIMEOUT}, "killed in the first run"),
    "ignores_signals": ({Status.RUN_TIMEOUT}, "killed in the first run"),
    # its results or durations are not what they seem
    "writes_late": ({Status.WRONG_RESULT}, "elements differ|after the launch was over"),
    "only_first_run": ({Status.WRONG_RESULT}, r"elements differ.*\(in a timed run\)"),
    "wrong_later": ({Status.WRONG_RESULT}, r"1 of 192 elements differ .*\(in a timed run\)"),
    "writes_5000_after": ({Status.WRONG_RESULT}, "outside the output tensor, after"),
    "writes_200k_before": ({Status.WRONG_RESULT}, "outside the output tensor, before"),
    "claims_splits": ({Status.WRONG_RESULT}, "elements differ"),
    "claims_long": ({Status.RUN_ERROR}, "with all else"),
    "claims_short": ({Status.RUN_ERROR}, "per run, which took|the device's peak allows"),
    "claims_nothing_taken": ({Status.RUN_ERROR}, "the device's peak allows"),
    "claims_negative": ({Status.RUN_ERROR}, "a duration of -1.0 ms"),
    "claims_nan": ({Status.RUN_ERROR}, "a duration of nan ms"),
    "claims_infinite": ({Status.RUN_ERROR}, "a duration of inf ms"),
}
#: those that end their worker in any case, so that nothing is left for the next kernel to stumble over
ENDING = {
    name for name, (_, reason) in EXPECTED.items() if re.search("exited|SIG[BKS]|closed|killed in", reason)
}
#: after every other one, a kernel that does nothing wrong
KERNELS = [name for hostile in EXPECTED for name in (hostile, *(() if hostile in ENDING else ("ok",)))]


@pytest.fixture(scope="module")
def outcomes(library, tmp_path_factory):
    """Each of them on one problem, in one run."""
    options = RunOptions(
        rounds=1,
        timeout_s=1.5,
        max_time_s=0.02,
        cache=CacheMode.WARM,
        splits=(-1,),
        peak_flops=((DataType.FP32, 1e12),),
    )
    return run_kernels(library, KERNELS, options, tmp_path_factory.mktemp("locks"))


@pytest.mark.parametrize("kernel", EXPECTED)
def test_what_becomes_of_it(outcomes, kernel):
    outcome = outcomes[KERNELS.index(kernel)]
    statuses, reason = EXPECTED[kernel]
    assert outcome.status in statuses, outcome.reason
    assert outcome.status is Status.OK or re.search(reason, outcome.reason), outcome.reason


def test_one_outcome_each_and_others_are_not_blamed(outcomes):
    assert [outcome.key for outcome in outcomes] == KERNELS
    innocent = [(before.key, after) for before, after in pairwise(outcomes) if after.key == "ok"]
    assert len(innocent) == len(EXPECTED) - len(ENDING) > 20
    for hostile, outcome in innocent:
        assert outcome.status is Status.OK, (hostile, outcome.reason)


def test_nothing_lives_on(outcomes):
    assert outcomes
    left = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # what other tests, or other users, run at the same time is not ours
                ours = f"CKPROF_WORKER={os.getpid()}-".encode() in (entry / "environ").read_bytes()
                if ours:
                    left.append((entry / "cmdline").read_bytes())
            except OSError:
                continue
    # workers of other tests may run at the same time, daemons of kernels sleep as the worker that they were
    assert not left
