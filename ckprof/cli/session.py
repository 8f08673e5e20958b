"""What every command works with: console, settings, plugins."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.arch.architectures import use_files
from ckprof.cli.console import Console
from ckprof.config.settings import load_settings
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.config.settings import Settings


class Session:
    """One call of ``ckprof``."""

    def __init__(self, console: Console, settings: Settings, manager: PluginManager) -> None:
        self.console = console
        self.settings = settings
        self.manager = manager

    @cached_property
    def registry(self) -> Registry:
        """What the plugins offer.

        :raises PluginError: ids clash.
        """
        return Registry(self.manager)

    def call(self, hook: str, **arguments: object) -> None:
        """Call an event hook on all plugins."""
        self.manager.call(hook, **arguments)

    def report_broken_plugins(self) -> None:
        """Warn of plugins that could not be loaded."""
        for plugin in self.manager.broken:
            self.console.warning(f"plugin {plugin.name} ({plugin.location}) is not active: {plugin.error}")


def open_session(verbosity: int, config: Path | None, plugins: Iterable[str]) -> Session:
    """Read the settings and load all plugins.

    :raises CkprofError: the settings are wrong, or a plugin named on the command line cannot be loaded.
    """
    settings = load_settings(config, Path.cwd())
    use_files(Path(name).expanduser() for name in settings.architectures)
    manager = PluginManager()
    manager.load_all(configured=settings.plugins, requested=plugins)
    return Session(Console(verbosity), settings, manager)
