"""The part of a profiler that comes before runs: settings, plugins, lists, instances, sources, builds."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.session import Session, ignore
from ckprof.arch.architectures import use_files
from ckprof.config.settings import load_settings
from ckprof.plugin.manager import PluginManager

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.api.events import Listener
    from ckprof.api.extraction import WrittenList
    from ckprof.api.instances import Selection
    from ckprof.api.requests import BuildOptions, InstanceQuery, ListReading
    from ckprof.codegen.source_tree import SourceTree
    from ckprof.config.settings import Settings
    from ckprof.flow.explain_line import ExplainedPlace
    from ckprof.flow.kernel_library import BuiltLibrary, Rejection
    from ckprof.model.conversion import Conversion
    from ckprof.model.extraction import ExtractionReport, ExtractRequest, ListComparison
    from ckprof.plugin.protocols import Target
    from ckprof.plugin.registry import Registry


class OpenedProfiler:
    """Settings and plugins, opened once; what leads to a built library.

    :param config: a settings file; by default ``ckprof.toml`` here or in a parent folder, if there is one.
    :param plugins: module names or paths of ``.py`` files, beside those that are installed.
    :param on_event: called with what happens; see :mod:`ckprof.api.events`.
    :raises CkprofError: the settings are wrong, or a plugin that was named cannot be loaded.
    """

    def __init__(
        self,
        config: Path | str | None = None,
        plugins: Iterable[str] = (),
        *,
        on_event: Listener = ignore,
    ) -> None:
        settings = load_settings(Path(config) if config else None, Path.cwd())
        use_files(Path(name).expanduser() for name in settings.architectures)
        manager = PluginManager()
        manager.load_all(configured=settings.plugins, requested=plugins)
        self._session = Session(settings=settings, manager=manager, tell=on_event)

    @property
    def settings(self) -> Settings:
        """What ``ckprof.toml`` and the environment say."""
        return self._session.settings

    @property
    def manager(self) -> PluginManager:
        """The plugins that were found, broken ones included."""
        return self._session.manager

    @cached_property
    def registry(self) -> Registry:
        """What the plugins provide: directions, pipelines, targets, rule sets, converters, formats.

        :raises PluginError: ids clash, or a plugin breaks its contract.
        """
        return self._session.registry

    def target(self, name: str | None = None) -> Target:
        """Return the target of that name, else that of the settings, else the first that needs no device.

        :raises UsageError: there is none of that name, or none at all.
        """
        return self._session.target(name)

    # --- lists and instances --------------------------------------------------------------------------------

    def read(
        self, name: str | Path, *, direction: str | None = None, reading: ListReading | None = None
    ) -> Conversion:
        """Read a list in any dialect, or a JSON catalog.

        :param name: a path, or the name of a list that ships with ckprof.
        :param direction: id or alias that the list must belong to.
        :param reading: how it is read.
        :returns: catalogs of instances, and an account of every line.
        :raises InputError: the file cannot be read, is in no known dialect, or has wrong lines.
        """
        from ckprof.api.instances import read_lists
        from ckprof.api.requests import InstanceQuery, ListReading

        wanted = self.registry.operation(direction).id if direction else None
        query = InstanceQuery(conf=(name,), reading=reading or ListReading())
        (conversion,) = read_lists(self._session, query, wanted)
        return conversion

    def instances(self, query: InstanceQuery) -> Selection:
        """Return the instances that a query means, valid and invalid ones apart.

        :raises UsageError: the query contradicts itself, or a name or filter is wrong.
        :raises InputError: a list cannot be used.
        :raises PluginError: a plugin breaks its contract.
        """
        from ckprof.api.instances import choose_instances

        return choose_instances(self._session, query)

    def explain(self, line: str, *, reading: ListReading | None = None) -> ExplainedPlace:
        """Say what becomes of one line of a list, argument by argument.

        :param line: its text, or where it stands: ``FILE:LINE``.
        :raises CkprofError: there is no such file or line, or no converter knows such lines.
        """
        from ckprof.api.requests import ListReading
        from ckprof.flow.explain_line import explain

        return explain(line, self.registry, reading or ListReading())

    def extract(self, request: ExtractRequest | None = None) -> ExtractionReport:
        """Derive instance lists from an installed library: its headers and its archive, without compiling.

        :param request: which library and which lists; by default all lists of the library that is found.
        :returns: the lists, and an account of what each of them holds and lacks. An error that concerns one
            list is in ``failures``.
        :raises CkprofError: the request is wrong, there is no such library, or it cannot be read.
        """
        from ckprof.api.extraction import extract_lists
        from ckprof.model.extraction import ExtractRequest

        return extract_lists(self._session, request or ExtractRequest())

    def compare_lists(self, report: ExtractionReport, folder: Path | str) -> tuple[ListComparison, ...]:
        """Compare derived lists with the lists of a folder, as after an upgrade of the library.

        :raises InputError: a list of the folder cannot be read.
        """
        from ckprof.api.extraction import compare_lists

        return compare_lists(self._session, report, Path(folder))

    def write_lists(
        self,
        report: ExtractionReport,
        folder: Path | str,
        *,
        force: bool = False,
        with_remarks: bool = False,
    ) -> tuple[WrittenList, ...]:
        """Write derived lists below a folder, with ``extract.json``, which says what they come from.

        :param force: replace files that hold something else.
        :param with_remarks: begin each list with comments on its origin.
        :raises UsageError: a file holds something else; nothing was written.
        :raises InputError: a file cannot be written.
        """
        from ckprof.api.extraction import write_lists

        return write_lists(report, Path(folder), force=force, with_remarks=with_remarks)

    # --- generation and build -------------------------------------------------------------------------------

    def generate(
        self, selection: Selection, options: BuildOptions | None = None
    ) -> tuple[SourceTree, list[Rejection]]:
        """Write the C++ sources of a selection.

        :returns: the tree, and the instances that a rule rejects.
        :raises NothingLeftError: no instance is valid.
        :raises CkprofError: the folder cannot be written.
        """
        from ckprof.api.building import generate_sources
        from ckprof.api.requests import BuildOptions

        return generate_sources(self._session, selection.require(), options or BuildOptions())

    def build(
        self, selection: Selection, options: BuildOptions | None = None, *, run: bool = True
    ) -> BuiltLibrary:
        """Compile a selection into one library.

        :param run: the kernels shall be run on this machine; otherwise whatever can be built is.
        :returns: the library; what did not compile, or is not valid, is in ``rejected``.
        :raises ToolchainError: no usable compiler, the build system failed, or kernels cannot be run here.
        """
        from ckprof.api.building import build_library
        from ckprof.api.requests import BuildOptions
        from ckprof.model.recipe import Purpose

        return build_library(
            self._session,
            selection.require().candidates,
            options or BuildOptions(),
            Purpose.RUN if run else Purpose.BUILD,
            keep_invalid=selection.keep_invalid,
        )

    def link(
        self, selection: Selection, options: BuildOptions | None = None
    ) -> tuple[Path | None, list[Rejection]]:
        """Build a selection with CMake: a shared library for programs that register or call the kernels.

        :returns: the library, ``None`` if no instance is valid, and the instances that a rule rejects.
        :raises ToolchainError: no usable compiler, no CMake, or the build failed.
        """
        from ckprof.api.building import link_library
        from ckprof.api.requests import BuildOptions

        return link_library(self._session, selection.require(), options or BuildOptions())
