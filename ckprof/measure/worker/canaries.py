"""The canaries of a target, loaded into the worker that measures the kernels beside them."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING

from ckprof.model.device import CANARIES

if TYPE_CHECKING:
    from ckprof.measure.worker.messages import DeviceChoice


class CanaryLibrary:
    """Times canaries on a device.

    :param path: their object.
    :raises OSError: it cannot be loaded.
    """

    def __init__(self, path: str, device: DeviceChoice) -> None:
        try:
            self._time = ctypes.CDLL(path).ckprof_canary_ms
        except AttributeError as exc:
            raise OSError(str(exc)) from None
        self._time.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_double))
        self._device = device

    def times(self) -> dict[str, float]:
        """Return the time of each canary in milliseconds, without those that fail."""
        found, device, ms = {}, self._device, ctypes.c_double()
        for number, name in enumerate(CANARIES):
            status = self._time(number, device.index, device.cpu_threads, ctypes.byref(ms))
            if status == 0 and math.isfinite(ms.value) and ms.value > 0:
                found[name] = round(ms.value, 6)
        return found
