"""What a run found out, as programs iterate, filter and export it."""

# ruff: noqa: F811 - fixtures are parameters

from dataclasses import replace

import pytest

from ckprof import Problem
from ckprof.errors import UsageError
from ckprof.model.outcome import Status
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.protocols import ResultsView
from ckprof.plugin.registry import Registry
from ckprof.results import Results
from ckprof.testing.plugins import Registering
from tests.report.conftest import PROBLEM, results  # noqa: F401 - a fixture


def test_iteration_is_best_first(results):
    found = Results(results)
    rows = list(found)
    assert len(rows) == len(found) == len(results.outcomes)
    # a wrong and an unverified time have no rank
    assert [(row.name, row.rank, row.time_ms) for row in rows[:2]] == [
        ("kernel_2", 1, 2.0),
        ("kernel_1", 2, 4.0),
    ]
    assert {row.rank for row in rows[2:]} == {None}
    # 2 · N K C · Y X · Ho Wo operations
    flop = 2 * (4 * 64 * 64) * (3 * 3) * (28 * 28)
    assert rows[0].gflops == pytest.approx(flop / 2e-3 / 1e9)
    assert rows[0].instance.instance_string == "Kernel<2>" and rows[0].problem == PROBLEM
    (wrong,) = found.filter(status="wrong_result")
    assert (wrong.status, wrong.reason, wrong.time_ms) == (Status.WRONG_RESULT, "3 of 100 differ", 0.5)
    assert wrong.outcome.verification.wrong_elements == 3
    assert repr(found) == f"<Results: {len(results.outcomes)} outcomes of 1 problem>"
    assert not found.succeeded and found.filter(status=Status.OK).succeeded


def test_best_and_filter(results):
    found = Results(results)
    assert found.best().name == found.best(PROBLEM).name == "kernel_2"
    assert found.best(Problem.parse("2 1 4 64 64 3 3 28 28 1 1 1 1 1 1 1 1")).name == "kernel_2"
    slower = found.filter(lambda one: one.name != "kernel_2", status="ok")
    assert [one.name for one in slower] == ["kernel_1", "kernel_3"] and slower.best().name == "kernel_1"
    assert slower.problems == (PROBLEM,)
    assert found.filter(status="run_error").best() is None
    assert found.best(-len(found.problems)).name == "kernel_2"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda found: found.best(1), "problem 1: the results have 1, from 0$"),
        (lambda found: found.best(-2), "problem -2: the results have 1, from 0$"),
        (lambda found: found.best(replace(PROBLEM, batch=5)), "batch=5.*: the results have 1, from 0$"),
        (lambda found: found.best("P0"), r"Results.best: problem is 'P0', expected int \| Problem$"),
        (lambda found: found.filter("ok"), r"Results.filter: choose is 'ok', expected Callable\["),
        (lambda found: found.filter(status="okk"), "expected ok, unsupported, .* or none, got 'okk'$"),
        (lambda found: found.render("jsn"), "unknown format 'jsn'; did you mean 'json'"),
    ],
)
def test_wrong_arguments_are_named(results, call, message):
    with pytest.raises(UsageError, match=message):
        call(Results(results))


def test_exports_have_the_columns_of_the_csv_report(results):
    manager = PluginManager()
    manager.load_all()
    found = Results(results)
    rows = found.to_dicts()
    header = found.render("csv").splitlines()[0]
    assert found.render(Registry(manager).formats.find("csv")) == found.render("csv")
    assert ",".join(rows[0]) == header and len(rows) == len(found)
    assert [row["name"] for row in rows] == [row.name for row in found]
    pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert list(frame.columns) == list(rows[0]) and len(frame) == len(rows)


def test_the_text_is_the_ranked_table(results):
    lines = [line for line in str(Results(results)).splitlines() if "kernel_" in line]
    assert ["kernel_2" in lines[0], "kernel_1" in lines[1]] == [True, True]


def viewing():
    """Return a plugin that counts outcomes."""
    return Registering(
        ResultsView(id="count", label="a number", make=lambda results: len(results.outcomes)),
        ResultsView(id="html", label="a text", make=lambda results: "<p>results</p>"),
    )


def registry_of(*plugins):
    manager = PluginManager()
    for number, plugin in enumerate(plugins):
        manager.register(plugin, f"mine{number}")
    return Registry(manager)


def test_results_are_viewed_as_plugins_say_or_as_text(results):
    shown = Results(results, registry_of(viewing()))
    assert shown.view("count") == len(results.outcomes)
    assert shown.filter(status="ok").view("count") == 3
    assert shown._repr_html_() == "<p>results</p>"
    with pytest.raises(UsageError, match="unknown view of results 'plot'"):
        _ = shown.plot
    assert Results(results, registry_of())._repr_html_() is None
