"""Settling the unclear rows of a comparison: both sides are built again, and measured interleaved."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.compare.settle_rounds import NEW, OLD, settle
from ckprof.compare.verdict import Verdict
from ckprof.errors import NothingLeftError, UsageError
from ckprof.kernels.choose import choose_instances
from ckprof.kernels.requests import BuildOptions, InstanceQuery
from ckprof.measure.support import build_checked_library
from ckprof.measure.workers import DeviceUse
from ckprof.model.reading import Reading
from ckprof.sweep.device_sweep import open_library, sweep_run_options
from ckprof.sweep.events import SweepMessage
from ckprof.sweep.requests import RoundRunOptions
from ckprof.wording import counted

if TYPE_CHECKING:
    from ckprof.compare.model import Comparison
    from ckprof.compare.options import SettleOptions
    from ckprof.compare.side import Side
    from ckprof.kernels.choose import Selection
    from ckprof.measure.rounds import KernelCell, Visit
    from ckprof.measure.rounds_loop import KernelGroup
    from ckprof.model.outcome import Outcome
    from ckprof.session import Session
    from ckprof.store.key import MeasurementKey
    from ckprof.store.query import SharedKey
    from ckprof.sweep.device_sweep import OpenedLibrary


#: what names the compilers of the old and of the new side on the command line
_COMPILER_OPTIONS: Final = ("--old-compiler", "--compiler")


def settle_unclear(
    session: Session, comparison: Comparison, sides: tuple[Side, Side], options: SettleOptions
) -> Comparison:
    """Build what is unclear for both sides, measure it interleaved, and compare anew.

    :raises UsageError: a side cannot be run here as it was measured, or the query does not have its kernels.
    :raises ToolchainError: no usable compiler.
    """
    unclear = comparison.with_verdict(Verdict.UNCLEAR)
    if not unclear:
        return comparison
    directions = {row.key.problem.direction for row in unclear}
    if len(directions) > 1:
        raise UsageError(f"unclear rows are of {', '.join(sorted(directions))}: settle one with --direction")
    selection = _unclear_kernels(
        session, {row.key.instance for row in unclear}, directions.pop(), options.query
    )
    listed = {candidate.instance.key for candidate in selection.candidates}
    keys = [row.key for row in unclear if row.key.instance in listed]
    session.tell(SweepMessage(text=f"settling {len(keys)} of {counted(len(unclear), 'unclear row')}"))
    run = options.run or RoundRunOptions(timeout_s=session.settings.timeout)
    with ExitStack() as stack:
        libraries: list[OpenedLibrary] = []
        for side, build, option in zip(sides, (options.old, options.new), _COMPILER_OPTIONS, strict=True):
            key = side.rows[keys[0]].measurement
            library = build_checked_library(session, selection, _as_measured(build, key))
            how = sweep_run_options(run, library.recipe)
            # one of the two sides takes the device's lock for both
            device = DeviceUse(locks=not libraries)
            opened = stack.enter_context(open_library(session, library, how, device=device))
            _check_same(opened.shared, key, side.label, option)
            libraries.append(opened)
        return settle(comparison, sides, keys, _TwoBenches(*libraries), options.limits)


def _unclear_kernels(
    session: Session, instances: set[str], direction: str, query: InstanceQuery
) -> Selection:
    selection = choose_instances(session, replace(query, directions=direction))
    unclear = tuple(candidate for candidate in selection.candidates if candidate.instance.key in instances)
    if not unclear:
        raise NothingLeftError(
            "none of the unclear kernels is in the given list: name the one they come from"
        )
    return replace(selection, candidates=unclear)


def _as_measured(build: BuildOptions, key: MeasurementKey) -> BuildOptions:
    """Fill in target, architecture and API level of a measurement where the options name none."""
    return replace(
        build,
        target=build.target or key.device.target,
        arch=build.arch or key.device.arch or None,
        api_level=build.api_level or key.operation.api_level or None,
    )


def _check_same(shared: SharedKey, key: MeasurementKey, label: str, option: str) -> None:
    """Refuse to settle with other code, or elsewhere, than what was measured.

    :raises UsageError: toolchain or device differ.
    """
    for what, here, there in (
        ("compiler", shared.toolchain.compiler, key.toolchain.compiler),
        ("flags", " ".join(shared.toolchain.flags), " ".join(key.toolchain.flags)),
        ("headers", shared.toolchain.headers[:12], key.toolchain.headers[:12]),
        ("device", shared.device.model, key.device.model),
    ):
        if there and here != there:
            raise UsageError(
                f"{label} cannot be measured again here: its {what} was {there!r}, here it is {here!r}; "
                f"another compiler is named with {option}"
            )


class _TwoBenches:
    """Both sides as one bench: a cell says which of them is meant."""

    def __init__(self, old: OpenedLibrary, new: OpenedLibrary) -> None:
        self._sides = {OLD: old, NEW: new}
        self._groups: dict[str, KernelGroup] = {}
        self._process = ""
        self._turn = 0

    def open_group(self, group: KernelGroup) -> None:
        """Prepare a problem on both sides; the first turn on it is that of the processes that there are."""
        self._turn = 0
        wanted = {cell.instance for cell in group.contest.cells}
        for name, side in self._sides.items():
            kernels = {kernel.key: kernel for kernel in side.library.kernels if kernel.key in wanted}
            self._groups[name] = replace(group, kernels=kernels)
            side.bench.open_group(self._groups[name])

    def measure(self, group: KernelGroup, visit: Visit[KernelCell]) -> Outcome:
        """Measure a kernel of one side once."""
        side = self._sides[visit.cell.side]
        outcome = side.bench.measure(self._groups[visit.cell.side], visit)
        self._process = side.bench.process
        side.hooks.after_outcome(group.problem, outcome)
        return outcome

    def turn(self, number: int) -> bool:
        """Have both sides measured in new processes at each turn."""
        if number == self._turn:
            return False
        self._turn = number
        for side in self._sides.values():
            side.bench.new_process()
        return True

    @property
    def process(self) -> str:
        """The process of the side that was measured last."""
        return self._process

    def observe(self) -> Reading:
        """Return nothing: both sides run under the same conditions."""
        return Reading()
