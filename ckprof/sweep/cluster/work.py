"""What a coordinator is given: the units of a sweep, and who is told of what becomes of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.store.attempt import Attempt
    from ckprof.store.query import SharedKey
    from ckprof.sweep.cluster.folder import SweepFolder
    from ckprof.sweep.cluster.leases import LeasePolicy
    from ckprof.sweep.cluster.messages import ReferencePolicy, Unit
    from ckprof.sweep.cluster.tally import ClusterProgress
    from ckprof.sweep.plan import PlannedContest

#: seconds between looks at shards and leases
POLL_S: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenUnit:
    """A unit that is not finished, with what is known of it."""

    unit: Unit
    planned: PlannedContest


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a coordinator has to do."""

    #: digest of the job
    job: str
    shared: SharedKey
    #: unfinished units, in the order in which they are handed out
    units: Sequence[OpenUnit]
    #: rankings, finished ones included
    rankings: int
    #: plans a unit again, from what the store has by then; ``None`` once nothing of it is left
    plan_again: Callable[[Unit], OpenUnit | None]
    reference: ReferencePolicy
    reference_problem: Unit | None
    leases: LeasePolicy
    #: where shards are; workers see it unless ``sends`` is set
    folder: SweepFolder
    #: objects and shards travel through the engine
    sends: bool = False


@dataclass(slots=True, kw_only=True)
class ClusterWatch:
    """What the caller is told, and how it ends the sweep."""

    on_progress: Callable[[ClusterProgress], None] = lambda progress: None
    on_message: Callable[[str], None] = lambda text: None
    on_warning: Callable[[str], None] = lambda text: None
    #: told each problem before it is handed out
    on_unit: Callable[[PlannedContest], None] = lambda planned: None
    #: told each new outcome after it is stored
    on_attempt: Callable[[Attempt], None] = lambda attempt: None
    should_stop: Callable[[], bool] = lambda: False
    max_time_s: float | None = None
    #: seconds that workers get to end after a stop was requested
    stop_s: float = 60.0
    clock: Callable[[], float] = time.monotonic
    poll_s: float = POLL_S
