"""Runs of a few workgroups, for problems whose tensors are larger than the machine's memory."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof_plugins.emulator.sampled_launch import SampledRun, open_library, run_places

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ckprof.model.problem import Problem

#: workgroups of a launch that are executed
WORKGROUPS: Final = 12


class Sampler:
    """Runs kernels of a library that is linked with the emulated device; a context manager.

    A kernel that brings its process down costs one answer.

    :param library: built for the emulated device.
    :param arch: what it was built for, with features.
    :param variables: settings of the device, as its ``variables()`` returns them.
    :raises ToolchainError: the library cannot be loaded, or is not linked with the device.
    """

    def __init__(self, library: Path, arch: str, variables: Mapping[str, str] | None = None) -> None:
        self._opened = str(library.resolve()), arch, dict(variables or {})
        self._pool = self._start()

    def __enter__(self) -> Sampler:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:  # the kernel that runs is not waited for
            os.kill(self._process, signal.SIGKILL)
        self._pool.shutdown(cancel_futures=True)

    def run(
        self, key: str, problem: Problem, *, split_k: int = 1, workgroups: int = WORKGROUPS, seed: int = 0
    ) -> SampledRun:
        """Execute the first and the last workgroup, those around the end of 32-bit integers, and some others.

        :param key: content key of the kernel's instance.
        :param workgroups: of each launch, at most.
        :param seed: of the others, and of the operands' values.
        """
        try:
            return self._pool.submit(run_places, key, problem, split_k, workgroups, seed).result()
        except BrokenProcessPool:
            self._pool = self._start()
            return SampledRun(reason="the kernel ended its process")

    def _start(self) -> ProcessPoolExecutor:
        pool = ProcessPoolExecutor(1, get_context("spawn"))
        if why := pool.submit(open_library, *self._opened).result():
            pool.shutdown()
            raise ToolchainError(f"{self._opened[0]}: its kernels cannot be sampled: {why}")
        self._process = pool.submit(os.getpid).result()
        return pool
