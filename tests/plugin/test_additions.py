"""What plugins add: of which kind it is, who brought it, and what is of no kind."""

from types import SimpleNamespace

import pytest

from ckprof import hookimpl
from ckprof.errors import PluginError, UsageError
from ckprof.plugin.additions import Kind
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.protocols import Observer, RuleSet, Target
from ckprof.plugin.registry import Registry
from ckprof.testing.plugins import Registering
from ckprof_plugins.directions.fwd import Forward
from tests.plugin.stubs import StubObserver, StubPipeline, StubRuleSet, Tool, providing, registry_of

LAZY = [StubRuleSet("mine")]


def test_objects_are_imported_when_their_kind_is_first_used_and_once():
    asked = []

    class Asked:
        @hookimpl
        def ckprof_register(self, registry):
            asked.append("everything")
            registry.add_lazy(RuleSet, f"{__name__}:LAZY")
            registry.add_lazy(Target, "no_such_module:Target")

    manager = PluginManager()
    manager.register(Asked(), "asked")
    registry = Registry(manager)
    assert not asked
    assert registry.rule_sets is registry.rule_sets
    assert registry.rule_sets.ids == ("mine",) and asked == ["everything"]
    message = "plugin asked: target at no_such_module:Target raised ModuleNotFoundError"
    with pytest.raises(PluginError, match=message):
        _ = registry.targets


def test_a_place_is_of_a_kind_that_there_is():
    class Wrong:
        @hookimpl
        def ckprof_register(self, registry):
            registry.add_lazy(Forward, f"{__name__}:LAZY")

    with pytest.raises(
        PluginError, match="plugin one: ckprof_register: add_lazy: Forward is not a protocol of a"
    ):
        registry_of(one=Wrong())


def test_ids_are_sorted_unique_and_suggested():
    assert registry_of(one=providing("wave", "tile"), two=providing("apex")).pipelines.ids == (
        "apex",
        "tile",
        "wave",
    )
    with pytest.raises(PluginError, match="'tile': one and two"):
        registry_of(one=providing("tile"), two=providing("tile"))
    registry = registry_of(one=providing("depthwise", "tile"))
    with pytest.raises(
        UsageError, match=r"'deptwise'; did you mean 'depthwise'\? \(known: depthwise, tile\)"
    ):
        registry.pipelines.find("deptwise")
    registry = registry_of(one=Registering(StubRuleSet("mine"), StubPipeline("tile")))
    assert registry.rule_sets.ids == ("mine",)
    assert registry.pipelines.ids == ("tile",)


def test_what_has_no_protocol_as_a_whole_is_reported_with_the_nearest_kind():
    half = SimpleNamespace(id="tile", claims=None, make_instance=None)
    with pytest.raises(PluginError, match=r"plugin one: pipeline 'tile': lacks .*render\(instance"):
        registry_of(one=Registering(half))
    # other kinds can be used
    manager = PluginManager()
    manager.register(Registering(half, StubRuleSet("mine")), "one")
    assert Registry(manager).rule_sets.ids == ("mine",)
    with pytest.raises(PluginError, match="added an object of type int, which has no member of any kind"):
        registry_of(one=Registering(3))


def test_what_has_two_protocols_says_which_one_is_meant():
    def both(*bases):
        return type(
            "Both", (StubRuleSet, StubObserver, *bases), {"id": "both", "__init__": object.__init__}
        )()

    assert registry_of(one=Registering(both())).rule_sets.ids == ("both",)
    assert registry_of(one=Registering(both(Observer))).observers.ids == ("both",)


def test_a_plugin_brings_a_kind_of_objects():
    kind = Kind("tool", Tool, "")
    registry = registry_of(one=Registering(Tool("hammer")), two=Registering(kind))
    assert registry.entries(kind).ids == ("hammer",)
    assert registry.entries(kind).provider("hammer") == "one"
    with pytest.raises(
        PluginError, match=r"type Tool, 'hammer', which is of no kind; nearest: observer .lacks observe"
    ):
        registry_of(one=Registering(Tool("hammer")))
