"""Which engine runs a sweep, with which devices and settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.cli.fields import add_fields, chosen
from ckprof.cli.parser import CommandParser
from ckprof.option import numbers, settable

if TYPE_CHECKING:
    import argparse

    from ckprof.measure.requests import RunRequest
    from ckprof.session import Session
    from ckprof.sweep.requests import SweepOptions
    from ckprof.sweep.sweep import SweepResult


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRunner:
    """Hands the problems of a sweep to the workers of an engine: the ``runner`` of its options."""

    devices: tuple[int, ...] = settable(
        (),
        "indices of the devices of this machine that measure at once, each problem on one of them",
        metavar="I,J,...",
        parse=numbers,
        several="store",
    )
    #: ``None`` for the one that the settings name, or ``local``
    engine: str | None = settable(
        None,
        "what hands problems to workers: local (default with --devices), or one that a plugin adds",
        metavar="NAME",
    )
    cluster: Path | None = settable(None, "settings of the engine: machines, pools, folders", metavar="FILE")

    def describe(self, session: Session, request: RunRequest, options: SweepOptions) -> list[str]:
        """Return what is left to do, and the tasks, bytes and hours that it takes on the engine.

        :raises CkprofError: as for :class:`~ckprof_plugins.cluster.engine_sweep.EngineSweep`.
        """
        from ckprof_plugins.cluster.engine_sweep import EngineSweep

        return EngineSweep(session, request, options, self).describe()

    def run(self, session: Session, request: RunRequest, options: SweepOptions) -> SweepResult:
        """Build what is missing, have the engine's workers measure what is left, and merge what they leave.

        :raises CkprofError: as for :meth:`~ckprof_plugins.cluster.engine_sweep.EngineSweep.run`.
        """
        from ckprof_plugins.cluster.engine_sweep import EngineSweep

        return EngineSweep(session, request, options, self).run()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose an engine to ``ckprof sweep``."""
    add_fields(parser.add_argument_group("several devices and machines"), EngineRunner)
    parser.set_defaults(sweep_runner=chosen_runner)
    if isinstance(parser, CommandParser):
        parser.first = (*parser.first, "--devices", "--cluster")


def chosen_runner(arguments: argparse.Namespace) -> EngineRunner | None:
    """Return what was typed; ``None`` if no option asks for an engine."""
    runner = chosen(arguments, EngineRunner)
    return runner if runner != EngineRunner() else None
