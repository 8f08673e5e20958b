"""Parsl as an engine: it starts workers through schedulers, and gives each a device of its own.

Parsl is imported when the engine is used, never before.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ckprof.errors import CkprofError, UsageError
from ckprof.plugin.protocols.engines import Pool
from ckprof_plugins.engines import parsl_task
from ckprof_plugins.engines.parsl_settings import LAUNCHERS, PROVIDERS, read_parsl_settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

    from ckprof.plugin.protocols.engines import EngineRequest
    from ckprof_plugins.engines.parsl_settings import ParslSettings, PoolTable

#: seconds between looks at whether more workers are needed
_STRATEGY_PERIOD_S = 5.0


class ParslEngine:
    """Runs payloads through Parsl's executor for many short tasks."""

    id = "parsl"
    label = "Parsl: SLURM, PBS, LSF, Grid Engine, Kubernetes, or this machine"

    def pools(self, request: EngineRequest) -> Mapping[Pool, int]:
        """Return the workers of each pool.

        :raises CkprofError: the settings are wrong, or Parsl is not installed.
        """
        settings = _checked(request)
        tables = {pool: settings.pool(pool) for pool in Pool}
        return {pool: table.slots if table is not None else 0 for pool, table in tables.items()}

    def open(self, request: EngineRequest) -> ParslSession:
        """Start Parsl; workers come when the schedulers start them.

        :raises CkprofError: as :meth:`pools`, or a scheduler cannot be used.
        """
        return ParslSession(request, _checked(request))


def _checked(request: EngineRequest) -> ParslSettings:
    if request.devices:
        raise UsageError("--devices is for the engine of this machine; with Parsl, say gpus in the settings")
    settings = read_parsl_settings(request.settings)
    if importlib.util.find_spec("parsl") is None:
        raise UsageError("--engine parsl: Parsl is not installed; pip install 'ckprof[cluster]'")
    file = request.settings
    for pool in Pool:
        table = settings.pool(pool)
        if table is None or file is None:
            continue
        parameters = inspect.signature(_provider_class(table).__init__).parameters
        for name in table.options:
            if name not in parameters or name == "self":
                raise file.error(
                    f"provider {table.provider} has no parameter {name!r} "
                    f"(known: {', '.join(parameter for parameter in parameters if parameter != 'self')})",
                    f"pools.{pool.value}.options.{name}",
                )
    return settings


def _provider_class(table: PoolTable) -> type[Any]:
    return cast(
        "type[Any]", getattr(importlib.import_module("parsl.providers"), PROVIDERS[table.provider].cls)
    )


def make_provider(table: PoolTable) -> Any:
    """Return the provider of a pool. No scheduler is asked for anything yet.

    :raises CkprofError: the provider cannot be made, e.g. because a package or a configuration is missing.
    """
    form = PROVIDERS[table.provider]
    launchers = importlib.import_module("parsl.launchers")
    kind = _provider_class(table)
    parameters = inspect.signature(kind.__init__).parameters
    launcher = table.launcher or (form.launcher if table.nodes > 1 else "single")
    values: dict[str, Any] = {
        "nodes_per_block": table.nodes,
        "init_blocks": table.blocks,
        "min_blocks": 0,
        "max_blocks": table.blocks,
        "worker_init": "\n".join([*_environment(form.local), *table.environment]),
        "launcher": getattr(launchers, LAUNCHERS[launcher])(),
        "scheduler_options": table.scheduler_options,
        "walltime": table.walltime,
        form.queue: table.queue,
        form.account: table.account,
    }
    given = {name: value for name, value in values.items() if name in parameters and value not in ("", None)}
    try:
        return kind(**{**given, **table.options})
    except Exception as exc:
        raise CkprofError(f"Parsl's provider {table.provider} cannot be used: {exc}") from exc


def _environment(local: bool) -> list[str]:
    """Return lines that make a worker of this machine find the same program."""
    if not local:
        return []
    from ckprof.sweep.cluster.local import worker_environment

    paths = worker_environment()["PYTHONPATH"]
    return [f"export PATH={_scripts()}:$PATH", f"export PYTHONPATH={paths}"]


def _scripts() -> str:
    """Return the folder of this environment's scripts, among them Parsl's."""
    return str(Path(sys.executable).parent)


def make_executor(pool: Pool, settings: ParslSettings) -> Any:
    """Return the executor of a pool, which nothing was started for yet.

    :raises CkprofError: as :func:`make_provider`.
    """
    from parsl.executors import HighThroughputExecutor

    table = settings.pool(pool)
    if table is None:
        raise ValueError(f"the settings have no pool for {pool.value}")
    local = PROVIDERS[table.provider].local
    values: dict[str, Any] = {
        "label": pool.value,
        "provider": make_provider(table),
        # a worker has one device, and takes a task only when it is done with the one before
        "available_accelerators": list(table.devices),
        "max_workers_per_node": len(table.devices) or table.workers,
        "prefetch_capacity": 0,
        "encrypted": settings.parsl.encrypted and not local,
        "heartbeat_threshold": settings.parsl.heartbeat_s,
        "heartbeat_period": max(1, settings.parsl.heartbeat_s // 4),
    }
    if local:
        values["address"] = "127.0.0.1"
    elif settings.parsl.address:
        values["address"] = settings.parsl.address
    return HighThroughputExecutor(**values)


class ParslSession:
    """A running Parsl.

    :param request: what it is opened for.
    :param settings: its part of the settings file.
    """

    def __init__(self, request: EngineRequest, settings: ParslSettings) -> None:
        from parsl.config import Config
        from parsl.dataflow.dflow import DataFlowKernel

        self._handlers = {Pool.RUN: request.handler, Pool.BUILD: request.build_handler}
        self._settings = settings
        path = os.environ.get("PATH", "")
        if _scripts() not in path.split(os.pathsep):
            # Parsl looks for its own programs there
            os.environ["PATH"] = f"{_scripts()}{os.pathsep}{path}"
        pools = [pool for pool in request.wanted if settings.pool(pool) is not None]
        self._kernel = DataFlowKernel(
            Config(
                executors=[make_executor(pool, settings) for pool in pools],
                run_dir=str(request.folder / "parsl"),
                # the coordinator decides what is done again
                retries=0,
                strategy_period=_STRATEGY_PERIOD_S,
                initialize_logging=False,
            )
        )

    #: workers notice the end of the process that started Parsl by its silence
    outlives_coordinator = True

    @property
    def shares_files(self) -> bool:
        """Whether all workers run on this machine."""
        return self._settings.local

    def slots(self, pool: Pool) -> int:
        """Return how many workers the pool has when all jobs run."""
        table = self._settings.pool(pool)
        return table.slots if table is not None else 0

    def submit(self, pool: Pool, payload: bytes) -> Future[bytes]:
        """Have Parsl run a payload."""
        return cast(
            "Future[bytes]",
            self._kernel.submit(
                parsl_task.run,
                app_args=(self._handlers[pool], payload, pool is Pool.RUN),
                executors=[pool.value],
                cache=False,
                ignore_for_cache=[],
                app_kwargs={},
            ),
        )

    def close(self, *, now: bool) -> None:
        """End Parsl and its jobs."""
        with suppress(Exception):
            # whatever fails while everything ends concerns nobody any more
            self._kernel.cleanup()
