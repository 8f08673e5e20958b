"""How rounds are dealt to worker processes.

Rounds within one process agree with one another far better than two processes do: placement of memory and
alignment of code are drawn anew with each process. So the process is the unit of evidence (T. Kalibera and
R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessShares:
    """Rounds are dealt evenly: so many processes take so many rounds, and later ones go on at that rate."""

    #: at least 1
    processes: int
    #: at least as many as there are processes
    rounds: int

    def begins(self, index: int) -> bool:
        """Say whether a process takes over with a round.

        :param index: of the round, from 0; whatever process there is takes the first one.
        """
        return index > 0 and self._process(index) != self._process(index - 1)

    def _process(self, index: int) -> int:
        return index * self.processes // self.rounds
