"""Kernels that want to be taken for faster than they are, or are right now and then only: each is found."""

import re

import pytest

from ckprof.measure import kernel_measurement
from ckprof.measure.options import RunOptions
from ckprof.model.outcome import Status
from ckprof_plugins.directions.fwd import Forward

from .fakes import ARCH, ScaleDirection, build_library, find_compiler, make_instance, make_problem
from .run_instances import run_instances

pytestmark = [pytest.mark.compiler, pytest.mark.thorough]

HONEST = ("honest", "honest_atomics", "honest_pool", "honest_packing")
WRONG = "elements differ|after the launch was over"
TIME = "until all was done"
#: kernel -> pattern of the reason
CHEATS = {
    "flaky_1_in_3": WRONG,
    "flaky_1_in_50": WRONG,
    "flaky_among_atomics": WRONG,
    "first_three_calls": WRONG,
    "first_three_calls_then_copy": WRONG,
    "cached_by_pointer": WRONG,
    "cached_by_3_samples": WRONG,
    "cached_by_16_samples": WRONG,
    "cached_by_weights": WRONG,
    "packs_weights_once": WRONG,
    "computes_when_poisoned": WRONG,
    "keeps_what_is_there": WRONG,
    "only_first_half_later": WRONG,
    "searches_memory": WRONG,
    "reads_recycled_memory": WRONG,
    "changes_its_input": WRONG + "|changed its operand",
    "leaves_a_thread": WRONG,
    "finishes_later": WRONG,
    "computes_ahead": WRONG + "|between launches",
    "reports_half": TIME,
    "own_clock": TIME,
    "starts_clock_late": TIME,
}


class Scaling(ScaleDirection):
    """Scaling that says how it is computed: forward, with a single channel and weight."""

    contraction = staticmethod(Forward.contraction)

    def reduction_length(self, problem):
        """Leave room for other roundings."""
        return 64


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Each of them on one problem, in one run with the usual options."""
    if find_compiler() is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("cheats")
    library = build_library(folder / "libcheats.so", source="cheating_library.cpp")
    names = [*HONEST, *CHEATS]
    with pytest.MonkeyPatch.context() as patch:
        # how many launches are looked at shall not depend on how busy the machine is
        patch.setattr(kernel_measurement, "AUDIT_LEAST_S", 5.0)
        return {outcome.key: outcome for outcome in run_all(library, names, folder)}


def run_all(library, names, folder):
    """Return the outcomes of kernels on one problem, run with the usual options."""
    return run_instances(
        library,
        ARCH,
        Scaling(),
        [make_instance(name) for name in names],
        [make_problem(size=40, batch=16)],
        RunOptions(),
        lock_dir=folder,
    )


@pytest.mark.parametrize("kernel", CHEATS)
def test_a_cheat_is_found(outcomes, kernel):
    outcome = outcomes[kernel]
    assert outcome.status in (Status.WRONG_RESULT, Status.RUN_ERROR), outcome
    assert re.search(CHEATS[kernel], outcome.reason), outcome.reason


@pytest.mark.parametrize("kernel", HONEST)
def test_an_honest_kernel_is_not_refused(outcomes, kernel):
    outcome = outcomes[kernel]
    assert outcome.status is Status.OK, outcome.reason
    assert outcome.verification.launches >= 4
    assert outcome.verification.checked >= 4
