"""Rule sets: enumerations of instances per architecture; and the tile engine's own files as lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof import hookimpl
from ckprof.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from ckprof.model.conversion import Conversion, ConversionRequest
    from ckprof.plugin.additions import Additions

#: the commands that read lists or rule sets and build kernels of them, or write them
COMMANDS: Final = frozenset(
    {"run", "sweep", "tune", "build", "generate", "check-support", "list instances", "convert"}
)


@hookimpl
def ckprof_add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the option that gives a word of upstream's names a meaning."""
    if command in COMMANDS:
        from ckprof_plugins.rule_sets.tiles import SI_OPTION, SPLIT_IMAGE

        parser.add_argument(
            SI_OPTION,
            choices=(SPLIT_IMAGE,),
            help="what _si in names of the tile engine means (default: nothing that can be built)",
        )


@hookimpl
def ckprof_after_conversion(request: ConversionRequest, conversion: Conversion) -> None:
    """Refuse the option for lists in which nothing has the word.

    :raises UsageError: it was given for one.
    """
    if request.plugin_options.get("si_as") is not None and conversion.converter != "benchmark":
        raise UsageError(
            f"--si-as: {conversion.path} names no kernels as upstream's tables do; it goes with tables of "
            "the tile engine's benchmark, exports of its instance builder, and --rule-set tile-engine"
        )


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register upstream's rule sets, and the readers of its trait files and of its tile engine's tables."""
    from ckprof.plugin.protocols import Converter, RuleSet

    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.default:DefaultRuleSet")
    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.full:FullRuleSet")
    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.default:FullTestsRuleSet")
    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.default:TinyRuleSet")
    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.default:RULE_SETS")
    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.rdna:RdnaRuleSet")
    registry.add_lazy(RuleSet, "ckprof_plugins.rule_sets.tile_engine:TileEngineRuleSet")
    registry.add_lazy(Converter, "ckprof_plugins.rule_sets.trait_files:TraitFiles")
    registry.add_lazy(Converter, "ckprof_plugins.rule_sets.benchmark_lists:BenchmarkLists")
