"""What ``ckprof results show`` says of a store."""

from __future__ import annotations

from ckprof.model.outcome import Status
from ckprof.store.writer import StoreWriter
from tests.measured import Made, attempts


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
