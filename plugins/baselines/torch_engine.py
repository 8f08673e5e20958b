"""What torch computes, in memory that other code fills and reads by address. Imported by a worker alone."""

from __future__ import annotations

import ctypes
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ckprof.measure.worker.baseline_session import BaselineRejection, BaselineUnusable
from ckprof.model.computation import Computation
from ckprof.model.types import ComputeType

try:
    import torch
except ImportError as exc:
    raise BaselineUnusable(f"torch cannot be imported: {exc}") from exc

from ckprof_plugins.baselines import torch_convolution, torch_product

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ckprof.measure.worker.messages import DeviceChoice
    from ckprof.model.requirement import UnmetRequirement

#: of the device's clock: longer than torch needs to launch what it computes
_BUSY_CYCLES: Final = 500_000
#: in errors of libraries, in lower case, that say that there is no algorithm for a problem
_NOT_SUPPORTED: Final = (
    "not supported",
    "not_supported",
    "not implemented",
    "itensor_view_from_dense expects",
)


def make_engine(device: DeviceChoice, on_host: bool) -> TorchEngine:
    """Return an engine for the host, or for the GPU with that index.

    :raises BaselineUnusable: this build of torch cannot use such a device.
    """
    if on_host:
        if device.cpu_threads:
            torch.set_num_threads(device.cpu_threads)
        return TorchEngine(torch.device("cpu"))
    if not torch.cuda.is_available():
        built = torch.version.cuda or torch.version.hip
        why = "sees no GPU" if built else "was built without support for GPUs"
        raise BaselineUnusable(f"torch {torch.__version__} {why}; install the build for your GPU and driver")
    if device.index >= torch.cuda.device_count():
        raise BaselineUnusable(
            f"torch sees {torch.cuda.device_count()} GPUs, there is no device {device.index}"
        )
    torch.cuda.set_device(device.index)
    return TorchEngine(torch.device("cuda", device.index))


class TorchEngine:
    """A :class:`~ckprof.measure.worker.baseline_session.BaselineEngine`.

    Algorithms are measured beforehand where the library can do that, and reduced precision (TF32 for fp32) is
    off unless the instances have it as well.

    :param device: where it computes.
    """

    def __init__(self, device: Any) -> None:
        self._device = device
        self._on_gpu = device.type == "cuda"
        self._blocks: dict[int, Any] = {}
        #: pieces of others' memory, with what keeps them
        self._borrowed: dict[int, tuple[Any, object]] = {}
        self._flush: Any = None
        self._pattern = 0
        if self._on_gpu:
            torch.backends.cudnn.benchmark = True

    @property
    def description(self) -> str:
        """Versions of torch and of the library, and the device."""
        if not self._on_gpu:
            return f"torch {torch.__version__}, {_host_library()}, {torch.get_num_threads()} CPU threads"
        platform = f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
        library = f"{'MIOpen' if torch.version.hip else 'cuDNN'} {torch.backends.cudnn.version()}"
        device = torch.cuda.get_device_name(self._device)
        return f"torch {torch.__version__}, {platform}, {library}, {device}"

    def allocate(self, size_bytes: int) -> int:
        """Return the address of new memory of the device."""
        block = self._new(max(1, size_bytes))
        self._blocks[block.data_ptr()] = block
        return int(block.data_ptr())

    def release(self, address: int) -> None:
        """Give a piece of memory back."""
        del self._blocks[address]

    def copy_to_device(self, device: int, host: int, size_bytes: int) -> None:
        """Copy from host memory to memory of the device, both given by address."""
        if size_bytes:
            self._bytes(device, size_bytes).copy_(_host_bytes(host, size_bytes))

    def copy_to_host(self, host: int, device: int, size_bytes: int) -> None:
        """Copy from memory of the device to host memory, both given by address."""
        if size_bytes:
            _host_bytes(host, size_bytes).copy_(self._bytes(device, size_bytes))

    def flush_cache(self, size_bytes: int) -> None:
        """Write that many bytes; the device need not be done when this returns."""
        if self._flush is None or self._flush.numel() != size_bytes:
            self._flush = None
            self._flush = self._new(size_bytes) if size_bytes else None
        if self._flush is not None:
            self._pattern ^= 1
            self._flush.fill_(self._pattern)

    def available_bytes(self) -> int | None:
        """Return the free memory of a GPU; that of the host is not known to torch."""
        return int(torch.cuda.mem_get_info(self._device)[0]) if self._on_gpu else None

    @property
    def operations(self) -> tuple[str, ...]:
        """Ids of the operations that it computes."""
        return (*torch_convolution.OPERATIONS, *torch_product.OPERATIONS)

    def unmet_requirements(self, work: Computation) -> list[UnmetRequirement]:
        """Return what torch cannot do."""
        if work.operation in torch_convolution.OPERATIONS:
            return torch_convolution.unmet_requirements(work)
        return torch_product.unmet_requirements(work, self._device)

    def roundings(self, work: Computation) -> int:
        """Return how often torch rounds a sum until it is an element of the result."""
        if work.operation in torch_convolution.OPERATIONS:
            return torch_convolution.roundings(work, on_gpu=self._on_gpu)
        return torch_product.roundings(work)

    def run(self, work: Computation, addresses: Mapping[str, int]) -> float:
        """Compute the result once; return milliseconds, without those of copying it to its place.

        :raises BaselineRejection: the library says that it cannot do this.
        """
        self._set_precision(work)
        with torch.no_grad(), _rejections():
            result, compute = self._prepared(work, addresses)
            computed, time_ms = self._timed(compute)
            result.copy_(computed)
        if self._on_gpu:
            torch.cuda.synchronize(self._device)
        return time_ms

    def borrow(self, address: int, size_bytes: int, owner: object) -> None:
        """Have memory of others from now on; it lives as long as its owner is referred to."""
        if self._on_gpu:
            block = torch.as_tensor(_Borrowed(address, size_bytes, owner), device=self._device)
        else:
            block = _host_bytes(address, size_bytes)
        self._borrowed[address] = (block, owner)

    def forget_borrowed(self) -> None:
        """Have no memory of others any more."""
        self._borrowed.clear()

    def launch(self, work: Computation, addresses: Mapping[str, int]) -> None:
        """Compute the result once, with its copy to its place; a GPU need not be done when this returns.

        :raises BaselineRejection: the library says that it cannot do this.
        """
        self._set_precision(work)
        with torch.no_grad(), _rejections():
            result, compute = self._prepared(work, addresses)
            result.copy_(compute())

    def _set_precision(self, work: Computation) -> None:
        if self._on_gpu:
            allowed = work.compute_type is ComputeType.TF32
            torch.backends.cudnn.allow_tf32 = allowed
            torch.backends.cuda.matmul.allow_tf32 = allowed

    def _prepared(self, work: Computation, addresses: Mapping[str, int]) -> tuple[Any, Callable[[], Any]]:
        """Return where the result belongs, and what computes it."""
        result = work.tensors[-1].name
        if work.operation in torch_convolution.OPERATIONS:
            views = torch_convolution.tensors(work, addresses, self._bytes)
            return views[result], torch_convolution.computation(work, views)
        views = torch_product.tensors(work, addresses, self._bytes)
        return views[result], torch_product.computation(work, views, self._device)

    def _timed(self, compute: Callable[[], Any]) -> tuple[Any, float]:
        if not self._on_gpu:
            start = time.perf_counter()
            result = compute()
            return result, (time.perf_counter() - start) * 1e3
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        # torch takes tens of microseconds to launch what it computes: a device that had nothing to do would
        # reach the first event at once, and wait for the rest with the clock running
        torch.cuda._sleep(_BUSY_CYCLES)
        begin.record()
        result = compute()
        end.record()
        end.synchronize()
        return result, float(begin.elapsed_time(end))

    def _new(self, size_bytes: int) -> Any:
        try:
            return torch.empty(size_bytes, dtype=torch.uint8, device=self._device)
        except RuntimeError as exc:  # what torch raises where memory is short, on the host and on a GPU
            if "memory" not in str(exc):
                raise
            raise MemoryError(f"torch cannot allocate {size_bytes} bytes") from exc

    def _bytes(self, address: int, size_bytes: int) -> Any:
        """Return a view of memory of the device."""
        pieces = (*self._blocks.items(), *((at, block) for at, (block, _) in self._borrowed.items()))
        for base, block in pieces:
            if base <= address and address + size_bytes <= base + block.numel():
                return block[address - base : address - base + size_bytes]
        raise ValueError(f"no memory at {address:#x}")


class _Borrowed:
    """Memory of a GPU as torch takes it from others."""

    def __init__(self, address: int, size_bytes: int, owner: object) -> None:
        self._owner = owner
        self.__cuda_array_interface__ = {
            "shape": (size_bytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


@contextmanager
def _rejections() -> Iterator[None]:
    """Tell what a library has no algorithm for from what went wrong.

    :raises BaselineRejection: it has none.
    """
    try:
        yield
    except RuntimeError as exc:
        text = str(exc)
        if any(mark in text.lower() for mark in _NOT_SUPPORTED):
            raise BaselineRejection(text.strip().partition("\n")[0]) from exc
        raise


def _host_bytes(address: int, size_bytes: int) -> Any:
    return torch.frombuffer((ctypes.c_char * size_bytes).from_address(address), dtype=torch.uint8)


def _host_library() -> str:
    """Return the name and version of what computes on the CPU."""
    if not torch.backends.mkldnn.is_available():
        return "without oneDNN"
    marks = [line for line in torch.__config__.show().splitlines() if "MKL-DNN" in line]
    words = marks[0].split() if marks else []
    return f"oneDNN {next((word for word in words if word.startswith('v')), '')}".rstrip()
