"""What becomes of an entry of a solver that calls Composable Kernel: the kernel, its test, the splits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

from ckprof_plugins.consumers._old_ck.kernels import AUTOMATIC, SIZES, TOO_LARGE
from ckprof_plugins.consumers._old_ck.support import demands_of, support
from ckprof_plugins.consumers.records import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof_plugins.consumers._old_ck.kernels import Family, KernelIndex, OldKernel
    from ckprof_plugins.consumers._old_ck.support import SupportVerdict
    from ckprof_plugins.consumers.miopen.databases import GroupedSolver
    from ckprof_plugins.consumers.miopen.keys import MiopenKey
    from ckprof_plugins.directions._convolution.problem import ConvProblem


#: a finding without its place
Remark = tuple[Reason, str]
_SPLITS: Final = re.compile(r"-?\d{1,9}")


@dataclass(slots=True)
class KernelCheck:
    """Judges kernels on problems, each pair once.

    :param arch: of the device that uses the file; empty where it is not known.
    """

    index: KernelIndex
    arch: str
    _verdicts: dict[tuple[int, ConvProblem, str, int], SupportVerdict]
    _any: dict[tuple[Family, ConvProblem], str]
    _ordered: dict[Family, list[OldKernel]]

    @classmethod
    def of(cls, index: KernelIndex, arch: str) -> KernelCheck:
        """Return a check that has judged nothing yet."""
        return cls(index, arch, {}, {}, {})

    def verdict(self, kernel: OldKernel, problem: ConvProblem, dtype: str, splits: int) -> SupportVerdict:
        """Say whether a kernel supports a problem."""
        place = (id(kernel), problem, dtype, splits)
        if place not in self._verdicts:
            self._verdicts[place] = support(kernel, problem, dtype, splits, self.arch)
        return self._verdicts[place]

    def solver_remarks(self, solver: GroupedSolver, key: MiopenKey) -> Iterator[Remark]:
        """Yield what the solver itself has against a key."""
        if solver.letter != key.letter:
            yield (
                Reason.WRONG_SOLVER,
                f"{solver.name} is for direction {solver.letter}, the key is of {key.letter}",
            )
        elif solver.ndim != key.ndim:
            yield Reason.WRONG_SOLVER, f"{solver.name} is for {solver.ndim}D, the key is of {key.ndim}D"
        elif not (key.is_channels_first or key.is_channels_last):
            yield Reason.UNSUPPORTED, f"{solver.name} knows no layout {'-'.join(key.layouts)}"
        elif key.dtype not in SIZES or key.dtype == "fp64" or key.casts:
            yield Reason.UNSUPPORTED, f"{solver.name} knows no type {key.types}{key.casts}"

    def _by_demand(self, family: Family) -> list[OldKernel]:
        """Return a kernel of each kind of demands, those first that demand least: most problems have one."""
        if family not in self._ordered:
            alike = {demands_of(kernel): kernel for kernel in self.index.all_of(family)}
            self._ordered[family] = sorted(alike.values(), key=_demand)
        return self._ordered[family]

    def any_kernel(self, family: Family, problem: ConvProblem) -> str:
        """Return why no kernel of a family supports a problem; empty if one does."""
        place = (family, problem)
        if place not in self._any:
            least = ""
            for kernel in self._by_demand(family):
                unmet = support(kernel, problem, family[2], 1, self.arch).unmet
                least = least or unmet
                if not unmet or TOO_LARGE in unmet:
                    break
            message = f"no kernel supports the problem; the one that demands least: {least}"
            self._any[place] = message if unmet else ""
        return self._any[place]

    def value_remarks(
        self, value: str, key: MiopenKey, problem: ConvProblem
    ) -> Iterator[tuple[Reason | None, str]]:
        """Yield what is wrong with parameters ``kernel[+splits]``, and, without a reason, what was judged."""
        name, plus, text = value.rpartition("+")
        if not plus:
            name = value
        if key.letter == "F" and plus:
            yield Reason.MALFORMED_VALUE, f"{text!r} after the kernel: forward kernels have no splits"
            return
        if key.letter == "W" and not plus:
            yield Reason.MALFORMED_VALUE, "no +SPLITS after the kernel, which weight gradients have"
            return
        if plus and not _SPLITS.fullmatch(text):
            yield Reason.MALFORMED_VALUE, f"the number of splits is {text[:40]!r}, expected a number"
            return
        splits = int(text) if plus else 1
        family: Family = (key.direction, key.ndim, key.dtype)
        if not self.index.has(family):
            yield None, f"no list has {key.ndim}D {key.dtype} kernels for {key.direction}"
            return
        kernels = self.index.find(family, name)
        if not kernels:
            yield Reason.UNKNOWN_KERNEL, self._unknown(name, family)
            return
        if splits == 0 or splits < AUTOMATIC:
            yield Reason.WRONG_SPLIT, f"{splits} splits: expected at least 1, or -1 for an automatic number"
            return
        kernel = kernels[0]
        verdict = self.verdict(kernel, problem, key.dtype, splits)
        if verdict.unmet:
            yield (
                Reason.WRONG_SPLIT if "split" in verdict.unmet else Reason.UNSUPPORTED,
                f"{verdict.unmet} ({kernel.source})",
            )
            return
        if len(kernels) > 1:
            others = ", ".join(other.source for other in kernels[1:3])
            yield (
                Reason.AMBIGUOUS_KERNEL,
                f"{len(kernels)} kernels have this name; {kernel.source} runs, not {others}",
            )
        if splits == AUTOMATIC:
            yield (
                Reason.AUTOMATIC_SPLIT,
                "the number of splits follows from occupancy: another compiler or driver can change it",
            )
        yield None, "kernel supported, as far as its line says" if verdict.partial else "kernel supported"

    def _unknown(self, name: str, family: Family) -> str:
        shown = name if len(name) <= 100 else f"{name[:100]}..."
        elsewhere = self.index.elsewhere(name)
        if elsewhere:
            direction, ndim, dtype = elsewhere[0]
            return f"{shown} is a kernel of {direction} {ndim}D {dtype}, the key is of " + (
                f"{family[0]} {family[1]}D {family[2]}"
            )
        stripped = name.strip()
        if stripped != name and self.index.find(family, stripped):
            return f"{shown!r} has blanks or a carriage return at an end; names are compared exactly"
        spaced = re.sub(r",\s*", ", ", stripped)
        if self.index.find(family, spaced):
            return f"{shown} is spelled otherwise: {spaced}"
        return f"no list has {shown}"


def _demand(kernel: OldKernel) -> tuple[bool, bool, int]:
    """Return by what kernels are ordered: specialization, pipeline, widths of all vectors."""
    widths = [
        int(text) for name, text in kernel.values.items() if "ScalarPerVector" in name and text.isdigit()
    ]
    late = kernel.values.get("BlkGemmPipelineVer", "v1") != "v1"
    return kernel.specialization not in ("Default", "OddC"), late, sum(widths)


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
