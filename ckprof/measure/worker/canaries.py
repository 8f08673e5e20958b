"""The canaries of a target, timed in the worker that measures the kernels beside them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from ckprof.model.device import CANARIES

if TYPE_CHECKING:
    from ckprof.measure.worker.messages import DeviceChoice


def canary_times(path: str, device: DeviceChoice) -> dict[str, float]:
    """Return the time of each canary in milliseconds, by name.

    :param path: their object, which stays loaded.
    :raises OSError: it cannot be loaded, or one cannot be timed.
    """
    try:
        time = ctypes.CDLL(path).ckprof_canary_ms
    except AttributeError as exc:
        raise OSError(str(exc)) from None
    found, ms = {}, ctypes.c_double()
    for number, name in enumerate(CANARIES):
        if time(number, device.index, device.cpu_threads, ctypes.byref(ms)) or not 0 < ms.value < 1e6:
            raise OSError(f"the {name} canary cannot be timed")
        found[name] = round(ms.value, 6)
    return found
