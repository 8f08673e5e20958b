"""Which engine runs a sweep, and what that will take: tasks, bytes that travel, and hours of devices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import PluginError, UsageError
from ckprof.events import Message
from ckprof.kernels.units import available_cpus
from ckprof.sweep.device_sweep import plan_sweep
from ckprof.sweep.plan import describe
from ckprof.sweep.recording import is_shard_folder
from ckprof.wording import counted, duration
from ckprof_plugins.cluster.engines import ENGINES, EngineRequest, Pool
from ckprof_plugins.cluster.folder import SweepFolder
from ckprof_plugins.cluster.local import cpus_per_worker
from ckprof_plugins.cluster.pool_build import BUILD_HANDLER
from ckprof_plugins.cluster.screening import rankings_of_one_device
from ckprof_plugins.cluster.settings import read_settings
from ckprof_plugins.cluster.sharding import most_parts
from ckprof_plugins.cluster.sweep_worker import HANDLER
from ckprof_plugins.cluster.units import part_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.measure.requests import RunRequest
    from ckprof.session import Session
    from ckprof.sweep.plan import Plan
    from ckprof.sweep.requests import SweepOptions
    from ckprof_plugins.cluster.engines import Engine
    from ckprof_plugins.cluster.runner import EngineRunner

#: what is used unless ``--engine`` or the settings file names another one
_DEFAULT_ENGINE: Final = "local"
#: what no engine has: the plan of a sweep takes memory for each worker
_MOST_WORKERS: Final = 1_000_000
#: bytes of an outcome in a shard, raw samples included; measured
ATTEMPT_BYTES: Final = 2_600
#: bytes of a kernel in a library, where none was built to look at
KERNEL_BYTES: Final = 150_000
#: bytes of a kernel in the description of a job; measured
_JOB_KERNEL_BYTES: Final = 900


def possible_pools(engine: Engine, request: EngineRequest) -> Mapping[Pool, int]:
    """Return how many workers each pool of an engine has at most.

    :raises CkprofError: the engine cannot be used.
    """
    return {pool: possible(engine, count) for pool, count in engine.pools(request).items()}


def possible(engine: Engine, workers: int) -> int:
    """Return a number of workers that an engine has named.

    :raises PluginError: no engine can have as many.
    """
    if 0 <= workers <= _MOST_WORKERS:
        return workers
    raise PluginError(
        f"engine {engine.id!r}: reports "
        f"{'a negative number of' if workers < 0 else f'more than {_MOST_WORKERS:,}'} workers in a pool"
    )


def choose_engine(
    session: Session, request: RunRequest, options: SweepOptions, runner: EngineRunner
) -> tuple[Engine, EngineRequest]:
    """Return the engine that a runner asks for, and what it is opened for.

    :raises UsageError: there is no such engine, or options contradict each other.
    :raises InputError: the settings file is wrong.
    """
    if is_shard_folder(options.store):
        raise UsageError(
            f"--store {options.store}: an engine merges the shards of its workers itself; name a file"
        )
    repeated = sorted({str(device) for device in runner.devices if runner.devices.count(device) > 1})
    if repeated:
        raise UsageError(f"--devices: {', '.join(repeated)} is named more than once")
    settings = read_settings(runner.cluster) if runner.cluster is not None else None
    named = settings.engine if settings is not None else ""
    engine = session.registry.entries(ENGINES).find(runner.engine or named or _DEFAULT_ENGINE)
    shared, store = settings.folder if settings is not None else None, Path(options.store)
    return engine, EngineRequest(
        handler=HANDLER,
        build_handler=BUILD_HANDLER,
        devices=runner.devices,
        embedded=session.target(request.build.target).embedded or bool(request.options.device_name),
        settings=settings,
        folder=(SweepFolder.below(shared, store) if shared else SweepFolder.beside(store)).root,
        say=lambda text: session.tell(Message(text)),
    )


def describe_sweep(
    session: Session, request: RunRequest, options: SweepOptions, runner: EngineRunner
) -> list[str]:
    """Return what is left to do, and the tasks, bytes and hours that it takes on an engine, for people.

    :raises CkprofError: as :func:`choose_engine`, or the store cannot be read.
    """
    engine, engine_request = choose_engine(session, request, options, runner)
    cpus = cpus_per_worker(available_cpus(), len(runner.devices))
    plan = plan_sweep(session, request, options, cpus=cpus, counting=rankings_of_one_device)
    pools = possible_pools(engine, engine_request)
    devices = pools.get(Pool.RUN, 0)
    parts = part_counts(plan.open_contests, options.rounds, devices)
    return [
        *describe(plan),
        *describe_cost(plan, parts, build_slots=pools.get(Pool.BUILD, 0), run_slots=devices),
    ]


def describe_cost(plan: Plan, parts: Sequence[int], *, build_slots: int, run_slots: int) -> list[str]:
    """Return an estimate of what is left of a plan, in a few lines for people.

    :param parts: see :func:`~ckprof_plugins.cluster.sharding.parts_of`.
    """
    kernels = len({instance for contest in plan.contests for instance in contest.kernels})
    units = len(plan.open_contests)
    sharded = sum(count > 1 for count in parts)
    all_parts = sum(
        min(count, most_parts(len(planned.contest.active)))
        for planned, count in zip(plan.open_contests, parts, strict=True)
        if count > 1
    )
    builds = f"{counted(build_slots, 'build worker')}" if build_slots else "builds on this machine"
    shared = f", {sharded} of them sharded into {counted(all_parts, 'part')}" if sharded else ""
    # each worker gets the library and the description of the job once
    download = run_slots * (KERNEL_BYTES + _JOB_KERNEL_BYTES) * kernels
    low, high = ATTEMPT_BYTES * plan.least_visits, ATTEMPT_BYTES * plan.most_visits
    lines = [
        f"tasks: {counted(units, 'problem')}{shared} for {counted(run_slots, 'device')}; "
        f"{builds}, {counted(kernels, 'kernel')}",
        f"bytes: {_size(download)} to the workers, {_size(low)} to {_size(high)} back",
    ]
    seconds = plan.estimated_s()
    if seconds is None:
        lines.append("time of the devices: unknown, nothing was measured before")
    elif units:
        least, most = seconds
        used = max(1, min(run_slots, units - sharded + all_parts))
        lines.append(
            f"time of the devices: {duration(least)} to {duration(most)} in all, "
            f"{duration(least / used)} to {duration(most / used)} on {used} of them"
        )
    return lines


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.3g} {unit}"
        count /= 1000
    return ""
