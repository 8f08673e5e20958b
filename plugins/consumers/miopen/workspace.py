"""Workspace that MIOpen's solvers of Composable Kernel ask for.

Channels-first tensors are transposed into buffers, each rounded up to 256 bytes. Weight gradients of fp16
with an odd number of channels per group are computed in fp32 first, in a buffer as large as the solver's
output.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Final

from ckprof_plugins.consumers._old_ck.support import SIZES

if TYPE_CHECKING:
    from ckprof_plugins.consumers.miopen.keys import MiopenKey
    from ckprof_plugins.directions._convolution.problem import ConvProblem

_ALIGNMENT: Final = 256
#: bytes of an element of the buffer for sums
_SUM_SIZE: Final = 4


def workspace_bytes(key: MiopenKey, problem: ConvProblem) -> int:
    """Return the bytes of workspace that a find-db states for a key.

    :param key: of one type for all tensors.
    """
    groups, size = problem.groups, SIZES[key.dtype]
    x = problem.batch * groups * problem.in_channels * prod(problem.input)
    y = problem.batch * groups * problem.out_channels * prod(problem.output)
    weight = groups * problem.out_channels * problem.in_channels * prod(problem.filter)
    sums = 0
    if key.letter == "W" and key.dtype == "fp16" and (problem.in_channels % 2 or problem.out_channels % 2):
        # "out" of a weight gradient is x
        sums = _SUM_SIZE * x
    if not key.is_channels_first:
        return sums
    buffers = [x * size, y * size, weight * size, sums]
    return sum(-(-one // _ALIGNMENT) * _ALIGNMENT for one in buffers)
