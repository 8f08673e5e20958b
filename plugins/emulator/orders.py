"""Runs of one kernel in several orders of its workgroups and waves, whose results have to be the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof_plugins.emulator.emulated_library import LibraryProcess
from ckprof_plugins.emulator.ordered_launch import OrderedRun, run_orders

if TYPE_CHECKING:
    from ckprof.model.problem import Problem


class Orders(LibraryProcess):
    """Runs kernels in several orders; a context manager, as :class:`LibraryProcess` says.

    Its device should have one thread: between threads, no order is kept.
    """

    def run(self, key: str, problem: Problem, *, split_k: int = 1, seed: int = 0) -> OrderedRun:
        """Execute a kernel as workgroups and waves are numbered, the other way round, and as drawn.

        :param key: content key of the kernel's instance.
        :param seed: of the orders that are drawn, and of the operands' values.
        """
        return self._answer(
            run_orders, *(key, problem, split_k, seed), broken=lambda why: OrderedRun(found=why)
        )
