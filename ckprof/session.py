"""What every part of the library works with: settings, plugins, and who is notified of what happens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ckprof.errors import UsageError
from ckprof.plugin.registry import Registry

if TYPE_CHECKING:
    from ckprof.events import Event, Listener
    from ckprof.plugin.manager import PluginManager
    from ckprof.plugin.protocols import Target
    from ckprof.settings import Settings


def ignore(_: Event) -> None:
    """Do nothing: for callers that show no progress."""


@dataclass(kw_only=True, eq=False)
class Session:
    """One opened :class:`~ckprof.profiler.Profiler`, as its parts see it."""

    settings: Settings
    manager: PluginManager
    tell: Listener

    @cached_property
    def registry(self) -> Registry:
        """What the plugins provide.

        :raises PluginError: ids clash, or a plugin breaks its contract.
        """
        return Registry(self.manager)

    def target(self, name: str | None = None) -> Target:
        """Return the target of that name, else that of the settings, else the first that needs no device.

        :raises UsageError: there is none of that name, or none at all.
        """
        chosen = name or self.settings.target
        if chosen:
            return self.registry.targets.find(chosen)
        for target in self.registry.targets:
            if target.embedded:
                return target
        raise UsageError("no target plugin works without a device; name one with --target")
