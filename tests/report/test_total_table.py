"""Totals of networks at the end of runs and in ``results show``."""

from __future__ import annotations

from dataclasses import replace

from ckprof.model.problem_case import ProblemCase
from ckprof.report.document import Document
from ckprof.report.run_summary import terminal_document
from ckprof.report.run_table import run_document
from ckprof.report.table import Terminal
from ckprof.report.totals import add_totals, networks_of_run
from tests.report.test_baselines import baseline, with_baselines

from .conftest import PROBLEM


def of_network(results, **changes):
    case = ProblemCase(
        **{"problem": PROBLEM, "count": 3, "name": "conv1", "network": "net batch 4", **changes}
    )
    return replace(results, cases=(case,))


def test_a_run_of_a_network_ends_with_its_totals(results):
    run = of_network(with_baselines(results, baseline(3.0)))
    (network,) = networks_of_run(run)
    # k2 takes 2 ms, and is the fastest one that is right
    assert [(total.library, total.time_ms, total.ratio) for total in network.totals] == [
        ("best kernel per layer", 6.0, 1.0),
        ("a single kernel", 6.0, 1.0),
        ("baseline vendor", 9.0, 1.5),
    ]
    for text in (
        run_document(run).text(),
        run_document(run).markdown(),
        terminal_document(run).text(Terminal(width=80)),
    ):
        assert "Problem 0, conv1 of net batch 4: fwd" in text
        place = text.index("Network")
        assert "baseline vendor" in text[place:] and "net batch 4" in text[place:] and "+50" in text[place:]


def test_a_run_of_single_problems_has_none(results):
    assert networks_of_run(results) == ()
    assert networks_of_run(of_network(results, count=1, network="")) == ()
    assert "Network" not in run_document(results).text()


def test_totals_keep_their_figures_at_80_columns(results):
    run = of_network(with_baselines(results, baseline(3.0)), network="a-network-with-a-long-name batch 128")
    document = Document()
    add_totals(document, networks_of_run(run))
    text = document.text(Terminal(width=80))
    assert max(map(len, text.splitlines())) <= 80
    (row,) = [line for line in text.splitlines() if "vendor" in line]
    assert row.split()[-3:] == ["9", "+50.0", "%"]
