"""A library of others in a process like that of a candidate, in the same memory and timed the same way."""

from __future__ import annotations

import ctypes
from typing import Any, Protocol, runtime_checkable

import msgspec

from ckprof.measure.worker.baseline_session import BaselineRejection, SteppingEngine, load_engine
from ckprof.measure.worker.messages import DeviceChoice
from ckprof.model.computation import Computation
from ckprof.model.requirement import UnmetRequirement
from ckprof_plugins.judge.native_candidate import UnusableError

_OK, _REJECTED = 0, 1
#: why an engine cannot be served
OWN_MEMORY = "it computes in memory of its own alone"


@runtime_checkable
class BorrowingEngine(Protocol):
    """An engine that can compute in memory of others, without a clock of its own."""

    @property
    def description(self) -> str:
        """Library, versions and device in one line."""

    def borrow(self, address: int, size_bytes: int, owner: object) -> None:
        """Have a piece of memory from now on, which lives as long as its owner is referred to."""

    def forget_borrowed(self) -> None:
        """Have none of these pieces any more."""

    def launch(self, work: Computation, addresses: dict[str, int]) -> None:
        """Compute the result once; a GPU need not be done when this returns.

        :raises BaselineRejection: the library cannot do this.
        """


class ServedBaseline:
    """An engine as the program that serves a candidate calls one.

    :raises UnusableError: it computes in memory of its own alone.
    """

    splits = False

    def __init__(self, config: dict[str, Any]) -> None:
        make: Any = load_engine(config["entry"])
        gpu = config["gpu"]
        device = DeviceChoice(index=gpu or 0, cpu_threads=config["cpu_threads"])
        engine: Any = make(device, gpu is None)
        if not isinstance(engine, BorrowingEngine):
            raise UnusableError(OWN_MEMORY)
        self._engine: Any = engine
        #: versions and device
        self.description = str(self._engine.description)

    def support(self, computation: Any) -> dict[str, Any]:
        """Return what the library cannot do, and how often it rounds a sum."""
        work = msgspec.convert(computation, Computation)
        if work.operation not in self._engine.operations:
            message = f"it has nothing for the operation {work.operation}"
            unmet = [UnmetRequirement(rule="baseline-operation", message=message)]
        else:
            unmet = self._engine.unmet_requirements(work)
        known = not unmet and isinstance(self._engine, SteppingEngine)
        return {
            "unmet": [{"rule": one.rule, "message": one.message} for one in unmet],
            "roundings": self._engine.roundings(work) if known else 0,
        }

    def set_work(self, work: dict[str, Any], memory: list[Any]) -> None:
        """Take the tensors of a problem."""
        self._work = msgspec.convert(work["computation"], Computation)
        self._engine.forget_borrowed()
        self._addresses = {}
        for tensor, place, block in zip(work["tensors"], work["places"], memory, strict=True):
            is_host = isinstance(block, ctypes.Array)
            address = (ctypes.addressof(block) if is_host else block.address) + place["offset"]
            self._engine.borrow(address, place["bytes"], block)
            self._addresses[tensor["name"]] = address

    def run(self) -> tuple[int, str]:
        """Compute once."""
        try:
            self._engine.launch(self._work, self._addresses)
        except BaselineRejection as exc:
            return _REJECTED, str(exc)
        return _OK, ""

    def files(self) -> list[str]:
        """Return nothing: its files are the library's."""
        return []

    def evidence(self) -> str:
        """Return nothing: nobody suspects it."""
        return ""
