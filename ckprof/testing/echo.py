"""The least that a worker of an engine can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckprof.plugin.protocols.engines import Slot


def echo(payload: bytes, slot: Slot) -> bytes:
    """Return a payload backwards."""
    return payload[::-1]
