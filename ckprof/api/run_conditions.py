"""What disturbs the times of a run, as observers see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.sweep.observer import combine

if TYPE_CHECKING:
    from ckprof.api.session import Session


class RunConditions:
    """Collects the warnings of all observers, one of each kind.

    :param target: id of the target.
    :param device: index of the device.
    """

    def __init__(self, session: Session, target: str, device: int) -> None:
        self._session = session
        self._place = target, device
        self._warnings: dict[str, str] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was seen, in the order in which it was seen first."""
        return tuple(self._warnings.values())

    def look(self) -> list[str]:
        """Have the observers look; return warnings of kinds that were not seen before."""
        from ckprof.api.observers import observers

        found = [observer.read(*self._place) for observer in observers(self._session)]
        new = {}
        for text in combine([reading for reading in found if reading is not None]).warnings():
            kind = text.split(" is ")[0]
            if kind not in self._warnings:
                new[kind] = text
        self._warnings |= new
        return list(new.values())
