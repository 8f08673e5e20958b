"""What reads evidence about the machine while it measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from ckprof.model.device import Reading


@runtime_checkable
class Observer(Protocol):
    """Reads evidence once per round. Plugins add their own."""

    @property
    def id(self) -> str:
        """Name for messages."""

    def observe(self, target: str, device: int) -> Reading | None:
        """Return what can be seen now; ``None`` if the observer has nothing to say about this target.

        Called in the parent process between two attempts, so it must be quick.

        :param target: id of the target.
        :param device: index of the device.
        """
