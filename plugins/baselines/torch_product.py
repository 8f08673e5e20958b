"""Products of matrices by torch: cuBLAS, hipBLASLt, oneDNN. Imported by a baseline's worker alone.

``matmul`` and ``bmm`` multiply floating-point types of 16 and 32 bits, ``_scaled_mm`` those of 8 bits and
``_int_mm`` integers. D tensors are combined with the product by an element-wise operation each.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import torch

from ckprof.model.requirement import UnmetRequirement
from ckprof.model.types import DataType
from ckprof_plugins.baselines.torch_elementwise import NotInTorchError, roundings_of, steps_of
from ckprof_plugins.elementwise.combination import Combination
from ckprof_plugins.elementwise.operation import DExtent
from ckprof_plugins.elementwise.operations import ElementwiseOp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ckprof.model.computation import Computation, TensorView
    from ckprof_plugins.baselines.torch_elementwise import TorchStep

#: ids of the operations that are products of matrices A and B, with the axes G (of a batch), M, N and K
OPERATIONS: Final = ("gemm",)

_TYPES: Final = {
    DataType.FP16: "float16",
    DataType.BF16: "bfloat16",
    DataType.FP32: "float32",
    DataType.INT8: "int8",
    DataType.INT32: "int32",
}
#: type, whether it is that of the OCP standard -> torch's name, which older versions may lack
_FLOAT8: Final = {
    (DataType.FP8, True): "float8_e4m3fn",
    (DataType.BF8, True): "float8_e5m2",
    (DataType.FP8, False): "float8_e4m3fnuz",
    (DataType.BF8, False): "float8_e5m2fnuz",
}
#: axes as torch wants them; D tensors have those of the result
_ORDER: Final = {"a": "GMK", "b": "GKN"}

#: what cuBLAS wants lengths of the lines of 8-bit floating-point operands to be multiples of
_FLOAT8_MULTIPLE: Final = 16
#: what ``_int_mm`` wants K and N to be multiples of on a GPU, and M to exceed
_INT8_MULTIPLE: Final = 8
_INT8_ROWS: Final = 16


def unmet_requirements(work: Computation, device: Any) -> list[UnmetRequirement]:
    """Return what torch cannot do on a device."""
    return [UnmetRequirement(rule=f"baseline-{rule}", message=text) for rule, text in _unmet(work, device)]


def tensors(
    work: Computation, addresses: Mapping[str, int], memory: Callable[[int, int], Any]
) -> dict[str, Any]:
    """Return views of the tensors with their gaps, the axes in torch's order.

    :param memory: returns so many bytes at an address.
    """
    return {tensor.name: _view(work, tensor, addresses[tensor.name], memory) for tensor in work.tensors}


def computation(work: Computation, tensors: Mapping[str, Any], device: Any) -> Callable[[], Any]:
    """Return what computes the result, in memory of torch's."""
    a, b, *further, result = (tensors[view.name] for view in work.tensors)
    dtype = work.tensors[0].dtype
    if dtype is DataType.INT8:
        return lambda: torch._int_mm(a, b)
    if dtype in (DataType.FP8, DataType.BF8):
        scale = _unit_scale(device)

        def product() -> Any:
            # as kernels for these types on GPUs, which do not round every sum to fp32 either
            fast = device.type == "cuda"
            computed = torch._scaled_mm(
                a, b, scale_a=scale, scale_b=scale, out_dtype=result.dtype, use_fast_accum=fast
            )
            # until torch 2.4 with the largest magnitude
            return computed[0] if isinstance(computed, tuple) else computed

    else:

        def product() -> Any:
            return torch.matmul(a, b)

    if not further:
        return product
    steps = _steps(work)

    def combined() -> Any:
        computed = product()
        for step in steps:
            computed = step.apply(computed, further)
        return computed

    return combined


def roundings(work: Computation) -> int:
    """Return how often torch rounds a sum until it is an element of the result."""
    return roundings_of(_steps(work))


def _steps(work: Computation) -> tuple[TorchStep, ...]:
    """Return what follows the product.

    :raises NotInTorchError: torch cannot do it.
    """
    _, _, *further, result = work.tensors
    if not further:
        return ()
    operation = ElementwiseOp.parse(work.problem["elementwise_op"])
    combination = Combination.usual(operation, [DExtent.FULL] * len(further))
    return steps_of(combination, _element_type(result.dtype, ocp=work.ocp))


def _unmet(work: Computation, device: Any) -> Iterator[tuple[str, str]]:
    """Yield rules and messages."""
    a, b, *_ = work.tensors
    dtype = a.dtype
    for tensor in work.tensors:
        if _element_type(tensor.dtype, ocp=work.ocp) is None:
            yield (
                "type",
                f"torch {torch.__version__} has no "
                f"{_FLOAT8.get((tensor.dtype, work.ocp), tensor.dtype.value)}",
            )
            return
    if dtype.properties.size_bytes == 1 and a.length("G") > 1:
        yield "batch", f"torch multiplies single matrices of {dtype.value}, no batches"
    try:
        _steps(work)
    except NotInTorchError as exc:
        yield "operation", str(exc)
    if device.type != "cuda":
        return
    if dtype is DataType.INT8:
        yield from _unmet_by_integers(a, b)
    elif dtype in (DataType.FP8, DataType.BF8):
        yield from _unmet_by_float8(work)


def _unmet_by_integers(a: TensorView, b: TensorView) -> Iterator[tuple[str, str]]:
    if a.length("M") <= _INT8_ROWS:
        yield "size", f"torch multiplies int8 with more than {_INT8_ROWS} rows, M is {a.length('M')}"
    for axis in "KN":
        if b.length(axis) % _INT8_MULTIPLE:
            text = f"multiples of {_INT8_MULTIPLE}, {axis} is {b.length(axis)}"
            yield "size", f"torch multiplies int8 with {text}"


def _unmet_by_float8(work: Computation) -> Iterator[tuple[str, str]]:
    a, b = work.tensors[:2]
    if torch.version.hip is None:
        if not work.ocp:
            yield (
                "type",
                "cuBLAS multiplies 8-bit floating-point types of the OCP standard, not those of gfx942",
            )
        if a.dtype is DataType.BF8:
            yield "type", "cuBLAS multiplies bf8 with fp8 alone"
    if a.stride("K") != 1 or b.stride("K") != 1:
        yield "layout", f"torch multiplies {a.dtype.value} in the layout rcr alone, not {work.layout}"
    else:
        wanted = {"K": a.length("K"), "N": b.length("N"), "lda": a.stride("M"), "ldb": b.stride("N")}
        for name, value in wanted.items():
            if value % _FLOAT8_MULTIPLE:
                text = f"multiples of {_FLOAT8_MULTIPLE}, {name} is {value}"
                yield "size", f"torch multiplies {a.dtype.value} with {text}"


def _element_type(dtype: DataType, *, ocp: bool) -> Any:
    """Return torch's type; ``None`` if this torch has none."""
    return getattr(torch, _FLOAT8.get((dtype, ocp)) or _TYPES[dtype], None)


def _view(work: Computation, tensor: TensorView, address: int, memory: Callable[[int, int], Any]) -> Any:
    raw = memory(address, tensor.extent * tensor.dtype.properties.size_bytes)
    order = [axis for axis in _ORDER.get(tensor.name, "GMN") if axis in tensor.axes]
    lengths, strides = [tensor.length(axis) for axis in order], [tensor.stride(axis) for axis in order]
    return raw.view(_element_type(tensor.dtype, ocp=work.ocp)).as_strided(lengths, strides)


@lru_cache(maxsize=1)
def _unit_scale(device: Any) -> Any:
    return torch.ones((), device=device)
