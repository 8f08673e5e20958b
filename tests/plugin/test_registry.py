"""Looking up what plugins provide."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ckprof import Profiler, hookimpl
from ckprof.errors import InputError, PluginError, UsageError
from ckprof.model.catalog import CatalogRecord
from ckprof.model.instance import Instance
from ckprof.model.problem_types import problem_from
from ckprof.model.types import DataType
from ckprof.plugin.additions import Additions, Kind
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import CatalogVariant, Observer, Operation, RuleSet, Target
from ckprof.plugin.registry import Registry
from ckprof.testing.plugins import Registering
from ckprof_plugins.directions._convolution.layout import LAYOUTS
from ckprof_plugins.directions.fwd import Forward
from tests.plugin.stubs import (
    StubConverter,
    StubObserver,
    StubOperation,
    StubPipeline,
    StubProblem,
    StubRuleSet,
)


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


def providing(*ids: str) -> Registering:
    """Return a plugin that provides pipelines with these ids."""
    return Registering(*map(Making, ids))


def registry_of(**plugins: object) -> Registry:
    manager = PluginManager()
    for name, plugin in plugins.items():
        manager.register(plugin, name)
    return Registry(manager).check_all()


@dataclass(frozen=True)
class Tool:
    """What a plugin knows and ckprof does not."""

    id: str


LAZY = [StubRuleSet("mine")]


def test_objects_are_imported_when_their_kind_is_first_used_and_once() -> None:
    asked = []

    class Asked:
        @hookimpl
        def ckprof_register(self, registry: Additions) -> None:
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


def test_a_place_is_of_a_kind_that_there_is() -> None:
    class Wrong:
        @hookimpl
        def ckprof_register(self, registry: Additions) -> None:
            registry.add_lazy(Forward, f"{__name__}:LAZY")

    with pytest.raises(
        PluginError, match="plugin one: ckprof_register: add_lazy: Forward is no protocol of a"
    ):
        registry_of(one=Wrong())


def test_entries_are_sorted_whatever_the_load_order() -> None:
    assert registry_of(one=providing("wave", "tile"), two=providing("apex")).pipelines.ids == (
        "apex",
        "tile",
        "wave",
    )


def test_a_duplicate_id_names_both_providers() -> None:
    with pytest.raises(PluginError, match="'tile': one and two"):
        registry_of(one=providing("tile"), two=providing("tile"))


def test_an_unknown_id_suggests_the_nearest() -> None:
    registry = registry_of(one=providing("depthwise", "tile"))
    with pytest.raises(
        UsageError, match=r"'deptwise'; did you mean 'depthwise'\? \(known: depthwise, tile\)"
    ):
        registry.pipelines.find("deptwise")


def test_one_hook_registers_objects_of_all_kinds() -> None:
    registry = registry_of(one=Registering(StubRuleSet("mine"), StubPipeline("tile")))
    assert registry.rule_sets.ids == ("mine",)
    assert registry.pipelines.ids == ("tile",)


def test_what_has_no_protocol_as_a_whole_is_reported_with_the_nearest_kind() -> None:
    half = SimpleNamespace(id="tile", claims=None, make_instance=None)
    with pytest.raises(PluginError, match=r"plugin one: pipeline 'tile': lacks .*render\(instance"):
        registry_of(one=Registering(half))
    # other kinds can be used
    manager = PluginManager()
    manager.register(Registering(half, StubRuleSet("mine")), "one")
    assert Registry(manager).rule_sets.ids == ("mine",)
    with pytest.raises(PluginError, match="added an object of type int, which has no member of any kind"):
        registry_of(one=Registering(3))


def test_what_has_two_protocols_says_which_one_is_meant() -> None:
    def both(*bases: type) -> object:
        return type(
            "Both", (StubRuleSet, StubObserver, *bases), {"id": "both", "__init__": object.__init__}
        )()

    assert registry_of(one=Registering(both())).rule_sets.ids == ("both",)
    assert registry_of(one=Registering(both(Observer))).observers.ids == ("both",)


def test_a_plugin_brings_a_kind_of_objects() -> None:
    kind = Kind("tool", Tool, "")
    registry = registry_of(one=Registering(Tool("hammer")), two=Registering(kind))
    assert registry.entries(kind).ids == ("hammer",)
    assert registry.entries(kind).provider("hammer") == "one"
    with pytest.raises(
        PluginError, match=r"type Tool, 'hammer', which is of no kind; nearest: observer .lacks observe"
    ):
        registry_of(one=Registering(Tool("hammer")))


def test_a_rule_set_is_found_by_its_id() -> None:
    registry = registry_of(one=Registering(StubRuleSet("mine"), StubRuleSet("handful")))
    assert registry.rule_sets.ids == ("handful", "mine")
    with pytest.raises(UsageError, match="unknown rule set 'mime'; did you mean 'mine'"):
        registry.rule_sets.find("mime")


def test_the_provider_is_known() -> None:
    assert registry_of(one=providing("tile")).pipelines.provider("tile") == "one"


def test_an_entry_without_an_id_is_rejected() -> None:
    with pytest.raises(PluginError, match="plugin one: pipeline: an object of type Making has no id"):
        registry_of(one=providing(""))


def test_the_hook_returns_nothing() -> None:
    class Former:
        @hookimpl
        def ckprof_register(self) -> list[object]:
            return [StubPipeline("tile")]

    with pytest.raises(
        PluginError, match="plugin one: ckprof_register returned an object of type list, expected"
    ):
        registry_of(one=Former())


def test_the_variant_of_a_record_names_its_pipeline() -> None:
    common = {"direction": "fwd", "record_type": WideRecord, "layouts": LAYOUTS}
    variants = Registering(
        CatalogVariant(name="by field", pipeline_of=lambda one: "ba"[one.wide], **common),
        CatalogVariant(name="plain", pipeline="a", **common),
    )

    def pipeline_of(variant: str, wide: bool, *families: str) -> str:
        further = Registering(Claiming("c"))
        registry = registry_of(one=providing("a"), two=providing("b"), three=further, four=variants)
        catalog = SimpleNamespace(variant=variant)
        return registry.instance_of(catalog, WideRecord(0, wide), families)[0].id

    assert pipeline_of("plain", wide=False) == "a"
    assert [pipeline_of("by field", wide) for wide in (False, True)] == ["b", "a"]
    # families take what they claim, where they are asked for and its own is not
    assert pipeline_of("plain", True, "c") == pipeline_of("plain", True, "b", "c") == "c"
    assert pipeline_of("plain", False, "c") == pipeline_of("plain", True, "c", "a") == "a"
    lonely = registry_of(one=providing("b"), four=variants)
    with pytest.raises(
        UsageError, match=r"variant 'plain' are of the kernel family a, .*\(loaded families: b\)"
    ):
        lonely.instance_of(SimpleNamespace(variant="plain"), WideRecord(0, True))


def test_a_record_without_a_meaning_is_named() -> None:
    class Refusing(StubPipeline):
        def make_instance(self, catalog: object, direction: str, record: object) -> Instance:
            raise InputError("tile_m is 0, expected 1 or more")

    variant = CatalogVariant(
        name="plain", pipeline="a", direction="fwd", record_type=WideRecord, layouts=LAYOUTS
    )
    registry = registry_of(one=Registering(Refusing("a"), variant))
    with pytest.raises(InputError, match="instance 7: tile_m is 0, expected 1 or more"):
        registry.instance_of(SimpleNamespace(variant="plain"), WideRecord(7, True))


def test_families_of_all_plugins_reach_the_converters_that_use_them() -> None:
    converter, family, kind = StubConverter(), Tool("family"), Kind("family", Tool, "")
    converter.family_type = Tool
    registry_of(plugin=Registering(converter), kind=Registering(kind, family))
    assert converter.families == (family,)
    with pytest.raises(PluginError, match="two plugins provide the family 'family': one and two"):
        registry_of(one=Registering(family), two=Registering(kind, family))


def test_directions_are_found_by_alias() -> None:
    registry = registry_of(plugin=Registering(Forward()))
    assert registry.operation("forward") is registry.operation("fwd")
    with pytest.raises(UsageError, match="unknown direction 'forwards'"):
        registry.operation("forwards")


def test_directions_and_other_operations_are_operations_in_the_order_of_registration() -> None:
    registry = registry_of(computing=Registering(Forward(), StubOperation()))
    assert [operation.id for operation in registry.operations.registered] == ["fwd", "stub"]
    assert registry.operations.provider("stub") == "computing"
    # problems of both are recognised by their fields
    assert problem_from({"length": 3}) == StubProblem(length=3)


def test_what_a_class_inherits_from_its_protocol_is_still_missing() -> None:
    class Inherited(RuleSet):
        id = "lazy"
        label = "derives from the protocol"

    with pytest.raises(PluginError, match=r"rule set 'lazy': lacks enumerate\(request\)"):
        registry_of(one=Registering(Inherited()))


def test_a_member_that_may_be_missing_is_that_of_the_protocol() -> None:
    class Half:
        def __init__(self, original: object, *names: str) -> None:
            for name in names:
                setattr(self, name, getattr(original, name))

    manager = PluginManager()
    manager.load_all()
    target = next(t for t in Registry(manager).targets if offers(t, Target.inspect))
    required = ("id", "label", "embedded", "default_arch", "findings", "recipe")

    def half(*names: str) -> Registering:
        return Registering(Half(target, *required, *names))

    with pytest.raises(PluginError, match=r"target '\w+': lacks inspect\(code_object, arch\)"):
        registry_of(one=half("estimate"))
    for names in ((), ("inspect",), ("inspect", "estimate")):
        (entry,) = registry_of(one=half(*names)).targets
        assert offers(entry, Target.inspect) == bool(names)
        assert offers(entry, Target.estimate) == (len(names) == 2)
        assert (entry.models_arch, entry.theoretical_roofs("gfx942", 0)) == (False, ())


def test_an_exception_in_the_code_of_another_plugin_is_that_plugin_s(tmp_path: Path) -> None:
    path = tmp_path / "guilty.py"
    path.write_text("def step():\n    raise KeyError('oops')\n")
    manager = PluginManager()
    manager.load_all(requested=[str(path)])
    guilty = sys.modules["ckprof_plugin_guilty"]

    pipeline = StubPipeline("innocent")
    pipeline.kernel_name = lambda instance: guilty.step()
    manager.register(Registering(pipeline), "innocent")
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
    direction = next(iter(registry.operations))
    assert inspect.getattr_static(type(direction), "operation").fget(direction).name_constant
    assert offers(direction, Operation.product)


def test_a_problem_type_that_is_no_dataclass_is_reported() -> None:
    operation = StubOperation()
    operation.problem_types = (int,)
    with pytest.raises(PluginError, match=r"problem type builtins\.int: expected a dataclass"):
        registry_of(one=Registering(operation))
