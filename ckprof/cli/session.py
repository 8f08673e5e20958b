"""What every command works with: the console and the library."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckprof.cli.console import Console
from ckprof.profiler import Profiler
from ckprof.settings import find_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ckprof.cli.main import StopSignals
    from ckprof.events import Event, Listener
    from ckprof.plugin.additions import Kind
    from ckprof.plugin.manager import PluginManager
    from ckprof.plugin.registry import Registry
    from ckprof.settings import Settings


class Session:
    """One call of ``ckprof``."""

    def __init__(self, console: Console, profiler: Profiler, signals: StopSignals) -> None:
        self.console = console
        self.profiler = profiler
        #: how the command is asked to end
        self.signals = signals

    @property
    def settings(self) -> Settings:
        """What ``ckprof.toml`` and the environment say."""
        return self.profiler.settings

    @property
    def manager(self) -> PluginManager:
        """The plugins that were found."""
        return self.profiler.manager

    @property
    def registry(self) -> Registry:
        """What the plugins provide.

        :raises PluginError: ids clash, or a plugin breaks its contract.
        """
        return self.profiler.registry

    def help_names(self) -> dict[str, Callable[[], str]]:
        """Return what names in braces stand for in help; each is asked for where it is shown."""
        registry, settings = self.registry, self.settings
        return {
            "baselines": lambda: ", ".join(registry.baselines.ids) or "none installed",
            **{kind.name: partial(_labels, registry, kind) for kind in registry.kinds},
            "revisions": _revisions,
            "dtypes": _dtypes,
            "compile_timeout": lambda: f"{settings.compile_timeout:g}",
            "timeout": lambda: f"{settings.timeout:g}",
        }


def _labels(registry: Registry, kind: Kind[Any]) -> str:
    return "; ".join(f"{entry.id}: {entry.label}" for entry in registry.entries(kind))


def _dtypes() -> str:
    from ckprof.model.types import DataType, spellings

    return spellings(DataType)


def _revisions() -> str:
    from ckprof.model.strings.kind import all_revisions

    return f"({'; '.join(f'{revision.name}: {revision.note}' for revision in all_revisions())})"


def open_session(
    signals: StopSignals, *, verbosity: int, config: Path | None, plugins: Iterable[str]
) -> Session:
    """Read the settings and load all plugins.

    :param signals: how the command is asked to end.
    :raises CkprofError: the settings are wrong, or a plugin named on the command line cannot be loaded.
    """
    console = Console(verbosity)
    if config is None:
        _, message = find_file(Path.cwd())
        if message:
            console.warning(message)
    return Session(console, Profiler(config, plugins, on_event=_Messages(console)), signals)


class _Messages:
    """Prints what happens; what that needs is imported at the first event, since many commands have none."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._print: Listener | None = None

    def __call__(self, event: Event) -> None:
        if self._print is None:
            from ckprof.cli.event_messages import EventMessages

            self._print = EventMessages(self._console)
        self._print(event)
