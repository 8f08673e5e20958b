"""Announces the emulated device, which runs and times kernels of the hip target on any machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof import hookimpl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols import NamedDevice


@hookimpl
def ckprof_register_devices() -> Sequence[NamedDevice]:
    """Add the device."""
    from ckprof_plugins.emulator.device import EmulatedDevice

    return [EmulatedDevice()]
