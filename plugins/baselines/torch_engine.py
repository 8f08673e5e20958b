"""Convolutions by torch, in memory that other code fills and reads by address. Imported by a worker alone."""

from __future__ import annotations

import ctypes
import time
from typing import TYPE_CHECKING, Any, Final

from ckprof.model.compute_type import ComputeType
from ckprof.model.dtype import DataType
from ckprof.model.layout import tensor_shape
from ckprof.model.requirement import UnmetRequirement
from ckprof.run.baseline_engine import BaselineUnusable

try:
    import torch
except ImportError as exc:
    raise BaselineUnusable(f"torch cannot be imported: {exc}") from exc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ckprof.model.baseline import BaselineConvolution
    from ckprof.run.messages import DeviceChoice

_TYPES: Final = {
    DataType.FP16: torch.float16,
    DataType.BF16: torch.bfloat16,
    DataType.FP32: torch.float32,
}
#: pairs of neighbouring axes that torch knows as one: channels of all groups
_JOINED: Final = {"input": "GC", "weight": "GK", "output": "GK"}
#: what torch calls channels, first of output then of input, in a weight; and the batch of the others
_LEADING: Final = {"input": "NC", "weight": "KC", "output": "NK"}
#: of the device's clock: longer than torch needs to launch a convolution
_BUSY_CYCLES: Final = 500_000


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
    """A :class:`~ckprof.run.baseline_engine.BaselineEngine`.

    Algorithms are measured beforehand where the library can do that, and reduced precision (TF32 for fp32) is
    off unless the instances have it as well.

    :param device: where it computes.
    """

    def __init__(self, device: Any) -> None:
        self._device = device
        self._on_gpu = device.type == "cuda"
        self._blocks: dict[int, Any] = {}
        self._flush: Any = None
        self._pattern = 0
        if self._on_gpu:
            torch.backends.cudnn.benchmark = True

    @property
    def description(self) -> str:
        """Versions of torch and of the library, and the device."""
        if not self._on_gpu:
            return f"torch {torch.__version__}, {_host_library()}, {torch.get_num_threads()} CPU threads"
        library = "MIOpen" if torch.version.hip else "cuDNN"
        version = torch.backends.cudnn.version()
        return f"torch {torch.__version__}, {library} {version}, {torch.cuda.get_device_name(self._device)}"

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

    def unmet_requirements(self, convolution: BaselineConvolution) -> list[UnmetRequirement]:
        """Return what torch cannot do: pads that differ, types that it does not have."""
        found = []
        problem = convolution.problem
        if problem.left_pads != problem.right_pads:
            message = f"torch pads both sides alike, not {problem.left_pads} and {problem.right_pads}"
            found.append(UnmetRequirement(rule="baseline-pads", message=message))
        if convolution.dtype not in _TYPES:
            message = f"torch convolves no {convolution.dtype.value}"
            found.append(UnmetRequirement(rule="baseline-type", message=message))
        if convolution.direction not in _DIRECTIONS:
            message = f"torch has no operation for the direction {convolution.direction}"
            found.append(UnmetRequirement(rule="baseline-direction", message=message))
        return found

    def run(self, convolution: BaselineConvolution, addresses: Mapping[str, int]) -> float:
        """Compute the result once; return milliseconds, without those of copying it to its place."""
        views = {name: self._view(convolution, name, addresses[name]) for name in _JOINED}
        compute = _DIRECTIONS[convolution.direction]
        if self._on_gpu:
            allowed = convolution.compute_type is ComputeType.TF32
            torch.backends.cudnn.allow_tf32 = allowed
            torch.backends.cuda.matmul.allow_tf32 = allowed
        with torch.no_grad():
            result, time_ms = self._timed(lambda: compute(convolution, views))
            views[convolution.result].copy_(result)
        if self._on_gpu:
            torch.cuda.synchronize(self._device)
        return time_ms

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
        for base, block in self._blocks.items():
            if base <= address and address + size_bytes <= base + block.numel():
                return block[address - base : address - base + size_bytes]
        raise ValueError(f"no memory at {address:#x}")

    def _view(self, convolution: BaselineConvolution, name: str, address: int) -> Any:
        """Return a tensor as torch wants it, in the memory order of the layout."""
        shape = list(tensor_shape(convolution.problem, convolution.layout, name))
        axes = convolution.layout.order(name)
        kind = _TYPES[convolution.dtype]
        count = 1
        for length in shape:
            count *= length
        flat = self._bytes(address, count * convolution.dtype.properties.size_bytes).view(kind)
        joined = _JOINED[name]
        at = axes.index(joined)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
        axes = axes.replace(joined, joined[1])
        leading = _LEADING[name]
        wanted = leading + "".join(axis for axis in axes if axis not in leading)
        return flat.view(shape).permute([axes.index(axis) for axis in wanted])


def _forward(convolution: BaselineConvolution, tensors: Mapping[str, Any]) -> Any:
    return torch.ops.aten.convolution(
        tensors["input"], tensors["weight"], None, *_settings(convolution), convolution.problem.groups
    )


def _backward(convolution: BaselineConvolution, tensors: Mapping[str, Any]) -> Any:
    mask = [convolution.result == "input", convolution.result == "weight", False]
    results = torch.ops.aten.convolution_backward(
        *(tensors[name] for name in ("output", "input", "weight")),
        None,
        *_settings(convolution),
        convolution.problem.groups,
        mask,
    )
    return results[0] if mask[0] else results[1]


_DIRECTIONS: Final = {"fwd": _forward, "bwd_data": _backward, "bwd_weight": _backward}


def _settings(convolution: BaselineConvolution) -> tuple[object, ...]:
    """Return stride, padding, dilation, whether transposed, and output padding, as torch orders them."""
    problem = convolution.problem
    return (
        list(problem.strides),
        list(problem.left_pads),
        list(problem.dilations),
        False,
        [0] * problem.ndim,
    )


def _host_bytes(address: int, size_bytes: int) -> Any:
    return torch.frombuffer((ctypes.c_char * size_bytes).from_address(address), dtype=torch.uint8)


def _host_library() -> str:
    """Return the name and version of what computes convolutions on the CPU."""
    if not torch.backends.mkldnn.is_available():
        return "without oneDNN"
    marks = [line for line in torch.__config__.show().splitlines() if "MKL-DNN" in line]
    words = marks[0].split() if marks else []
    return f"oneDNN {next((word for word in words if word.startswith('v')), '')}".rstrip()
