"""Says which instances have no kernel, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.cli.console import Console
    from ckprof.flow.kernel_library import Rejection


def report_rejections(rejected: Iterable[Rejection], console: Console) -> None:
    """Warn of each."""
    for rejection in rejected:
        console.warning(f"{rejection.status.value}: {rejection.candidate.name}: {rejection.reason}")
