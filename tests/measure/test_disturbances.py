"""On machines that break what statistics assume, the true best is hardly ever missed and never dropped."""

from functools import reduce

import pytest

from ckprof.measure.rounds import Ending

from .disturbances import (
    CASES,
    FIELDS,
    ONE_PROCESS,
    STICKY,
    Disturbance,
    first_places,
    play,
    ranked_set_of,
    spread,
    tally,
)

#: of each machine; 95 of 100 are asked for, which so few do not show: docs/sweep.md has 200 of each
TRIALS = range(25)


def soon(kinds):
    """Return 25 kernels for the fast suite; 40 take three times as long."""
    return [kind if "run" in kind else pytest.param(kind, marks=pytest.mark.thorough) for kind in kinds]


@pytest.mark.parametrize("case", {**CASES, **STICKY})
@pytest.mark.parametrize("kind", soon(FIELDS))
def test_the_true_best_shares_the_first_place(kind, case):
    options, times_of = FIELDS[kind]
    found = tally(times_of, {**CASES, **STICKY}[case], options, TRIALS)
    assert found.first >= 0.9 * len(TRIALS)
    assert found.dropped == 0
    assert max(found.wrong, found.wrongly_decided) <= 0.05 * len(TRIALS)


@pytest.mark.parametrize(("noise", "lead"), [(0.003, 0.04), (0.01, 0.07)])
def test_a_leader_is_named_alone_on_a_quiet_machine(noise, lead):
    options, _ = FIELDS["run"]

    def times_of(seed):
        return {0: 1.0, 1: 1 + lead, **{2 + n: (1 + lead) * t for n, t in spread(20, seed, 5).items()}}

    found = tally(times_of, Disturbance(noise=noise), options, TRIALS)
    assert found.alone >= 0.9 * len(TRIALS) and found.wrong == 0


@pytest.mark.parametrize("case", STICKY)
@pytest.mark.parametrize("kind", soon(ONE_PROCESS))
def test_one_process_decides_nothing_that_it_cannot_see(kind, case):
    options, times_of = ONE_PROCESS[kind]
    found = tally(times_of, STICKY[case], options, range(60))
    assert found.first >= 0.95 * 60 and found.dropped == 0
    assert max(found.wrong, found.wrongly_decided) <= 0.05 * 60


@pytest.mark.parametrize("case", ["40 % of visits disturbed", "bursts, 40 % of the time", "AR(0.8) of 10 %"])
def test_four_identical_runs_share_a_first_place(case):
    options, times_of = FIELDS["run"]
    shared = 0
    for seed in range(15):
        runs = (play(times_of(seed), CASES[case], options, 100 * seed + number)[0] for number in range(4))
        shared += bool(reduce(set.intersection, (set(first_places(one)) for one in runs)))
    assert shared >= 0.93 * 15


def test_ties_widen_with_what_disturbs():
    options, times_of = FIELDS["run"]
    quiet, some, much = (
        tally(times_of, Disturbance(contention=share), options, TRIALS).ties for share in (0.0, 0.2, 0.4)
    )
    assert quiet < some < much < 10 * len(TRIALS)


@pytest.mark.parametrize("case", ["quiet, 1 %", "20 % of visits disturbed", "5 % per process"])
def test_rounds_end_when_reports_call_the_best_decided(case):
    options, times_of = FIELDS["sweep"]
    for seed in range(10):
        ranking, _ = play(times_of(seed), {**CASES, **STICKY}[case], options, seed)
        _, ranked = ranked_set_of(ranking)
        assert ranked.resolution() == ranking.resolution
        assert (ranking.ending is Ending.SETTLED) <= ranked.resolution().resolved
