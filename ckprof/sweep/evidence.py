"""Evidence of a session besides what every session has: peaks of its device, and layers of its problems.

Peaks are those of the device's record, and those that it reaches today. Layers are names, and how often each
occurs: what problem sets say besides sizes.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ckprof.kernels.keys import digest_file
from ckprof.model.roofline import Ceiling, CeilingKind
from ckprof.store.attempt import CANARIES
from ckprof.store.key import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase
    from ckprof.model.types import DataType
    from ckprof.plugin.protocols import Target
    from ckprof.store.attempt import Session
    from ckprof.store.key import DeviceKey


#: name of the evidence in :attr:`~ckprof.store.attempt.Session.environment`; stores have always had it
CEILINGS: Final = "roofs"


def device_ceilings(
    target: Target,
    arch: str,
    device: int | str,
    measure: Callable[[DataType | None], float],
    dtypes: Iterable[DataType],
) -> tuple[Ceiling, ...]:
    """Return what a device reaches: by its record, and bandwidth and multiply-adds as measured now.

    :param device: its index, or the name of one that the target brings along: that reaches nothing which is
        worth measuring.
    :param measure: returns what the device reaches per second, 0 where that is not measured: operations on a
        type, or for ``None`` the bytes of a copy.
    :returns: a measured ceiling per type; only the bandwidth where no type's multiply-adds are measured.
    """
    if isinstance(device, str):
        return ()
    bandwidth = measure(None) / 1e9 or math.inf
    rates = {dtype: measure(dtype) / 1e9 or math.inf for dtype in dict.fromkeys(dtypes)}
    measured = (
        Ceiling(kind=CeilingKind.MEASURED, gflops=rate, gbytes_per_s=bandwidth, dtype=dtype)
        for dtype, rate in rates.items()
        if min(rate, bandwidth) < math.inf
    )
    return (*target.theoretical_ceilings(arch, device), *measured)


def ceiling_evidence(device: DeviceKey, ceilings: Sequence[Ceiling]) -> dict[str, object]:
    """Return what a session keeps, as plain JSON values.

    :param device: what the ceilings are of.
    """
    if not ceilings:
        return {}
    return {CEILINGS: {"device": _names(device), "roofs": [ceiling.as_plain() for ceiling in ceilings]}}


def kept_ceilings(session: Session, device: DeviceKey) -> tuple[Ceiling, ...]:
    """Return the ceilings of a device that a session has kept."""
    kept = session.environment.get(CEILINGS)
    if not isinstance(kept, dict) or kept.get("device") != _names(device):
        return ()
    listed = kept.get("roofs")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    return tuple(ceiling for ceiling in map(Ceiling.from_plain, entries) if ceiling is not None)


def canary_evidence(device: DeviceKey, canary: Path | None) -> dict[str, object]:
    """Return what a session keeps of the canaries, as plain JSON values.

    :param device: where they run.
    :param canary: their object; ``None`` where there is none.
    """
    return {CANARIES: {"device": _names(device), "object": digest_file(canary)}} if canary is not None else {}


def _names(device: DeviceKey) -> Mapping[str, object]:
    """Return what tells devices apart, as far as it bears on their ceilings."""
    return {"target": device.target, "model": device.model, "compute_units": device.compute_units}


#: name of the evidence in :attr:`~ckprof.store.attempt.Session.environment`
LAYERS: Final = "layers"


@dataclass(frozen=True, slots=True, kw_only=True)
class SweptLayer:
    """What is known of a problem besides its sizes."""

    name: str = ""
    #: how often it occurs in each network; one without a name where no source names one
    counts: Mapping[str, int] = field(default_factory=lambda: {"": 1})

    @property
    def count(self) -> int:
        """How often it occurs in all networks together."""
        return sum(self.counts.values())


K = TypeVar("K")


@lru_cache(maxsize=65536)
def problem_digest(problem: Problem) -> str:
    """Return 16 hexadecimal digits that tell problems apart."""
    return hashlib.blake2b(canonical(problem), digest_size=8).hexdigest()


def layer_evidence(cases: Iterable[ProblemCase]) -> dict[str, object]:
    """Return what a session keeps, as plain JSON values: of problems whose source says anything."""
    kept: list[dict[str, object]] = []
    for case in cases:
        said = {
            "name": case.name,
            "network": case.network,
            "count": case.count if case.count > 1 else None,
            "direction": case.direction,
            "dtype": case.dtype.value if case.dtype else None,
            "layout": case.layout,
        }
        if said["name"] or said["network"] or said["count"]:
            present = {name: value for name, value in said.items() if value}
            kept.append({"problem": problem_digest(case.problem), **present})
    return {LAYERS: kept} if kept else {}


class Layers:
    """The names and counts that the sessions of a store have kept.

    :param sessions: oldest first; what a later one says of a problem in a network counts.
    """

    def __init__(self, sessions: Sequence[Session]) -> None:
        self._of_session = [_by_problem(session) for session in reversed(sessions)]

    def __bool__(self) -> bool:
        return any(self._of_session)

    def of(self, problem: Problem, direction: str, dtype: str, layout: str) -> SweptLayer | None:
        """Return what is known of a problem for kernels of one type and layout; ``None`` if nothing is.

        A problem that a set has under several names has all of them, and their counts together. Where a
        session names the network, what others say without one is of the same layers and does not count.
        """
        wanted = {"direction": direction, "dtype": dtype, "layout": layout}
        found: dict[str, list[dict[str, object]]] = {}
        for layers in self._of_session:
            said: dict[str, list[dict[str, object]]] = {}
            for entry in layers.get(problem_digest(problem), ()):
                if all(entry.get(name) in (None, value) for name, value in wanted.items()):
                    said.setdefault(str(entry.get("network", "")), []).append(entry)
            for network, entries in said.items():
                found.setdefault(network, entries)
        if len(found) > 1:
            found.pop("", None)
        if not found:
            return None
        names = (str(entry.get("name", "")) for entries in found.values() for entry in entries)
        return SweptLayer(
            name=", ".join(filter(None, dict.fromkeys(names))),
            counts={network: sum(map(_count, entries)) for network, entries in found.items()},
        )

    def of_keys(self, keys: Iterable[K]) -> dict[K, SweptLayer]:
        """Return what is known of problems, of those of which anything is.

        :param keys: each with ``problem``, ``direction``, ``dtype`` and ``layout``.
        """
        found: dict[K, SweptLayer] = {}
        one: Any
        for one in keys:
            layer = self.of(one.problem, one.direction, one.dtype, one.layout)
            if layer is not None:
                found[one] = layer
        return found


def _by_problem(session: Session) -> dict[str, list[dict[str, object]]]:
    """Return the entries of a session by problem, without whatever is none, as other versions may write."""
    kept = session.environment.get(LAYERS)
    found: dict[str, list[dict[str, object]]] = {}
    for entry in kept if isinstance(kept, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("problem"), str):
            found.setdefault(entry["problem"], []).append(entry)
    return found


def _count(entry: dict[str, object]) -> int:
    count = entry.get("count", 1)
    return count if isinstance(count, int) and count > 0 else 1
