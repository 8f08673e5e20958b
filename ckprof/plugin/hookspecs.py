"""Every hook of ckprof, in the order of a run.

``register_*`` hooks return what a plugin adds, ``modify_*`` hooks change a list in place, ``before_*`` and
``after_*`` hooks are notified of an event. Results of ``register_*`` hooks are sorted by id, so neither the
order of installation nor that of loading ever matters. An exception that leaves a hook is reported with the
plugin's name and ends the command with exit code 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ckprof.plugin.markers import hookspec

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from ckprof.model.conversion import Conversion, ConversionRequest
    from ckprof.model.instance import Instance
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.model.strings.kind import StringKind
    from ckprof.model.types import DataType
    from ckprof.plugin.additions import Additions
    from ckprof.plugin.protocols import (
        Baseline,
        BuilderReader,
        CatalogVariant,
        ComparisonFormat,
        Consumer,
        Converter,
        InspectionView,
        KernelRanking,
        ListExtractor,
        NamedDevice,
        Observer,
        Operation,
        ParityFormat,
        Pipeline,
        ProblemSetFile,
        ReportFormat,
        ResultsView,
        RuleSet,
        SearchStrategy,
        StoreFormat,
        Target,
    )
    from ckprof.plugin.protocols.engines import Engine

# --- start-up ---------------------------------------------------------------------------------------------


@hookspec
def ckprof_add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Add options to the parser of one command.

    Called once per command line, for the command that is about to run.

    :param command: name of the command, e.g. ``run`` or ``list instances``.
    :param parser: the command's parser; add arguments, do not parse.
    """


# --- registration -----------------------------------------------------------------------------------------


@hookspec
def ckprof_register(registry: Additions) -> None:
    """Register objects: ``registry.add(object)``, or ``registry.add_lazy(protocol, "module:attribute")``.

    Called at most once, when a command first needs objects of any kind, after all plugins were loaded. The
    kind of an object is the protocol that it has. Two objects of a kind with the same id are an error that
    names both plugins.
    """


# Each of these is called at most once per command, when objects of its kind are first needed, after all
# plugins were loaded. Two objects of a kind with the same id are an error that names both plugins.


@hookspec
def ckprof_register_directions() -> Sequence[Operation]:
    """Return the directions of convolution that the plugin adds."""


@hookspec
def ckprof_register_operations() -> Sequence[Operation]:
    """Return what the plugin's kernels compute that is no convolution.

    Two with the same id, or one with the id of a direction, are an error.
    """


@hookspec
def ckprof_register_pipelines() -> Sequence[Pipeline[NoReturn]]:
    """Return the kernel families that the plugin adds.

    A family that reads one type of records is a ``Pipeline[ThatRecord]``.
    """


@hookspec
def ckprof_register_targets() -> Sequence[Target]:
    """Return the places where kernels are built and run."""


@hookspec
def ckprof_register_devices() -> Sequence[NamedDevice]:
    """Return the devices that any machine has, for the kernels of a target: names for ``--device``."""


@hookspec
def ckprof_register_baselines() -> Sequence[Baseline]:
    """Return the libraries of others that instances can be compared with."""


@hookspec
def ckprof_register_catalog_variants() -> Sequence[CatalogVariant]:
    """Return the kinds of catalog records that the plugin's pipelines or converters use."""


@hookspec
def ckprof_register_converters() -> Sequence[Converter]:
    """Return the converters that the plugin adds: each reads one or more dialects of instance lists."""


@hookspec
def ckprof_register_extractors() -> Sequence[ListExtractor]:
    """Return the extractors that the plugin adds: each derives instance lists from an installed library."""


@hookspec
def ckprof_register_conf_families() -> Sequence[object]:
    """Return the grammar tables of conf line families that the plugin adds.

    The conf converter documents the type of a table:
    :class:`ckprof_converters.conf_family.ConfFamily`.
    """


@hookspec
def ckprof_register_rule_sets() -> Sequence[RuleSet]:
    """Return the rule sets that the plugin adds: each enumerates instances for an architecture."""


@hookspec
def ckprof_register_string_kinds() -> Sequence[StringKind]:
    """Return the kinds of instance strings that the plugin's kernels, or the lists that it reads, have."""


@hookspec
def ckprof_register_builder_readers() -> Sequence[BuilderReader]:
    """Return the readers that tell what a list means to CK Builder."""


@hookspec
def ckprof_register_parity_formats() -> Sequence[ParityFormat]:
    """Return the output formats that the plugin adds to ``ckprof parity`` and ``ckprof diff``."""


@hookspec
def ckprof_register_report_formats() -> Sequence[ReportFormat]:
    """Return the output formats that the plugin adds to ``--format``."""


@hookspec
def ckprof_register_comparison_formats() -> Sequence[ComparisonFormat]:
    """Return the output formats that the plugin adds to ``ckprof compare``."""


@hookspec
def ckprof_register_results_views() -> Sequence[ResultsView]:
    """Return what the plugin makes of the results of runs for Python programs and notebooks."""


@hookspec
def ckprof_register_inspection_views() -> Sequence[InspectionView]:
    """Return what the plugin adds to ``ckprof inspect``."""


@hookspec
def ckprof_register_strategies() -> Sequence[SearchStrategy]:
    """Return the ways to search that the plugin adds to ``ckprof tune``."""


@hookspec
def ckprof_register_observers() -> Sequence[Observer]:
    """Return what reads evidence about the machine during sweeps, e.g. clocks, power or other processes.

    What observers read is kept beside each outcome and never decides which
    measurement it belongs to.
    """


@hookspec
def ckprof_register_engines() -> Sequence[Engine]:
    """Return the engines that sweeps can run on, beside the one for several devices of one machine."""


@hookspec
def ckprof_register_problem_sets() -> Sequence[ProblemSetFile]:
    """Return the problem sets that the plugin adds to ``--problem-set``."""


@hookspec
def ckprof_register_store_formats() -> Sequence[StoreFormat]:
    """Return the formats that the plugin adds to ``ckprof results import`` and ``export``."""


@hookspec
def ckprof_register_consumers() -> Sequence[Consumer]:
    """Return the programs that use tuned results, whose files the plugin reads, judges or writes."""


# --- conversion -------------------------------------------------------------------------------------------


@hookspec
def ckprof_after_conversion(request: ConversionRequest, conversion: Conversion) -> None:
    """Be notified of what became of one input list.

    Called once per input, before anything is written or generated. Treat both arguments as read-only.
    """


# --- choice of instances ----------------------------------------------------------------------------------


@hookspec
def ckprof_make_instances(
    arguments: Mapping[str, object],
    directions: tuple[str, ...],
    ndims: tuple[int, ...],
    dtypes: tuple[DataType, ...],
) -> Sequence[Instance] | None:
    """Return instances that the user describes with options of the plugin.

    Called once for every choice of instances. ``None`` if none of the plugin's options is used.

    :param arguments: values of all options by name: those of the command line (see
        :func:`ckprof_add_arguments`), or what a program gives as ``plugin_options``. Any may be missing.
    :param directions: ids of the directions asked for; empty if none was named.
    :param ndims: numbers of spatial dimensions asked for.
    :param dtypes: data types asked for.
    :raises UsageError: the options are incomplete, or contradict each other.
    """


# --- generation and build ---------------------------------------------------------------------------------


@hookspec
def ckprof_modify_instances(direction: str, instances: list[Instance]) -> None:
    """Remove, add or reorder the instances that are about to be generated, in place.

    Called once for every choice of instances, per direction that it has, after ``--filter``, ``--exclude``
    and ``--instance`` have been applied: for a run, a build, an inspection, a support check, a table of
    instances, and kernels on demand.
    """


@hookspec
def ckprof_before_build(direction: str, instances: Sequence[Instance]) -> None:
    """Be notified that the build of these instances starts. Called once per build.

    A search calls it, and the hook of the build's end, in a thread while kernels are measured.
    """


@hookspec
def ckprof_after_build(direction: str, failures: Sequence[Outcome]) -> None:
    """Be notified that the build is over.

    :param failures: one outcome per instance that did not compile; empty if all did.
    """


@hookspec
def ckprof_rank_kernels(
    arguments: Mapping[str, object], session: Any, build_dir: Any, candidates: Sequence[Any]
) -> KernelRanking | None:
    """Return how programs choose among kernels whose sources are generated.

    Called once for every generated tree. ``None`` if no option of the plugin asks for it: programs then take
    the first kernel of the list that supports a problem.

    :param arguments: values of all options by name, as for :func:`ckprof_make_instances`.
    :param session: a :class:`ckprof.session.Session`: settings and registry.
    :param build_dir: a :class:`ckprof.kernels.build_dir.BuildDir`: where the sources are written, and for
        which target and architecture.
    :param candidates: the kernels, each a :class:`ckprof.kernels.candidates.Candidate`.
    :raises CkprofError: the options contradict what is generated.
    """


# --- run and verification ---------------------------------------------------------------------------------


@hookspec
def ckprof_before_problem(direction: str, problem: Problem, problem_index: int) -> None:
    """Be notified that the instances are about to be run on a problem. Called in the parent process."""


@hookspec
def ckprof_after_outcome(instance: Instance, problem: Problem, outcome: Outcome) -> None:
    """Be notified of each outcome as soon as it is known. Called in the parent process, never in a worker."""


# --- report -----------------------------------------------------------------------------------------------


@hookspec
def ckprof_after_report(command: str, exit_code: int) -> None:
    """Be notified that the command has printed its result and with which code it will exit."""
