"""The baselines that a run is compared with, as plugins register them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.errors import ToolchainError
from ckprof.run.baselines import BaselineSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.api.session import Session


def baseline_sources(session: Session, ids: Sequence[str], target: str | None) -> list[BaselineSource]:
    """Return the baselines of these ids, for the device of a target.

    :param target: id; ``None`` for the usual target.
    :raises UsageError: there is no such baseline or target.
    :raises ToolchainError: its library is not installed.
    """
    on_host = session.target(target).embedded
    found = []
    for id_ in ids:
        baseline = session.registry.baselines.find(id_)
        missing = baseline.missing()
        if missing:
            raise ToolchainError(f"baseline {id_}: {missing}")
        found.append(BaselineSource(id=id_, entry=baseline.entry, on_host=on_host))
    return found
