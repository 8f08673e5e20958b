"""Rule sets: enumerations of instances per architecture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register upstream's rule sets, and the reader of its trait files."""
    from ckprof.plugin.protocols import Converter, RuleSet

    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.default:DefaultRuleSet")
    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.full:FullRuleSet")
    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.default:FullTestsRuleSet")
    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.default:TinyRuleSet")
    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.default:RULE_SETS")
    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.rdna:RdnaRuleSet")
    registry.add_lazy(Converter, "ckprof_plugins.rule_sets.trait_files:TraitFiles")
