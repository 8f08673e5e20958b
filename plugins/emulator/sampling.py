"""Runs of a few workgroups, for problems whose tensors are larger than the machine's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof_plugins.emulator.emulated_library import LibraryProcess
from ckprof_plugins.emulator.sampled_launch import SampledRun, run_places

if TYPE_CHECKING:
    from ckprof.model.problem import Problem

#: workgroups of a launch that are executed
WORKGROUPS: Final = 12


class Sampler(LibraryProcess):
    """Runs a few workgroups of kernels; a context manager, as :class:`LibraryProcess` says."""

    def run(
        self, key: str, problem: Problem, *, split_k: int = 1, workgroups: int = WORKGROUPS, seed: int = 0
    ) -> SampledRun:
        """Execute the first and the last workgroup, those around the end of 32-bit integers, and some others.

        :param key: content key of the kernel's instance.
        :param workgroups: of each launch, at most.
        :param seed: of the others, and of the operands' values.
        """
        return self._answer(
            run_places,
            *(key, problem, split_k, workgroups, seed),
            broken=lambda why: SampledRun(reason=why),
        )
