"""Looking up what plugins offer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ckprof import hookimpl
from ckprof.errors import PluginError, UsageError
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry


class Offering:
    """A plugin that offers pipelines with the given ids."""

    def __init__(self, *ids: str, claims: bool = False) -> None:
        self.offers = [SimpleNamespace(id=id_, claims=lambda variant, record: claims) for id_ in ids]

    @hookimpl
    def ckprof_register_pipelines(self) -> list[SimpleNamespace]:
        return self.offers


def registry_of(**plugins: object) -> Registry:
    manager = PluginManager()
    for name, plugin in plugins.items():
        manager.register(plugin, name)
    return Registry(manager)


def test_offers_are_sorted_whatever_the_load_order() -> None:
    assert registry_of(one=Offering("wave", "tile"), two=Offering("apex")).pipelines.ids == (
        "apex",
        "tile",
        "wave",
    )


def test_a_duplicate_id_names_both_owners() -> None:
    with pytest.raises(PluginError, match="'tile': one and two"):
        registry_of(one=Offering("tile"), two=Offering("tile"))


def test_an_unknown_id_suggests_the_nearest() -> None:
    registry = registry_of(one=Offering("depthwise", "tile"))
    with pytest.raises(
        UsageError, match=r"'deptwise'; did you mean 'depthwise'\? \(known: depthwise, tile\)"
    ):
        registry.pipelines.find("deptwise")


def test_a_rule_set_is_found_by_its_id() -> None:
    class RuleSets:
        @hookimpl
        def ckprof_register_rule_sets(self) -> list[SimpleNamespace]:
            return [SimpleNamespace(id="mine"), SimpleNamespace(id="handful")]

    registry = registry_of(one=RuleSets())
    assert registry.rule_sets.ids == ("handful", "mine")
    with pytest.raises(UsageError, match="unknown rule set 'mime'; did you mean 'mine'"):
        registry.rule_sets.find("mime")


def test_owner_is_known() -> None:
    assert registry_of(one=Offering("tile")).pipelines.owner("tile") == "one"


def test_an_offer_without_an_id_is_rejected() -> None:
    with pytest.raises(PluginError, match=r"plugin one: ckprof_register_pipelines returned .* no id"):
        registry_of(one=Offering(""))


def test_a_hook_must_return_a_list() -> None:
    class Wrong:
        @hookimpl
        def ckprof_register_targets(self) -> int:
            return 3

    with pytest.raises(
        PluginError, match="plugin wrong: ckprof_register_targets returned int, expected a list"
    ):
        registry_of(wrong=Wrong())


def test_exactly_one_pipeline_must_claim_a_record() -> None:
    catalog, record = SimpleNamespace(variant="v"), SimpleNamespace()
    two = registry_of(one=Offering("a", claims=True), two=Offering("b", claims=True))
    with pytest.raises(PluginError, match=r"several pipelines claim .* one \(a\) and two \(b\)"):
        two.pipeline_of(catalog, record)
    with pytest.raises(UsageError, match=r"no pipeline plugin knows .*loaded pipelines: a"):
        registry_of(one=Offering("a")).pipeline_of(catalog, record)
    assert (
        registry_of(one=Offering("a"), two=Offering("b", claims=True)).pipeline_of(catalog, record).id == "b"
    )


def test_families_of_all_plugins_reach_the_converters_that_use_them() -> None:
    class Converter:
        id = "lines"
        families: tuple[object, ...] = ()

        def use_families(self, families: tuple[object, ...]) -> None:
            self.families = families

    converter = Converter()

    class Plugin:
        @hookimpl
        def ckprof_register_converters(self) -> list[Converter]:
            return [converter]

        @hookimpl
        def ckprof_register_conf_families(self) -> list[str]:
            return ["family"]

    registry_of(plugin=Plugin())
    assert converter.families == ("family",)


def test_directions_are_found_by_alias() -> None:
    direction = SimpleNamespace(id="fwd", aliases=("forward",))

    class Plugin:
        @hookimpl
        def ckprof_register_directions(self) -> list[SimpleNamespace]:
            return [direction]

    registry = registry_of(plugin=Plugin())
    assert registry.direction("forward") is registry.direction("fwd") is direction
    with pytest.raises(UsageError, match="unknown direction 'forwards'"):
        registry.direction("forwards")
