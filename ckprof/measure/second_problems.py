"""Verifies each kernel on small problems of its own as well, once and untimed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.kernels.keys import digest_parts
from ckprof.measure.options import timing_settings
from ckprof.measure.rounds import KernelConfiguration, RoundRobin
from ckprof.measure.verify.exact import ExactKind
from ckprof.measure.worker.messages import SupportQuery
from ckprof.model.outcome import Outcome, Status
from ckprof.model.problem_case import AUTO, ProblemCase
from ckprof.problems.problem_file import line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ckprof.measure.bench import KeptOperands, KernelBench
    from ckprof.measure.options import RunOptions
    from ckprof.measure.rounds_loop import KernelGroup
    from ckprof.model.kernel import SelectedKernel
    from ckprof.model.problem import Problem

#: what they are split into, where kernels can
_SPLITS: Final = (1, 3, AUTO)


class SecondProblems:
    """What is known of kernels by their second problems.

    :param bench: runs the kernels.
    :param options: how they are verified.
    """

    def __init__(self, bench: KernelBench, options: RunOptions) -> None:
        self._bench, self._options = bench, options
        #: asked before each second problem: whether it and those after it are skipped
        self.should_stop: Callable[[], bool] = lambda: False
        #: content key of a kernel -> lines of its second problems; none where it supports none of them
        self.lines: dict[str, dict[str, None]] = {}
        #: content key of a kernel -> digest of the second problems that it was right on in an earlier session
        self.known: Mapping[str, str] = {}
        #: what became of those kernels that failed there
        self.failed: dict[str, Outcome] = {}
        #: of kernels without any: floating-point operations of the problem that they were to be no more than
        self._most: dict[str, int] = {}
        #: those of second problems, as long as a group is open
        self.operands: KeptOperands = {}

    def is_due(self, key: str, problem: Problem) -> bool:
        """Say whether a kernel may be verified that was right on a problem: it has not been.

        One whose second problems were all more work than what was timed may have some beside a larger one.
        """
        return not self.lines.get(key) and problem.flop > self._most.get(key, -1)

    def verify(self, group: KernelGroup, kernel: SelectedKernel, reload: Callable[[], object]) -> None:
        """Verify a kernel that is new, and right on the group's problem, on problems of its own.

        One that fails there has that outcome on every problem. What is known of it is stored with its first
        sample, before the next kernel is verified.

        :param reload: has workers load the operands of the group again, where others took their place.
        :raises ToolchainError: as :meth:`~ckprof.measure.bench.KernelBench.measure`.
        """
        key, operation, options = kernel.key, self._bench.library.operation, self._options
        asked: dict[tuple[Problem, ExactKind | None], list[KernelConfiguration]] = {}
        for alternatives in self._bench.library.second_problems.get(key, ()):
            for problem in alternatives:
                if problem.flop > group.problem.flop or not (splits := self._splits(key, problem)):
                    continue
                exact = options.exact and operation.is_exact(problem)
                for split in splits:
                    kind = (
                        ExactKind.of(split, kernel.split_sum, operation.roundings(problem)) if exact else None
                    )
                    asked.setdefault((problem, kind), []).append(KernelConfiguration(key, split))
                break
        self.lines[key] = dict.fromkeys(self._line(problem) for problem, _ in asked)
        self._most[key] = group.problem.flop
        if not asked or self.digest(key) == self.known.get(key):
            return
        untimed = (msgspec.structs.replace(timing_settings(options), min_samples=0),) * 2
        try:
            for (problem, kind), cells in asked.items():
                ranking = RoundRobin(cells)
                second = replace(group, problem=problem, ranking=ranking, timing=untimed, beside=None)
                operands = self._bench.operands_of(second, self.operands, kind)
                for planned in ranking.visit():
                    outcome = None if self.should_stop() else self._bench.sample(second, operands, planned)
                    if outcome is not None and outcome.status.is_failure and outcome.launched:
                        where = f"--problem '{self._line(problem)}' --split-k {planned.cell.split_k}"
                        reason = f"{outcome.reason} (on a second problem: {where})"
                        self.failed[key] = replace(outcome, reason=reason, second="")
                        return
                    if outcome is None or outcome.status is not Status.OK:
                        # nothing is known of it: the next sample tries again
                        del self.lines[key], self._most[key]
                        return
        finally:
            reload()

    def digest(self, key: str) -> str:
        """Return a digest of the second problems that a kernel was right on; empty where it was not verified.

        Where exact operands are skipped, it is another one.
        """
        if key in self.failed or key not in self.lines:
            return "" if key in self.failed else self.known.get(key, "")
        return digest_parts(str(self._options.exact), *self.lines[key])[:8]

    def _line(self, problem: Problem) -> str:
        return line_of(ProblemCase(problem=problem), self._bench.library.operation) or problem.describe()

    def _splits(self, key: str, problem: Problem) -> list[int]:
        """Return what a kernel supports a problem in; empty if it does not."""
        queries, executor = [SupportQuery(problem, split) for split in _SPLITS], self._bench.executor
        answers = executor.support(key, queries) if executor is not None else ()
        return [split for split, one in zip(_SPLITS, answers, strict=False) if one.supported]
