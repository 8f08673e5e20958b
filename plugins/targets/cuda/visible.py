"""Which GPU of the machine ``--device N`` is: the CUDA runtime numbers those that a variable lets it see."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE: Final = "CUDA_VISIBLE_DEVICES"


def machine_device(index: int, environment: Mapping[str, str] = os.environ) -> int | str | None:
    """Return how the driver's tools know a device of the runtime.

    The runtime orders GPUs of different models by speed unless ``CUDA_DEVICE_ORDER`` is ``PCI_BUS_ID``; among
    equal ones, as machines for measurements have them, both orders are the same.

    :param index: the runtime's number.
    :returns: its number on the machine, or the beginning of its UUID; ``None`` if it is hidden.
    """
    listed = environment.get(VARIABLE)
    if listed is None:
        return index
    entries: list[int | str] = []
    for word in (part.strip() for part in listed.split(",")):
        entry = int(word) if word.isascii() and word.isdecimal() else word
        # as in the runtime, the list ends at what names no device
        if isinstance(entry, str) and not entry.startswith(("GPU-", "MIG-")):
            break
        entries.append(entry)
    return entries[index] if 0 <= index < len(entries) else None
