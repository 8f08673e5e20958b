"""Which problems the old library's device operations support: ``IsSupportedArgument``, without a device.

Conditions are those of the library in November 2025, for channels-last layouts, in its order; where a program
owns other layouts it transposes them first. The first condition that is not met is named. A condition on a
parameter that a line does not say is passed over, and :attr:`Verdict.partial` says so. That a workspace was
set is taken for granted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof_plugins.consumers._old_ck.case import AUTOMATIC as AUTOMATIC
from ckprof_plugins.consumers._old_ck.case import SIZES as SIZES
from ckprof_plugins.consumers._old_ck.case import TOO_LARGE as TOO_LARGE
from ckprof_plugins.consumers._old_ck.case import Case
from ckprof_plugins.consumers._old_ck.forward_rules import FORWARD
from ckprof_plugins.consumers._old_ck.gradient_rules import BACKWARD_DATA, BACKWARD_WEIGHT, EXPLICIT_PRODUCT
from ckprof_plugins.consumers._old_ck.kernels import EXPLICIT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ckprof_plugins.consumers._old_ck.kernels import OldKernel
    from ckprof_plugins.directions._convolution.problem import ConvProblem


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a kernel supports a problem."""

    #: the condition that is not met; empty if all are
    unmet: str = ""
    #: true where some conditions could not be judged
    partial: bool = False


#: part of the names of classes -> their conditions
_RULES: Final[Mapping[str, tuple[Callable[[Case], str], ...]]] = {
    "ConvFwd": FORWARD,
    "ConvBwdData": BACKWARD_DATA,
    "ConvBwdWeight": BACKWARD_WEIGHT,
}


def support(kernel: OldKernel, problem: ConvProblem, dtype: str, splits: int, arch: str) -> Verdict:
    """Say whether a kernel supports a problem.

    :param dtype: name of the type of the operands, e.g. ``fp16``.
    :param splits: parts of the reduction, or :data:`AUTOMATIC`.
    :param arch: architecture; empty where it is not known, which no condition then depends on.
    """
    case = Case(kernel.values, kernel.kind, kernel.specialization, problem, dtype, splits, arch)
    rules = EXPLICIT_PRODUCT if kernel.kind == EXPLICIT else _RULES[_direction(kernel.kind)]
    for rule in rules:
        unmet = rule(case)
        if unmet:
            return Verdict(unmet, case.partial)
    return Verdict("", case.partial)


#: parameters that conditions depend on
_READ: Final = re.compile(
    r".*(?:ScalarPerVector.*|SrcVectorDim|Specialization)|NumGroupsToMerge|BlkGemmPipelineVer|DirectLoad|stages"
    r"|K0?PerBlock|NumGemmKPrefetchStage|WeiDataType|GemmSpec|CVectors|[AB]K1"
)
#: those that conditions of some kernels alone depend on
_READ_OF_SOME: Final = ("BlockSize", "MPerBlock", "NPerBlock")


def demands_of(kernel: OldKernel) -> tuple[str, ...]:
    """Return all that conditions of a kernel depend on: kernels with equal ones support the same."""
    values = kernel.values
    some = (
        values.get("NumGroupsToMerge", "1") != "1"
        or values.get("BlkGemmPipelineVer") == "v2"
        or kernel.kind == EXPLICIT
    )
    read = [f"{name}={text}" for name, text in values.items() if _READ.fullmatch(name)]
    return (kernel.kind, *read, *([values.get(name, "") for name in _READ_OF_SOME] if some else ()))


def _direction(kind: str) -> str:
    return next(part for part in _RULES if part in kind)
