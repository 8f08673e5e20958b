"""Kernels before they run: what ``--list-instances`` and ``--dry-run`` print, and which have no kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.cli.console import Console
    from ckprof.kernels.candidates import Rejection
    from ckprof.kernels.choose import Selection
    from ckprof.measure.requests import RunRequest


def print_instances(selection: Selection, console: Console) -> None:
    """Print the instances with their numbers."""
    for candidate in selection.candidates:
        console.result(f"[{candidate.index}] {candidate.instance_string}")
    console.result(f"Total: {counted(len(selection.candidates), 'instance')}")


def print_plan(plan: RunRequest, target: str, console: Console) -> None:
    """Print what would be built and run.

    :param target: id of the target.
    """
    candidates, problems = plan.selection.candidates, plan.problems
    console.result(
        f"would build {counted(len(candidates), f'{plan.selection.direction} kernel')} for target {target}:"
    )
    for candidate in candidates:
        console.result(f"  [{candidate.index}] {candidate.name}")
    console.result(f"and run them on {counted(len(problems), 'problem')}:")
    for problem in problems:
        console.result(f"  {problem.problem.describe()}")
    if plan.baselines:
        console.result(f"and compare them with {', '.join(plan.baselines)}")


def report_rejections(rejected: Iterable[Rejection], console: Console) -> None:
    """Name the instances that have no kernel, and say why: a kernel that does not compile is no warning."""
    for rejection in rejected:
        say = console.error if rejection.status.is_failure else console.warning
        say(f"{rejection.status.value}: {rejection.candidate.name}: {rejection.reason}")
