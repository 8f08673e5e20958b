"""What plugins make of the results of runs, and of inspections."""

from __future__ import annotations

import pytest

from ckprof.errors import UsageError
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.protocols import ResultsView
from ckprof.plugin.registry import Registry
from ckprof.results import Results
from ckprof.testing.plugins import Registering

INSPECT = ("inspect", "fwd", "--conf", "forward/tests/nhwgc_fp16.conf", "--instance", "0")
PLUGIN = """
from ckprof import hookimpl
from ckprof.errors import UsageError
from ckprof.plugin.protocols import InspectionView


@hookimpl
def ckprof_add_arguments(command, parser):
    if command == "inspect":
        parser.add_argument("--mine")


def prepare(arguments, session, selection, problems):
    if arguments.mine == "usage":
        raise UsageError(f"{len(selection.candidates)} instances, {len(problems)} problems")
    if arguments.mine == "hostile":
        raise ValueError("boom")
    return 3


@hookimpl
def ckprof_register(registry):
    registry.add(InspectionView(id="mine", label="mine", options=("mine",), prepare=prepare))
"""


def viewing() -> Registering:
    """Return a plugin that counts outcomes."""
    return Registering(
        ResultsView(id="count", label="a number", make=lambda results: len(results.outcomes)),
        ResultsView(id="html", label="a text", make=lambda results: "<p>results</p>"),
    )


def registry_of(*plugins: object) -> Registry:
    manager = PluginManager()
    for number, plugin in enumerate(plugins):
        manager.register(plugin, f"mine{number}")
    return Registry(manager)


def test_results_are_viewed_as_plugins_say(results) -> None:
    shown = Results(results, registry_of(viewing()))
    assert shown.view("count") == len(results.outcomes)
    assert shown.filter(status="ok").view("count") == 3
    assert shown._repr_html_() == "<p>results</p>"
    with pytest.raises(UsageError, match="unknown view of results 'plot'"):
        _ = shown.plot


def test_without_html_notebooks_show_the_text(results) -> None:
    assert Results(results, registry_of())._repr_html_() is None


@pytest.mark.parametrize(
    ("mine", "code", "said"),
    [
        ("usage", 2, "1 instances, 0 problems"),
        ("hostile", 4, "plugin mine.py: view of inspections 'mine': prepare raised ValueError: boom"),
        ("number", 4, "prepare returned an object of type int, expected"),
    ],
)
def test_inspections_ask_views_before_kernels_are_built(ckprof, tmp_path, mine, code, said) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    ckprof(*INSPECT, "--mine", mine, "--plugin", "mine.py").fails_with(code, said)


def test_options_of_views_go_with_kernels_that_are_built(ckprof, tmp_path) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "build").mkdir()
    ckprof("inspect", "build", "--mine", "x", "--plugin", "mine.py").fails_with(
        2, "--mine goes with a direction whose instances are built, not with build"
    )
