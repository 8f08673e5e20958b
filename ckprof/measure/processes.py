"""How rounds are dealt to worker processes.

Rounds within one process agree with one another far better than two processes do: placement of memory and
alignment of code are drawn anew with each process. So the process is the unit of evidence (T. Kalibera and
R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013), and no number of rounds in one process shows
what it does to a kernel. Processes take turns: a new one costs far more than a turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: worker processes that the kernels of a problem are measured in, as far as there are as many rounds: two
#: show that they differ, the third one tells which of them does
USUAL_PROCESSES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessShares:
    """Rounds are dealt evenly: so many processes take so many rounds, and later ones go on at that rate."""

    #: at least 1
    processes: int
    #: at least as many as there are processes
    rounds: int

    def turn(self, index: int) -> int:
        """Return the number of the process that measures a round.

        :param index: of the round, from 0.
        """
        return index * self.processes // self.rounds % self.processes
