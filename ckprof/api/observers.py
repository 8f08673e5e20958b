"""Who reads evidence about the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ckprof.errors import PluginError
from ckprof.sweep.observer import HostObserver, Observer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.api.session import Session


def observers(session: Session) -> list[Observer]:
    """Return what reads evidence: the host, and what plugins add."""
    embedded = frozenset(target.id for target in session.registry.targets if target.embedded)
    found: list[Observer] = [HostObserver(embedded)]
    for plugin, added in session.manager.call("ckprof_register_observers"):
        for observer in cast("Sequence[object]", added):
            if not isinstance(observer, Observer):
                raise PluginError(f"plugin {plugin}: {observer!r} is no observer: it has no id or no read()")
            found.append(observer)
    return found
