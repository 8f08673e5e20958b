"""What Parsl runs in its workers. It imports nothing of Parsl, so that a worker starts quickly."""

from __future__ import annotations

import os
import platform
from typing import Final

from ckprof.plugin.protocols.engines import Slot
from ckprof_plugins.cluster.child import find_handler

#: set for every worker with an accelerator of its own, for the devices of either vendor
_PINNED: Final = ("ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


def run(handler: str, payload: bytes, pinned: bool) -> bytes:
    """Run a payload on the device that the worker is pinned to.

    :param handler: ``module:name``.
    :param pinned: the pool has one worker per device; otherwise it has no devices.
    """
    return find_handler(handler)(payload, slot_of(pinned))


def slot_of(pinned: bool) -> Slot:
    """Return the worker's device: the only one that it sees, so number 0, named as its host names it."""
    label = next((value for name in _PINNED if (value := os.environ.get(name))), "") if pinned else ""
    if not label:
        label = f"{platform.node()}-worker-{os.environ.get('PARSL_WORKER_RANK', '0')}"
    return Slot(device=0, label=label)
