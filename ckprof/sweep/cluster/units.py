"""The plan of a sweep as units, which are handed out one by one."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from ckprof.model.problem_run import ProblemRun
from ckprof.store.key import canonical
from ckprof.sweep.cluster.messages import Unit
from ckprof.sweep.cluster.work import OpenUnit
from ckprof.sweep.plan import make_plan

if TYPE_CHECKING:
    from ckprof.sweep.plan import PastReader, PlannedContest, PlanRequest


class Units:
    """What a sweep has to do, and what is left of a unit after somebody has worked on it.

    :param planning: with ``one_card`` set.
    :param past: reads what the store has.
    """

    def __init__(self, planning: PlanRequest, past: PastReader) -> None:
        self._planning = planning
        self._past = past
        self.plan = make_plan(planning, past)

    def open(self) -> list[OpenUnit]:
        """Return what is left, the longest first: what is short fills the gaps at the end."""
        found = [OpenUnit(unit=self._unit(one), planned=one) for one in self.plan.open_contests]
        return sorted(found, key=lambda one: -_effort(one.planned))

    def again(self, unit: Unit) -> OpenUnit | None:
        """Plan a unit again, from what the store has by now."""
        one = ProblemRun(problem=unit.problem, dtype=unit.dtype, layout=unit.layout, splits=unit.splits)
        plan = make_plan(replace(self._planning, problems=[one]), self._past)
        for planned in plan.open_contests:
            planned = replace(planned, problem_index=unit.problem_index)
            return OpenUnit(unit=self._unit(planned), planned=planned)
        return None

    def _unit(self, planned: PlannedContest) -> Unit:
        shared = planned.shared
        splits = dict.fromkeys(cell.split_k for cell in planned.contest.cells)
        text = f"{shared.operation.direction} {shared.dtype} {shared.layout} "
        return Unit(
            id=hashlib.blake2b(text.encode() + canonical(planned.problem), digest_size=10).hexdigest(),
            problem=planned.problem,
            problem_index=planned.problem_index,
            dtype=shared.dtype,
            layout=shared.layout,
            splits=tuple(splits),
            past=planned.past,
            card=planned.card,
            last_round=planned.last_round,
            fresh=self._planning.fresh,
            retry_failed=self._planning.retry_failed,
        )


def _effort(planned: PlannedContest) -> float:
    """Return about how long a problem takes, in any unit that is the same for all."""
    return planned.contest.remaining_visits * (1e9 + planned.problem.real_flop)
