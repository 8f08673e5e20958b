"""Orders of workgroups and waves, where a device can choose them: results have to be the same in all."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from ckprof.events import Progress, ProgressEnded
from ckprof.model.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof_plugins.hunt.hunting import Hunt, Pair

#: share of the time after which findings are made smaller
_SHARE: Final = 0.92


class Ordered(Protocol):
    """What a kernel did in several orders."""

    #: what is wrong, in a sentence; empty if nothing is
    found: str
    #: why nothing was compared; empty where it was
    unsupported: str


class Orders(Protocol):
    """Runs a library's kernels in several orders."""

    def run(self, key: str, problem: Problem, *, split_k: int, seed: int) -> Ordered:
        """Run one kernel, and compare its results."""


@runtime_checkable
class OrderingDevice(Protocol):
    """A device that executes workgroups and waves in the order that it is asked for."""

    def orders(self, library: Path, arch: str, device: str) -> AbstractContextManager[Orders]:
        """Return what runs the kernels of a library that is built for the device.

        :param device: its name with settings, as ``--device`` has it.
        :raises ToolchainError: the library cannot be loaded.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFinding:
    """A kernel whose result depends on an order."""

    text: str
    #: kinds of the boundaries at which the problem lies
    boundaries: tuple[str, ...]
    kernels: tuple[str, ...]
    problem: Problem
    split_k: int


def order_findings(hunt: Hunt) -> list[OrderFinding]:
    """Run what is right in several orders, count it in the hunt, and return what each kernel is wrong on.

    One problem of each kernel for each kind of boundary, the smaller ones first, until one is found. Nothing
    is run where the device cannot. What ends it before all were tried is said by the hunt.
    """
    device, library = hunt.device, hunt.library
    if not isinstance(device, OrderingDevice) or library is None or library.path is None:
        return []
    pairs = list(_chosen(hunt))
    found: dict[str, OrderFinding] = {}
    try:
        with device.orders(library.path, library.recipe.arch, hunt.device_name) as orders:
            for number, (key, problem, splits) in enumerate(pairs):
                hunt.unordered = len(pairs) - number
                if hunt.seconds_left(_SHARE) <= 0:
                    break
                if key in found:
                    continue
                hunt.emit(Progress(what="orders", done=number, total=len(pairs)))
                run = orders.run(key, problem, split_k=splits, seed=hunt.seed)
                hunt.ordered += not run.unsupported
                if run.found:
                    kinds = dict.fromkeys(kind for kind, _ in hunt.planned[key, problem, splits])
                    found[key] = OrderFinding(
                        text=run.found,
                        boundaries=tuple(kinds),
                        kernels=(key,),
                        problem=problem,
                        split_k=splits,
                    )
            else:
                hunt.unordered = 0
    except BaseException as error:  # whatever it is: what was found until then is shown
        hunt.error = error
    hunt.emit(ProgressEnded())
    return list(found.values())


def _chosen(hunt: Hunt) -> Iterator[Pair]:
    """Yield pairs that were right: of each kernel the smallest and the largest one of each kind."""
    right = [
        pair for pair in hunt.planned if pair in hunt.outcomes and hunt.outcomes[pair].status is Status.OK
    ]
    for key in hunt.candidates:
        mine = sorted((one for one in right if one[0] == key), key=lambda pair: pair[1].flop)
        chosen: dict[Pair, None] = {}
        for pairs in (mine, mine[::-1]):
            seen: set[str] = set()
            for pair in pairs:
                kinds = {kind for kind, _ in hunt.planned[pair]}
                if kinds - seen:
                    seen |= kinds
                    chosen[pair] = None
        yield from chosen
