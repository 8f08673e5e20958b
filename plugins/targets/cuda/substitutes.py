"""Which problems have kernels of their own on NVIDIA GPUs, whatever the fields of an instance are.

The rules are those of the headers ``cuda_model/depthwise_plan.hpp`` and ``cuda_model/group_weight_plan.hpp``,
which a test compiles and compares, and of ``cuda_model/launch.hpp``, which asks them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.model.compute_type import ComputeType
from ckprof.model.dtype import DataType
from ckprof.model.kernel_traits import Schedule
from ckprof.model.problem import ConvProblem
from ckprof_plugins.targets.cuda.execution import SHARED_BYTES, WEIGHT

if TYPE_CHECKING:
    from ckprof.model.problem import Problem
    from ckprof.plugin.timing import TimedKernel

SINGLE_CHANNELS: Final = "a kernel for groups of one channel"
FEW_CHANNELS: Final = "a kernel for groups of few channels"

_FORWARD: Final = "fwd"
#: types that both have kernels for; those of 16 bits
_TYPES: Final = frozenset({DataType.BF16, DataType.FP16, DataType.FP32})
_SHORT_TYPES: Final = frozenset({DataType.BF16, DataType.FP16})
#: channels that are copied at once, and the largest filter
_VECTOR: Final = 4
_LARGEST_FILTER: Final = 7
#: of groups of few channels: taps along both axes, channels of a block and of one product, positions of one
_FILTER: Final = 3
_CHUNK: Final = 64
_SQUARE: Final = 16
_STEP: Final = 16
#: shared memory that a block can have, in bytes, since the runtime keeps some; what a position takes of it,
#: stages, and what lies beside
_BLOCK_BYTES: Final = SHARED_BYTES - 1024
_POSITION_BYTES: Final = 128
_STAGES: Final = 2
_BESIDE_BYTES: Final = 1024 + 8 * _STAGES


def substitute(kernel: TimedKernel, problem: Problem) -> str:
    """Return what computes a problem in place of an instance's kernel; empty if nothing does."""
    if "gemm_pipeline" not in kernel.fields or not isinstance(problem, ConvProblem):
        return ""
    if (
        kernel.traits.schedule is Schedule.STREAM
        or kernel.fields.get("compute_type") == ComputeType.TF32.value
    ):
        return ""
    dtype, planes = DataType.parse(kernel.dtype), _Planes.of(problem)
    if planes is None or dtype not in _TYPES:
        return ""
    if planes.has_single_channels() and (kernel.direction != _FORWARD or planes.strides[1] == 1):
        return SINGLE_CHANNELS
    small_tile = kernel.traits.tile[0] <= _CHUNK and kernel.traits.tile[1] <= _CHUNK
    if kernel.direction == WEIGHT and small_tile and dtype in _SHORT_TYPES and planes.has_few_channels():
        return FEW_CHANNELS
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planes:
    """A problem of one or two dimensions, or one whose depth is 1; height and width."""

    problem: ConvProblem
    filter: tuple[int, int]
    input: tuple[int, int]
    output: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    left_pads: tuple[int, int]

    @classmethod
    def of(cls, problem: ConvProblem) -> _Planes | None:
        """Return the problem so, or ``None`` if it has a depth."""

        def last_two(values: tuple[int, ...], missing: int) -> tuple[int, int]:
            padded = (missing, *values)[-2:]
            return padded[0], padded[1]

        deep = (problem.filter, problem.input, problem.output)
        if problem.ndim == 3 and any(lengths[0] != 1 for lengths in deep):
            return None
        return cls(
            problem=problem,
            filter=last_two(problem.filter, 1),
            input=last_two(problem.input, 1),
            output=last_two(problem.output, 1),
            strides=last_two(problem.strides, 1),
            dilations=last_two(problem.dilations, 1),
            left_pads=last_two(problem.left_pads, 0),
        )

    def has_single_channels(self) -> bool:
        """Say what ``is_depthwise`` says."""
        problem = self.problem
        longest = max(self.input[1], self.output[1])
        small = (
            problem.batch * max(self.input[0], self.output[0]) < 1 << 30
            and longest < 1 << 24
            and problem.groups < 1 << 24
            and longest * problem.groups < 1 << 29
            and all(pad < 1 << 24 for pad in self.left_pads)
        )
        return (
            small
            and problem.in_channels == problem.out_channels == 1
            and problem.groups % _VECTOR == 0
            and (self.strides[0] == self.strides[1] or self.output[0] == 1)
            and self.strides[1] in (1, 2)
            and all(taps <= _LARGEST_FILTER for taps in self.filter)
            and all(1 in pair for pair in zip(self.dilations, self.filter, strict=True))
        )

    def has_few_channels(self) -> bool:
        """Say what ``is_group_weight`` says, and whether shared memory holds patches of one row."""
        problem = self.problem
        channels = problem.in_channels
        if channels != problem.out_channels or _SQUARE % channels or self.filter != (_FILTER, _FILTER):
            return False
        all_channels = channels * problem.groups
        few = problem.batch * self.input[0] <= 1 << 30 and all_channels <= 1 << 24
        return few and self.strides == (1, 1) and all_channels % 8 == 0 and self._row_bytes() <= _BLOCK_BYTES

    def _row_bytes(self) -> int:
        reach_h, reach_w = ((_FILTER - 1) * dilation for dilation in self.dilations)
        width = self.output[1] + reach_w
        positions = -(-width // _STEP) * _STEP
        copied = sum(-(-count // 8) * 8 for count in (positions + reach_w, positions + reach_h * width))
        return _STAGES * copied * _POSITION_BYTES + _BESIDE_BYTES
