"""Looking up what plugins provide."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckprof import Profiler, hookimpl
from ckprof.errors import PluginError, UsageError
from ckprof.model.catalog import CatalogRecord
from ckprof.model.instance import Instance
from ckprof.model.problem_types import problem_from
from ckprof.model.types import DataType
from ckprof.plugin.additions import Additions
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.protocols import CatalogVariant, InspectableTarget, RuleSet
from ckprof.plugin.registry import Registry
from ckprof.plugin.timing import ProductOperation
from ckprof_plugins.directions._convolution.layout import LAYOUTS
from ckprof_plugins.directions.fwd import Forward
from tests.plugin.stubs import StubConverter, StubOperation, StubPipeline, StubProblem, StubRuleSet


class WideRecord(CatalogRecord, frozen=True, forbid_unknown_fields=True):
    """A record that says its family itself."""

    wide: bool


class Making(StubPipeline):
    """A pipeline with instances."""

    def make_instance(self, catalog: Any, direction: str, record: Any) -> Instance:
        return Instance(id=record.id, direction=direction, ndim=2, layout=LAYOUTS[0], dtype=DataType.FP16)


class Claiming(Making):
    """A pipeline that takes even records of others' variants."""

    def claims(self, variant: str, record: Any) -> bool:
        assert variant in ("plain", "by field")
        return record.wide


class Providing:
    """A plugin that provides pipelines with the given ids."""

    def __init__(self, *ids: str) -> None:
        self.entries = [Making(id_) for id_ in ids]

    @hookimpl
    def ckprof_register_pipelines(self) -> list[StubPipeline]:
        return self.entries


def registry_of(**plugins: object) -> Registry:
    manager = PluginManager()
    for name, plugin in plugins.items():
        manager.register(plugin, name)
    return Registry(manager).check_all()


def test_a_kind_is_asked_for_when_it_is_first_used_and_once() -> None:
    asked = []

    class Asked:
        @hookimpl
        def ckprof_register_rule_sets(self) -> list[StubRuleSet]:
            asked.append("rule sets")
            return [StubRuleSet("mine")]

        @hookimpl
        def ckprof_register_targets(self) -> list[object]:
            raise AssertionError("no target is needed")

    manager = PluginManager()
    manager.register(Asked(), "asked")
    registry = Registry(manager)
    assert not asked
    assert registry.rule_sets is registry.rule_sets
    assert asked == ["rule sets"]


def test_entries_are_sorted_whatever_the_load_order() -> None:
    assert registry_of(one=Providing("wave", "tile"), two=Providing("apex")).pipelines.ids == (
        "apex",
        "tile",
        "wave",
    )


def test_a_duplicate_id_names_both_providers() -> None:
    with pytest.raises(PluginError, match="'tile': one and two"):
        registry_of(one=Providing("tile"), two=Providing("tile"))


def test_an_unknown_id_suggests_the_nearest() -> None:
    registry = registry_of(one=Providing("depthwise", "tile"))
    with pytest.raises(
        UsageError, match=r"'deptwise'; did you mean 'depthwise'\? \(known: depthwise, tile\)"
    ):
        registry.pipelines.find("deptwise")


def test_one_hook_registers_objects_of_all_kinds() -> None:
    class Plugin:
        @hookimpl
        def ckprof_register(self, registry: Additions) -> None:
            registry.add(StubRuleSet("mine"))
            registry.add(StubPipeline("tile"))
            registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.default:DefaultRuleSet")

    registry = registry_of(one=Plugin())
    assert registry.rule_sets.ids == ("default", "mine")
    assert registry.pipelines.ids == ("tile",)


def test_what_has_no_protocol_as_a_whole_is_reported_with_the_nearest_kind() -> None:
    class Plugin:
        def __init__(self, item: object) -> None:
            self.item = item

        @hookimpl
        def ckprof_register(self, registry: Additions) -> None:
            registry.add(self.item)

    with pytest.raises(PluginError, match=r"plugin one: pipeline 'tile': lacks .*render\(instance"):
        registry_of(one=Plugin(SimpleNamespace(id="tile", claims=None, make_instance=None)))
    with pytest.raises(PluginError, match="added an object of type int, which has no member of any kind"):
        registry_of(one=Plugin(3))


def test_a_rule_set_is_found_by_its_id() -> None:
    class RuleSets:
        @hookimpl
        def ckprof_register_rule_sets(self) -> list[StubRuleSet]:
            return [StubRuleSet("mine"), StubRuleSet("handful")]

    registry = registry_of(one=RuleSets())
    assert registry.rule_sets.ids == ("handful", "mine")
    with pytest.raises(UsageError, match="unknown rule set 'mime'; did you mean 'mine'"):
        registry.rule_sets.find("mime")


def test_the_provider_is_known() -> None:
    assert registry_of(one=Providing("tile")).pipelines.provider("tile") == "one"


def test_an_entry_without_an_id_is_rejected() -> None:
    with pytest.raises(PluginError, match=r"plugin one: ckprof_register_pipelines returned .* no id"):
        registry_of(one=Providing(""))


def test_a_hook_must_return_a_list() -> None:
    class Wrong:
        @hookimpl
        def ckprof_register_targets(self) -> int:
            return 3

    with pytest.raises(
        PluginError,
        match="plugin wrong: ckprof_register_targets returned an object of type int, expected a list",
    ):
        registry_of(wrong=Wrong())


def test_the_variant_of_a_record_names_its_pipeline() -> None:
    class Variants:
        @hookimpl
        def ckprof_register_catalog_variants(self) -> list[CatalogVariant]:
            common = {"direction": "fwd", "record_type": WideRecord, "layouts": LAYOUTS}
            by_field = CatalogVariant(name="by field", pipeline_of=lambda one: "ba"[one.wide], **common)
            return [CatalogVariant(name="plain", pipeline="a", **common), by_field]

    def pipeline_of(variant: str, wide: bool, *families: str) -> str:
        registry = registry_of(one=Providing("a"), two=Providing("b"), three=further, four=Variants())
        catalog = SimpleNamespace(variant=variant)
        return registry.instance_of(catalog, WideRecord(0, wide), families)[0].id

    further = Providing("c")
    further.entries = [Claiming("c")]
    assert pipeline_of("plain", wide=False) == "a"
    assert [pipeline_of("by field", wide) for wide in (False, True)] == ["b", "a"]
    # families take what they claim, where they are asked for and its own is not
    assert pipeline_of("plain", True, "c") == pipeline_of("plain", True, "b", "c") == "c"
    assert pipeline_of("plain", False, "c") == pipeline_of("plain", True, "c", "a") == "a"
    lonely = registry_of(one=Providing("b"), four=Variants())
    with pytest.raises(
        UsageError, match=r"variant 'plain' are of the kernel family a, .*\(loaded families: b\)"
    ):
        lonely.instance_of(SimpleNamespace(variant="plain"), WideRecord(0, True))


def test_families_of_all_plugins_reach_the_converters_that_use_them() -> None:
    converter, family = StubConverter(), SimpleNamespace(id="family")

    class Plugin:
        @hookimpl
        def ckprof_register_converters(self) -> list[StubConverter]:
            return [converter]

        @hookimpl
        def ckprof_register_conf_families(self) -> list[object]:
            return [family]

    registry_of(plugin=Plugin())
    assert converter.families == (family,)
    with pytest.raises(PluginError, match="two plugins provide the conf family 'family': one and two"):
        registry_of(one=Plugin(), two=Plugin())


def test_items_that_are_no_families_are_reported_with_their_plugin() -> None:
    class Strict(StubConverter):
        family_type = Forward

    class Plugin:
        @hookimpl
        def ckprof_register_converters(self) -> list[StubConverter]:
            return [Strict()]

    class Wrong:
        @hookimpl
        def ckprof_register_conf_families(self) -> list[object]:
            return [SimpleNamespace(id="family")]

    with pytest.raises(
        PluginError,
        match=r"plugin wrong: ckprof_register_conf_families .* type SimpleNamespace, expected Forward",
    ):
        registry_of(plugin=Plugin(), wrong=Wrong())


def test_directions_are_found_by_alias() -> None:
    class Plugin:
        @hookimpl
        def ckprof_register_directions(self) -> list[Forward]:
            return [Forward()]

    registry = registry_of(plugin=Plugin())
    assert registry.operation("forward") is registry.operation("fwd")
    with pytest.raises(UsageError, match="unknown direction 'forwards'"):
        registry.operation("forwards")


def test_directions_and_other_operations_are_operations_in_the_order_of_registration() -> None:
    class Computing:
        @hookimpl
        def ckprof_register_directions(self) -> list[Forward]:
            return [Forward()]

        @hookimpl
        def ckprof_register_operations(self) -> list[StubOperation]:
            return [StubOperation()]

    registry = registry_of(computing=Computing())
    assert [operation.id for operation in registry.operations.registered] == ["fwd", "stub"]
    assert registry.operations.provider("stub") == "computing"
    # problems of both are recognised by their fields
    assert problem_from({"length": 3}) == StubProblem(length=3)


def test_what_a_class_inherits_from_its_protocol_is_still_missing() -> None:
    class Inherited(RuleSet):
        id = "lazy"
        label = "derives from the protocol"

    class Plugin:
        @hookimpl
        def ckprof_register_rule_sets(self) -> list[RuleSet]:
            return [Inherited()]

    with pytest.raises(PluginError, match=r"rule set 'lazy': lacks enumerate\(request\)"):
        registry_of(one=Plugin())


def test_an_ability_is_there_as_a_whole_or_not_at_all() -> None:
    class Half:
        def __init__(self, original: object, *names: str) -> None:
            for name in names:
                setattr(self, name, getattr(original, name))

    manager = PluginManager()
    manager.load_all()
    target = next(t for t in Registry(manager).targets if isinstance(t, InspectableTarget))
    required = ("id", "label", "embedded", "default_arch", "findings", "recipe")

    class Plugin:
        def __init__(self, *names: str) -> None:
            self.names = names

        @hookimpl
        def ckprof_register_targets(self) -> list[Half]:
            return [Half(target, *required, *self.names)]

    with pytest.raises(PluginError, match=r"target '\w+': lacks estimate\(kernel, work\)"):
        registry_of(one=Plugin("inspect"))
    for names in ((), ("inspect", "estimate")):
        (entry,) = registry_of(one=Plugin(*names)).targets
        assert isinstance(entry, InspectableTarget) == bool(names)


def test_an_exception_in_the_code_of_another_plugin_is_that_plugin_s(tmp_path: Path) -> None:
    path = tmp_path / "guilty.py"
    path.write_text("def step():\n    raise KeyError('oops')\n")
    manager = PluginManager()
    manager.load_all(requested=[str(path)])
    guilty = sys.modules["ckprof_plugin_guilty"]

    class Innocent:
        @hookimpl
        def ckprof_register_pipelines(self) -> list[StubPipeline]:
            pipeline = StubPipeline("innocent")
            pipeline.kernel_name = lambda instance: guilty.step()
            return [pipeline]

    manager.register(Innocent(), "innocent")
    with pytest.raises(
        PluginError,
        match=rf"^plugin {path}: raised KeyError: 'oops' in pipeline 'innocent': kernel_name of plugin inno",
    ):
        Registry(manager).pipelines.find("innocent").kernel_name(None)
    with pytest.raises(PluginError, match=rf"^plugin {path}: raised KeyError: 'oops' during 'ckprof run'"):
        with manager.blaming("'ckprof run'"):
            guilty.step()
    with pytest.raises(KeyError), PluginManager().blaming("'ckprof run'"):
        {}["ours"]


def test_what_a_guard_passes_on_is_found_statically() -> None:
    """Since Python 3.12, ``isinstance()`` finds the members of a protocol that way alone."""
    registry = Profiler().registry
    direction = next(iter(registry.directions))
    assert inspect.getattr_static(type(direction), "operation").fget(direction).name_constant
    assert isinstance(direction, ProductOperation)


def test_a_problem_type_that_is_no_dataclass_is_reported() -> None:
    class Plugin:
        @hookimpl
        def ckprof_register_operations(self) -> list[StubOperation]:
            operation = StubOperation()
            operation.problem_types = (int,)
            return [operation]

    with pytest.raises(PluginError, match=r"problem type builtins\.int: expected a dataclass"):
        registry_of(one=Plugin())
