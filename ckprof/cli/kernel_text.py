"""Kernels before they run: what ``--list-instances`` and ``--dry-run`` print, and which have no kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.cli.console import Console
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.validity import Rejection
    from ckprof.measure.run_plan import RunRequest


def print_instances(selection: Selection, console: Console) -> None:
    """Print the instances with their numbers."""
    for candidate in selection.candidates:
        console.result(f"[{candidate.index}] {candidate.instance_string}")
    console.result(f"Total: {len(selection.candidates)} instances")


def print_plan(plan: RunRequest, target: str, console: Console) -> None:
    """Print what would be built and run.

    :param target: id of the target.
    """
    candidates, problems = plan.selection.candidates, plan.problems
    console.result(f"would build {len(candidates)} {plan.selection.direction} kernels for target {target}:")
    for candidate in candidates:
        console.result(f"  [{candidate.index}] {candidate.name}")
    console.result(f"and run them on {len(problems)} problem{'s' if len(problems) != 1 else ''}:")
    for problem in problems:
        console.result(f"  {problem.problem.describe()}")
    if plan.baselines:
        console.result(f"and compare them with {', '.join(plan.baselines)}")


def report_rejections(rejected: Iterable[Rejection], console: Console) -> None:
    """Warn of the instances that have no kernel, and say why."""
    for rejection in rejected:
        console.warning(f"{rejection.status.value}: {rejection.candidate.name}: {rejection.reason}")
