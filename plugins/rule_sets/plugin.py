"""Announces the rule sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import RuleSet


@hookimpl
def ckprof_register_rule_sets() -> Sequence[RuleSet]:
    """Add upstream's rule sets, and ckprof's own."""
    from ckprof_plugins.rule_sets.default import DefaultRuleSet
    from ckprof_plugins.rule_sets.full import FullRuleSet
    from ckprof_plugins.rule_sets.lists import ListRuleSet
    from ckprof_plugins.rule_sets.subsets import FullTestsRuleSet, TinyRuleSet

    return [
        DefaultRuleSet(),
        FullRuleSet(),
        FullTestsRuleSet(),
        TinyRuleSet(),
        ListRuleSet(id="profiler", label="CK Builder's lists for the profiler"),
        ListRuleSet(id="tests", label="CK Builder's lists for its tests"),
    ]
