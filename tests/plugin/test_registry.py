"""Looking up what plugins provide."""

from __future__ import annotations

import inspect
import sys
from types import SimpleNamespace

import pytest

from ckprof import Profiler
from ckprof.errors import InputError, PluginError, UsageError
from ckprof.model.catalog import CatalogRecord
from ckprof.model.problem_types import problem_from
from ckprof.plugin.additions import Kind
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import CatalogVariant, Operation, RuleSet, Target
from ckprof.plugin.registry import Registry
from ckprof.testing.plugins import Registering
from ckprof_plugins.directions._convolution.layout import LAYOUTS
from ckprof_plugins.directions.fwd import Forward
from tests.plugin.stubs import (
    StubConverter,
    StubOperation,
    StubPipeline,
    StubProblem,
    Tool,
    providing,
    registry_of,
)


class WideRecord(CatalogRecord, frozen=True, forbid_unknown_fields=True):
    """A record that says its family itself."""

    wide: bool


def test_an_entry_without_an_id_is_rejected():
    with pytest.raises(PluginError, match="plugin one: pipeline: an object of type Making has no id"):
        registry_of(one=providing(""))


def test_directions_of_another_type_are_rejected_before_anything_is_run():
    with pytest.raises(PluginError, match="pipeline 'a': directions is an object of type str, expected froz"):
        _ = registry_of(one=Registering(StubPipeline("a", directions="fwd"))).pipelines


def test_the_variant_of_a_record_names_its_pipeline():
    common = {"direction": "fwd", "record_type": WideRecord, "layouts": LAYOUTS}
    variants = Registering(
        CatalogVariant(name="by field", pipeline_of=lambda one: "ba"[one.wide], **common),
        CatalogVariant(name="plain", pipeline="a", **common),
    )

    def pipeline_of(variant, wide):
        registry = registry_of(one=providing("a"), two=providing("b"), four=variants)
        catalog = SimpleNamespace(variant=variant)
        return registry.instance_of(catalog, WideRecord(0, wide))[0].id

    assert pipeline_of("plain", wide=False) == "a"
    assert [pipeline_of("by field", wide) for wide in (False, True)] == ["b", "a"]
    lonely = registry_of(one=providing("b"), four=variants)
    with pytest.raises(
        UsageError, match=r"variant 'plain' are of the kernel family a, .*\(loaded families: b\)"
    ):
        lonely.instance_of(SimpleNamespace(variant="plain"), WideRecord(0, True))


def test_a_record_without_a_meaning_is_named():
    class Refusing(StubPipeline):
        def make_instance(self, catalog, direction, record):
            raise InputError("tile_m is 0, expected 1 or more")

    variant = CatalogVariant(
        name="plain", pipeline="a", direction="fwd", record_type=WideRecord, layouts=LAYOUTS
    )
    registry = registry_of(one=Registering(Refusing("a"), variant))
    with pytest.raises(InputError, match="instance 7: tile_m is 0, expected 1 or more"):
        registry.instance_of(SimpleNamespace(variant="plain"), WideRecord(7, True))


def test_families_of_all_plugins_reach_the_converters_that_use_them():
    converter, family, kind = StubConverter(), Tool("family"), Kind("family", Tool, "")
    converter.family_type = Tool
    registry_of(plugin=Registering(converter), kind=Registering(kind, family))
    assert converter.families == (family,)
    with pytest.raises(PluginError, match="two plugins provide the family 'family': one and two"):
        registry_of(one=Registering(family), two=Registering(kind, family))


def test_directions_are_found_by_alias():
    registry = registry_of(plugin=Registering(Forward()))
    assert registry.operation("forward") is registry.operation("fwd")
    with pytest.raises(UsageError, match="unknown direction 'forwards'"):
        registry.operation("forwards")


def test_directions_and_other_operations_are_operations_in_the_order_of_registration():
    registry = registry_of(computing=Registering(Forward(), StubOperation()))
    assert [operation.id for operation in registry.operations.registered] == ["fwd", "stub"]
    assert registry.operations.provider("stub") == "computing"
    # problems of both are recognised by their fields
    assert problem_from({"length": 3}) == StubProblem(length=3)


def test_what_a_class_inherits_from_its_protocol_is_still_missing():
    class Inherited(RuleSet):
        id = "lazy"
        label = "derives from the protocol"

    with pytest.raises(PluginError, match=r"rule set 'lazy': lacks enumerate\(request\)"):
        registry_of(one=Registering(Inherited()))


def test_a_member_that_may_be_missing_is_that_of_the_protocol():
    class Half:
        def __init__(self, original, *names):
            for name in names:
                setattr(self, name, getattr(original, name))

    manager = PluginManager()
    manager.load_all()
    target = next(t for t in Registry(manager).targets if offers(t, Target.inspect))
    required = ("id", "label", "embedded", "default_arch", "findings", "recipe")

    def half(*names):
        return Registering(Half(target, *required, *names))

    with pytest.raises(PluginError, match=r"target '\w+': lacks inspect\(code_object, arch\)"):
        registry_of(one=half("estimate"))
    for names in ((), ("inspect",), ("inspect", "estimate")):
        (entry,) = registry_of(one=half(*names)).targets
        assert offers(entry, Target.inspect) == bool(names)
        assert offers(entry, Target.estimate) == (len(names) == 2)
        assert (entry.models_arch, entry.theoretical_ceilings("gfx942", 0)) == (False, ())


def test_an_exception_in_the_code_of_another_plugin_is_that_plugin_s(tmp_path):
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


def test_what_a_guard_passes_on_is_found_statically():
    """Since Python 3.12, ``isinstance()`` finds the members of a protocol that way alone."""
    registry = Profiler().registry
    direction = next(iter(registry.operations))
    assert inspect.getattr_static(type(direction), "operation").fget(direction).name_constant
    assert offers(direction, Operation.product)


def test_a_problem_type_that_is_no_dataclass_is_reported():
    operation = StubOperation()
    operation.problem_types = (int,)
    with pytest.raises(PluginError, match=r"problem type builtins\.int: expected a dataclass"):
        registry_of(one=Registering(operation))
