"""What the rules of ``ckprof audit`` say of old kernels, to be held against what their objects answer."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.measure.worker.messages import SupportQuery
    from ckprof_plugins.elementwise.operations import ElementwiseOp


def ruled(
    line: str,
    source: str,
    operation: ElementwiseOp | None,
    queries: Sequence[SupportQuery],
    arch: str,
) -> Mapping[int, str]:
    """Return position of a query -> the condition of the rules that is not met; empty if all are met.

    Nothing where the rules do not know the line, or the package with them is not installed. Queries of
    another operation than the kernel's are passed over: they never reach the library.

    :param line: a line with all template arguments.
    :param source: ``file:line``.
    :param operation: what the kernel does besides, which the rules do not ask about.
    """
    if find_spec("ckprof_plugins.consumers") is None:
        return {}
    from ckprof_plugins.consumers._old_ck.kernels import kernels_of
    from ckprof_plugins.consumers._old_ck.support import support
    from ckprof_plugins.directions._convolution.convolution import Convolution, sizes_of
    from ckprof_plugins.directions._convolution.fused_problem import elementwise_of
    from ckprof_plugins.directions._convolution.problem import ConvProblem

    path, _, number = source.rpartition(":")
    for (_, _, dtype), kernel in kernels_of(line, path, int(number) if number.isdecimal() else 0):
        cases = {
            at: support(kernel, ConvProblem(**sizes_of(one.problem)), dtype, one.split_k, arch)
            for at, one in enumerate(queries)
            if isinstance(one.problem, Convolution)
            and operation is ((combined := elementwise_of(one.problem)) and combined.operation)
        }
        # the rules are asked about forward kernels without splits
        unsplit = "" if "ConvFwd" not in kernel.kind else "a forward kernel does not split its reduction"
        return {
            at: case.unmet or ("" if case.splits == 1 else unsplit)
            for at, case in cases.items()
            if not case.partial
        }
    return {}
