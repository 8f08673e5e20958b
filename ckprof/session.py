"""What every part of the library works with: settings, plugins, and who is notified of what happens."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from ckprof.errors import UsageError
from ckprof.plugin.registry import Registry
from ckprof.sanitize import unknown_name

if TYPE_CHECKING:
    from ckprof.events import Event, Listener
    from ckprof.model.recipe import BuildRecipe, BuildRequest
    from ckprof.plugin.manager import PluginManager
    from ckprof.plugin.protocols import NamedDevice, Target
    from ckprof.settings import Settings


def ignore(_: Event) -> None:
    """Do nothing: for callers that show no progress."""


@dataclass(kw_only=True, eq=False)
class Session:
    """One opened :class:`~ckprof.profiler.Profiler`, as its parts see it."""

    settings: Settings
    manager: PluginManager
    emit: Listener

    def __reduce__(self) -> NoReturn:
        raise UsageError("a Profiler cannot be pickled: make one in the other process")

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

    def named_device(self, device: str) -> NamedDevice:
        """Return a device that any machine has.

        :param device: its name, perhaps with settings after a colon.
        :raises UsageError: there is none of that name; the message lists those that there are.
        """
        devices = self.registry.devices.as_mapping()
        name = device.partition(":")[0]
        if name not in devices:
            raise UsageError(f"--device: {unknown_name('device', name, devices)}; or give an index")
        return devices[name]

    def recipe(self, target: Target, request: BuildRequest) -> BuildRecipe:
        """Return how to compile and link for a target, and for the device that the request names.

        :raises ToolchainError: no usable compiler or headers.
        :raises UsageError: there is no such architecture, API level or device.
        """
        if not request.device:
            return target.recipe(request)
        device = self.named_device(request.device)
        if device.target != target.id:
            raise UsageError(f"target {target.id} has no device of its own: {request.device}; give an index")
        return device.recipe(target, request)
