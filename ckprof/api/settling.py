"""Settling the unclear rows of a comparison with real kernels."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ckprof.api.building import build_library
from ckprof.api.events import SweepMessage
from ckprof.api.instances import choose_instances
from ckprof.api.requests import BuildOptions, InstanceQuery
from ckprof.compare.settle import SettleLimits, settle
from ckprof.errors import NothingLeftError, UsageError
from ckprof.model.outcome import Status
from ckprof.model.recipe import Purpose
from ckprof.rounds.contest import Contest
from ckprof.rounds.options import RoundOptions
from ckprof.rounds.visit import Visit
from ckprof.statistics.verdict import Verdict
from ckprof.sweep.defaults import round_run_options
from ckprof.sweep.identity import built_kernels, shared_key
from ckprof.sweep.kernel_bench import KernelBench, PluginHooks, bench_library
from ckprof.sweep.plan import KernelCell, PlannedContest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ckprof.api.session import Session
    from ckprof.compare.model import Comparison
    from ckprof.compare.side import ProblemKey, RowKey, Side
    from ckprof.flow.candidates import Candidate
    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.run.options import RunOptions
    from ckprof.store.key import MeasurementKey
    from ckprof.store.query import SharedKey


#: what names the compilers of the old and of the new side on the command line
_COMPILER_OPTIONS: Final = ("--old-compiler", "--compiler")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleOptions:
    """How the kernels of both sides are found and built again."""

    #: the lists or the rule set that the kernels come from
    query: InstanceQuery
    old: BuildOptions = field(default_factory=BuildOptions)
    new: BuildOptions = field(default_factory=BuildOptions)
    run: RunOptions | None = None
    limits: SettleLimits = field(default_factory=SettleLimits)


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
    candidates = _candidates(session, {row.key.instance for row in unclear}, directions.pop(), options.query)
    known = {one.instance.key for one in candidates}
    keys = [row.key for row in unclear if row.key.instance in known]
    session.tell(SweepMessage(text=f"settling {len(keys)} of {len(unclear)} unclear rows"))
    run = options.run or round_run_options(session.settings.timeout)
    with ExitStack() as stack:
        benches: list[_SideBench] = []
        for side, build, option in zip(sides, (options.old, options.new), _COMPILER_OPTIONS, strict=True):
            key = side.rows[keys[0]].measurement
            opened = _open_side(session, candidates, _as_measured(build, key), run, takes_lock=not benches)
            bench = stack.enter_context(opened)
            _check_same(bench.shared, key, side.label, option)
            benches.append(bench)
        return settle(comparison, sides, keys, _TwoBenches(*benches), options.limits)


def _candidates(
    session: Session, instances: set[str], direction: str, query: InstanceQuery
) -> Sequence[Candidate]:
    selection = choose_instances(session, replace(query, directions=direction))
    found = [one for one in selection.candidates if one.instance.key in instances]
    if not found:
        raise NothingLeftError(
            "none of the unclear kernels is in the given list: name the one they come from"
        )
    return found


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


class _SideBench:
    """One side's library, open for measurements."""

    def __init__(self, library: BuiltLibrary, bench: KernelBench, shared: SharedKey) -> None:
        self._kernels = {kernel.instance: kernel for kernel in built_kernels(library)}
        self._bench = bench
        self.shared = shared
        self._planned: PlannedContest | None = None

    def open_problem(self, problem: ProblemKey, number: int) -> None:
        kernels = {
            key: one
            for key, one in self._kernels.items()
            if one.info.layout == problem.layout and one.info.dtype and one.info.dtype.value == problem.dtype
        }
        cells = [KernelCell(key, 1) for key in kernels]
        self._planned = PlannedContest(
            problem=problem.problem,
            problem_index=number,
            shared=self.shared,
            kernels=kernels,
            contest=Contest(cells, RoundOptions()),
            known=frozenset(),
            failed=frozenset(),
            visit_s=None,
        )
        self._bench.open_problem(self._planned)

    def measure(self, key: RowKey) -> float | None:
        if self._planned is None or key.instance not in self._planned.kernels:
            return None
        visit = Visit(cell=KernelCell(key.instance, key.split_k), round=1, order=0, reference=False)
        result = self._bench.measure(self._planned, visit)
        verified = result.verification is not None and result.verification.passed
        if result.status is not Status.OK or result.measurement is None or not verified:
            return None
        return result.measurement.median_ms


class _TwoBenches:
    """Both sides as :func:`~ckprof.compare.settle.settle` wants them."""

    def __init__(self, old: _SideBench, new: _SideBench) -> None:
        self._sides = {False: old, True: new}
        self._problems = 0

    def open_problem(self, problem: ProblemKey) -> None:
        for side in self._sides.values():
            side.open_problem(problem, self._problems)
        self._problems += 1

    def measure(self, key: RowKey, *, new: bool) -> float | None:
        return self._sides[new].measure(key)


@contextmanager
def _open_side(
    session: Session,
    candidates: Sequence[Candidate],
    build: BuildOptions,
    run: RunOptions,
    *,
    takes_lock: bool,
) -> Iterator[_SideBench]:
    """Build a side's library and open its bench.

    :param takes_lock: take the device's lock; one of the two sides takes it for both.
    """
    library = build_library(session, candidates, build, Purpose.RUN)
    how = replace(
        run,
        last_level_cache_bytes=library.recipe.last_level_cache_bytes,
        verify=True,
        keep_samples=True,
    )
    with KernelBench(
        bench_library(library),
        how,
        PluginHooks(library, session.manager),
        (),
        session.tell,
        takes_lock=takes_lock,
    ) as bench:
        target = session.target(build.target)
        shared = shared_key(library.direction.id, target, library.recipe, how, bench.device)
        yield _SideBench(library, bench, shared)
