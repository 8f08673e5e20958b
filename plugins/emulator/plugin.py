"""The emulated device, which runs and times kernels of the hip target on any machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from ckprof.plugin.additions import Additions


@hookimpl
def ckprof_register(registry: Additions) -> None:
    """Register the device."""
    from ckprof.plugin.protocols import NamedDevice

    registry.add_lazy(NamedDevice, "ckprof_plugins.emulator.device:EmulatedDevice")
