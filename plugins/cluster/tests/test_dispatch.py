"""Kernels that hang, on workers that are processes: each costs its time-out once, and nobody else waits."""

import os

import pytest

from ckprof.events import Level
from ckprof.measure.rounds import RoundOptions
from ckprof.model.outcome import Status
from ckprof.store.attempt import Mark
from ckprof.store.store import Store
from ckprof_plugins.cluster.engines import EngineRequest
from ckprof_plugins.cluster.folder import LeasePolicy
from ckprof_plugins.cluster.local import LocalEngine
from ckprof_plugins.cluster.units import ClusterWatch
from plugins.cluster.tests.simulated import HANDLER, HANG_VARIABLE, make_setup
from tests.sweep.bench import noting

#: what attempts that hang take
TIMEOUT_S = 3.0
#: seconds after which a worker names them
SUSPECT_S = 0.4
ROUNDS = RoundOptions(min_rounds=2, max_rounds=2, passes=1)


def sweep(
    path,
    *,
    problems,
    kernels,
    status=Status.RUN_TIMEOUT,
    hang_s=TIMEOUT_S,
    hanging=("kernel_3",),
    doubt_s=60.0,
    **changes,
):
    """Return the attempts of a sweep in which kernels hang, and what was said of them."""
    said = []
    planned = {"problems": problems, "kernels": kernels, "rounds": ROUNDS, "suspect_s": SUSPECT_S}
    setup = make_setup(path, **planned)
    session = LocalEngine().open(EngineRequest(handler=HANDLER, devices=(0, 1, 2)))
    watch = ClusterWatch(poll_s=0.02, emit=noting(Level.INFO, said))
    try:
        with pytest.MonkeyPatch.context() as patched:
            patched.setitem(os.environ, HANG_VARIABLE, f"{status.value} {hang_s} {' '.join(hanging)}")
            setup.start_workers(session, 3)
            summary = setup.coordinate(session, watch, leases=LeasePolicy(doubt_s=doubt_s), **changes)
    finally:
        session.close(now=True)
        setup.writer.close()
    assert (summary.rankings_done, summary.lost, dict(summary.given_up)) == (problems, 0, {})
    with Store(path) as store:
        attempts = list(store)
    reopened = make_setup(path, **planned)
    assert reopened.units.open() == [], "what hangs is recorded, and not tried again"
    reopened.writer.close()
    return attempts, [text for text in said if "hang" in text]


def test_what_waits_behind_a_kernel_that_hangs_is_measured_by_others_meanwhile(tmp_path):
    # one among the first kernels, which find an anchor, and one in a later part
    hanging = "kernel_14", "kernel_100"
    attempts, said = sweep(tmp_path / "r.db", problems=1, kernels=160, hanging=hanging, parts=[3])
    hung = [one for one in attempts if one.status is Status.RUN_TIMEOUT]
    assert sorted(one.kernel.name for one in hung) == sorted(hanging)
    assert sorted(said) == [
        f"{name} seems to hang on problem 0: others get what waits behind it" for name in sorted(hanging)
    ]
    for one in hung:
        began = one.conditions.started
        ended = began + TIMEOUT_S
        rest = [
            other
            for other in attempts
            if other.session.uid != one.session.uid and began < other.conditions.started < ended
        ]
        assert len({other.kernel.name for other in rest}) > 10
        # its device did nothing else of that part afterwards, and what it had done does not count
        of_part = [
            other
            for other in attempts
            if (other.session.uid, other.conditions.round) == (one.session.uid, one.conditions.round)
        ]
        assert max(other.sequence for other in of_part) == one.sequence
        assert all({Mark.PART, Mark.DISTURBED} <= {*other.marks} for other in of_part)


@pytest.mark.thorough
def test_a_kernel_that_only_was_slow_competes_as_all_others(tmp_path):
    attempts, said = sweep(
        tmp_path / "r.db", problems=1, kernels=160, status=Status.OK, hang_s=1.5, parts=[3]
    )
    assert len(said) == 1
    rounds = {one.conditions.round for one in attempts if one.kernel.name == "kernel_3"}
    assert len(rounds) >= 2 and {one.status for one in attempts} == {Status.OK}


@pytest.mark.thorough
def test_idle_devices_do_not_try_what_hangs_on_another(tmp_path):
    attempts, said = sweep(tmp_path / "r.db", problems=2, kernels=4, parts=[1, 1], doubt_s=1.5)
    assert said == []
    statuses = [one.status for one in attempts if one.kernel.name == "kernel_3"]
    assert statuses == [Status.RUN_TIMEOUT] * 2
    # nor did another device begin with the rest: one has each problem
    sessions = {(one.key.problem, one.session.uid) for one in attempts}
    assert len(sessions) == 2
