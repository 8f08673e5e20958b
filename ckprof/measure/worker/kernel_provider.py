"""What a worker serves: a kernel library, or something else with the same shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.measure.worker.abi import CBuffers, CProblem, LibraryInfo
    from ckprof.measure.worker.messages import AbiStatus, Support
    from ckprof.model.device import DeviceIdentity
    from ckprof.model.types import DataType


class TargetMemory(Protocol):
    """Memory of a device, by address."""

    def allocate(self, size_bytes: int) -> int:
        """Return the address of new memory."""

    def release(self, address: int) -> None:
        """Give memory back."""

    def copy_to_device(self, device: int, host: int, size_bytes: int) -> None:
        """Copy from host memory."""

    def copy_to_host(self, host: int, device: int, size_bytes: int) -> None:
        """Copy to host memory."""


class ProviderTarget(TargetMemory, Protocol):
    """Where kernels run."""

    #: largest workspace that kernels have been allowed to take
    workspace_bytes: int

    def flush_cache(self, size_bytes: int) -> None:
        """Evict the caches by touching that many bytes; 0 frees the memory for that."""

    def available_bytes(self) -> int | None:
        """Return how much memory can still be allocated, or ``None`` if that is not known."""

    def identify_device(self) -> DeviceIdentity | None:
        """Return what really computes; ``None`` where that is not said."""


class ProviderKernel(Protocol):
    """What is run."""

    key: str
    name: str

    def is_supported(self, problem: CProblem) -> Support:
        """Say whether the kernel supports the problem, and how it would compute it."""

    def instance_string(self) -> tuple[AbiStatus, str]:
        """Return CK Builder's text."""

    def run(self, problem: CProblem, buffers: CBuffers, launches: int = 1) -> tuple[AbiStatus, str, float]:
        """Run so many times in a row; return the status, its reason and the milliseconds of one."""


class KernelProvider(Protocol):
    """Kernels and the place where they run."""

    @property
    def target(self) -> ProviderTarget:
        """Where the kernels run."""

    @property
    def kernels(self) -> Mapping[str, ProviderKernel]:
        """Key -> kernel."""

    @property
    def info(self) -> LibraryInfo | None:
        """What it says about itself; ``None`` if it says nothing."""


@runtime_checkable
class RoofProvider(Protocol):
    """A provider that measures what its device reaches."""

    def measure_roof(self, dtype: DataType | None, size_bytes: int, seconds: float) -> float:
        """Return bytes per second of a copy, or operations per second; see :class:`.abi.Library`."""


@runtime_checkable
class UnitProvider(Protocol):
    """A provider that may choose a unit of its device for each launch."""

    def units_used(self) -> tuple[str, ...]:
        """Return which ones computed the launches since the last call; see :class:`.abi.Library`."""
