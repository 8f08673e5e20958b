"""What ``ckprof results show`` says of a store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ckprof.model.outcome import Status
from ckprof.model.problem_case import ProblemCase
from ckprof.store.attempt import DEVICE_LOST, Mark
from ckprof.store.writer import StoreWriter
from ckprof.sweep.evidence import layer_evidence
from tests.measured import SESSION, Made, attempts, problems
from tests.store.test_baselines import measured


def checked_and_lost(path: Path) -> str:
    """Store a kernel whose launches were checked, and one beside which the device failed; return its name."""
    (first, second) = attempts(Made(problems=1, instances=2, rounds=1))
    check = replace(first.verification, launches=200, checked=190)
    lost = replace(
        second,
        status=Status.RUN_ERROR,
        reason="the device failed beside this kernel, in the first run: gone",
        measurement=None,
        verification=None,
        marks=(Mark.NOT_LAUNCHED,),
        conditions=replace(second.conditions, extra={DEVICE_LOST: True}),
    )
    with StoreWriter(path) as writer:
        # each ended its session
        again = replace(lost, session=replace(lost.session, uid="f" * 32))
        for attempt in (replace(first, verification=check), lost, again):
            writer.append(attempt)
    return second.kernel.name


def test_the_share_of_checked_launches_and_kernels_beside_lost_devices_are_shown(ckprof, tmp_path):
    lost = checked_and_lost(tmp_path / "results.db")
    shown = ckprof("results", "show", "results.db").out
    assert "2 measurements (1 ok, 1 not measured), 3 attempts" in shown
    assert "the results of 190 of 200 launches (95 %) were checked" in shown
    assert f"not measured: {lost} on " in shown and "the device failed 2 times beside it" in shown
    compared = ckprof("compare", "results.db", "results.db").out
    assert "results that were checked: 190 of 200 launches (95 %) (old)" in compared


def test_problems_that_no_kernel_serves_are_shown(ckprof, tmp_path):
    made = Made(
        problems=3,
        instances=2,
        rounds=2,
        failing=lambda problem, _: [None, Status.UNSUPPORTED, None][problem],
    )
    with StoreWriter(tmp_path / "results.db") as writer:
        for attempt in attempts(made):
            writer.append(attempt)
        unserved = writer.reader.problems()[1]
    shown = ckprof("results", "show", "results.db").out.splitlines()
    (line,) = [line for line in shown if "none:" in line]
    assert unserved.describe() in line and line.rstrip().endswith("none: it is unsupported")
    assert len([line for line in shown if " filter " in line]) == 3


def test_results_show_sums_networks_up(ckprof, tmp_path):
    cases = [
        ProblemCase(problem=problem, count=number + 1, name=f"c{number}", network="net batch 1")
        for number, problem in enumerate(problems(2))
    ]
    made = Made(problems=2, instances=3, session=replace(SESSION, environment=layer_evidence(cases)))
    with StoreWriter(tmp_path / "results.db") as writer:
        for attempt in attempts(made):
            writer.append(attempt)
        key, kernel = attempt.key, attempt.kernel
        writer.add_baseline(
            measured(
                session=made.session,
                operation=key.operation,
                problem=key.problem,
                device=key.device,
                dtype=kernel.dtype.value,
                layout=kernel.layout,
            )
        )
    shown = ckprof("results", "show", "results.db").out
    rows = {line.split("  ")[1].strip(): line for line in shown.splitlines() if "net batch 1" in line}
    assert {"best kernel per layer", "a single kernel", "baseline vendor"} <= {*rows}
    # the second problem occurs twice, the first has no baseline
    assert " 5 " in rows["baseline vendor"] and "2 of 3" in rows["baseline vendor"]
    assert "P1" in rows["baseline vendor"]
