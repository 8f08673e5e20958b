"""What is known of the device of a run, once a worker has opened it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckprof.model.device import DeviceIdentity
    from ckprof.run.events import WorkerReady


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedDevice:
    """A device as its target describes it; false until it is opened."""

    #: one line for people
    text: str = ""
    #: what tells devices apart; ``None`` where the target does not say
    identity: DeviceIdentity | None = None

    def __bool__(self) -> bool:
        return bool(self.text)

    @classmethod
    def of(cls, event: WorkerReady) -> OpenedDevice:
        """Return what a worker said when it was ready."""
        return cls(text=event.device, identity=event.identity)
