"""What a plugin declares: its hooks, all in the order of a run, and its commands.

A plugin is a module, or an object, with functions marked by :data:`hookimpl`, the only import that it needs::

    from ckprof import hookimpl

    @hookimpl
    def ckprof_register(registry):
        registry.add(MyPipeline())

An installed package announces it in the entry point group ``ckprof``; a loose file is named with
``--plugin path/to/file.py`` or in ``ckprof.toml``.

:func:`ckprof_register` registers objects of all kinds. ``modify_*`` hooks change a list in place,
``before_*`` and ``after_*`` hooks are notified of an event. Objects are sorted by id, so neither the order of
installation nor that of loading ever matters. An exception that leaves a hook is reported with the plugin's
name and ends the command with exit code 4.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pluggy

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from ckprof.model.conversion import Conversion, ConversionRequest
    from ckprof.model.instance import Instance
    from ckprof.model.outcome import Outcome
    from ckprof.model.problem import Problem
    from ckprof.model.types import DataType
    from ckprof.plugin.additions import Additions
    from ckprof.plugin.protocols import SourceAddition


#: project name of the hooks and name of the entry point group
NAME: Final = "ckprof"
#: comma-separated names of plugins that are not loaded
DISABLE_VARIABLE: Final = "CKPROF_DISABLE_PLUGINS"
#: what commands may be called
COMMAND_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")

hookspec: Final = pluggy.HookspecMarker(NAME)
hookimpl: Final = pluggy.HookimplMarker(NAME)


# --- start-up ---------------------------------------------------------------------------------------------


@hookspec
def ckprof_add_arguments(command: str, parser: argparse.ArgumentParser) -> None:
    """Add options to the parser of one command.

    Called once per command line, for the command that is about to run.

    :param command: name of the command, e.g. ``run`` or ``list instances``.
    :param parser: the command's parser; add arguments, do not parse. With
        ``set_defaults(instead=...)`` a plugin names a function of the parsed arguments and the session that
        does what the command would do, and returns its exit code; ``None`` where the command is to run. What
        was named before it has to ask, too.
    """


# --- registration -----------------------------------------------------------------------------------------


@hookspec
def ckprof_register(registry: Additions) -> None:
    """Register objects: ``registry.add(object)``, or ``registry.add_lazy(protocol, "module:attribute")``.

    Called at most once, when a command first needs objects of any kind, after all plugins were loaded. The
    kind of an object is the protocol that it has. Two objects of a kind with the same id are an error that
    names both plugins.
    """


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
def ckprof_modify_instances(direction: str, instances: list[Instance], arguments: Mapping[str, Any]) -> None:
    """Remove, add, change or reorder the instances that are about to be generated, in place.

    Called once for every choice of instances, per direction that it has, after ``--filter``, ``--exclude``
    and ``--instance`` have been applied: for a run, a build, an inspection, a support check, a table of
    instances, and kernels on demand. Where as many instances are new as are gone, these are changed ones, in
    order: they keep the numbers and sources that the former ones had.

    :param arguments: values of all options by name, as for :func:`ckprof_make_instances`.
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
def ckprof_add_sources(
    arguments: Mapping[str, object], session: Any, build_dir: Any, candidates: Sequence[Any]
) -> SourceAddition | None:
    """Return what is written beside the sources that ``ckprof generate`` writes.

    Called once for every generated tree. ``None`` if no option of the plugin asks for it. Without an addition
    that ranks the kernels, programs take the first one of the list that supports a problem.

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Command:
    """One command of ``ckprof``, which a plugin adds with ``registry.add(Command(...))``.

    The session that both functions get is a :class:`ckprof.cli.session.Session`: console, settings, registry,
    and a :class:`ckprof.Profiler`. They raise an error of :mod:`ckprof.errors` where the user has to do
    something; any other exception is a fault of the plugin.

    :param name: what is typed after ``ckprof``.
    :param add_arguments: adds options to the parser of the command, which has those of every command.
    :param run: does the work, and returns an :class:`ckprof.errors.ExitCode`.
    :param task: commands of one task stand together in help.
    :param summary: the line of help.
    :param first: common options, and metavars of positional arguments: ``--help`` shows these alone, and
        ``--help-all`` all; empty for commands whose help is short enough.
    """

    name: str
    add_arguments: Callable[[argparse.ArgumentParser, Any], None]
    run: Callable[[argparse.Namespace, Any], int]
    task: str = ""
    summary: str = ""
    first: str = ""
