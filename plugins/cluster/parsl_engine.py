"""Parsl as an engine: it starts workers through schedulers, and gives each a device of its own.

Parsl is imported when the engine is used, never before.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import shlex
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ckprof.errors import CkprofError, ToolchainError, UsageError
from ckprof.orphans import tied
from ckprof.private_folders import private_folder
from ckprof.python_child import python_command
from ckprof.sanitize import one_line
from ckprof_plugins.cluster.child import run_payload
from ckprof_plugins.cluster.engines import Pool
from ckprof_plugins.cluster.settings import LAUNCHERS, PROVIDERS, read_parsl_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from ckprof_plugins.cluster.engines import EngineRequest
    from ckprof_plugins.cluster.settings import ParslSettings, PoolTable


#: variable of the job's shell: where it has put its keys
_FOLDER: Final = "CKPROF_KEYS"
#: a file of keys as ZeroMQ reads it
_FILE: Final = 'curve\n    public-key = "{public}"\n    secret-key = "{secret}"\n'


def make_keys(folder: Path, launch: str) -> tuple[Path, str]:
    """Make new keys of one executor, for workers that see no folder of this machine.

    The server's secret key stays here. Whoever can read the job can do what its workers can.

    :param folder: of this user alone; made.
    :param launch: Parsl's command for starting workers: a format string with a field ``cert_dir``.
    :returns: where Parsl reads the keys on this machine, and a command that writes those of workers first.
    :raises OSError: they cannot be written.
    """
    import zmq.auth
    from parsl import curvezmq

    folder.mkdir(parents=True, exist_ok=True)
    made = Path(curvezmq.create_certificates(str(folder)))
    server, _ = zmq.auth.load_certificate(made / "server.key_secret")
    client, client_secret = zmq.auth.load_certificate(made / "client.key_secret")
    steps = [f"{_FOLDER}=$(mktemp -d)"]
    # Parsl wants a secret key in the server's file as well, of which it takes the public one alone.
    for name, public, secret in (("server", server, server), ("client", client, client_secret or b"")):
        text = shlex.quote(_FILE.format(public=public.decode(), secret=secret.decode()))
        # Parsl formats it twice, and keys may have braces
        quoted = text.replace("{", "{{{{").replace("}", "}}}}")
        steps.append(f'printf %s {quoted} > "${_FOLDER}/{name}.key_secret"')
    return made, " && ".join([*steps, launch.replace("{cert_dir}", f'"${_FOLDER}"')])


#: types of values in settings files that Parsl's own checks let pass at the start, and fail on later
_SIMPLE: Final[Mapping[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "number": (int, float),
}
#: characters of what a job has said
_SAID: Final = 300


def own_address(name: str) -> str:
    """Return the number of an address of this machine, which is all that Parsl takes.

    :raises ToolchainError: the name is not known, or belongs to another machine.
    """
    try:
        number = str(socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)[0][4][0])
        with socket.socket(socket.AF_INET6 if ":" in number else socket.AF_INET, socket.SOCK_STREAM) as bound:
            bound.bind((number, 0))
    except (OSError, UnicodeError) as exc:
        raise ToolchainError(
            f"parsl.address {name!r} cannot be used: {getattr(exc, 'strerror', None) or exc}; "
            "name an address of this machine that workers reach, or omit it"
        ) from None
    return number


def wrong_value(parameter: inspect.Parameter, value: object) -> str:
    """Return what a parameter of a provider expects instead of a value; empty if the value will do."""
    names = str(parameter.annotation).replace("<class '", "").replace("'>", "")
    if parameter.annotation is inspect.Parameter.empty:
        default = type(parameter.default).__name__
        names = "number" if default in ("int", "float") else default
    expected = _SIMPLE.get(names)
    if expected is None or (isinstance(value, expected) and (names == "bool" or not isinstance(value, bool))):
        return ""
    return names


def failing_jobs(provider: str, folder: Path) -> Callable[[Any, Mapping[str, Any]], None]:
    """Return what Parsl asks to look at its jobs: gives up when all that were started have failed.

    :param folder: where Parsl keeps the scripts of jobs, and what they print.
    """

    def look(executor: Any, jobs: Mapping[str, Any]) -> None:
        failed = [job for job in jobs.values() if job.state.name in ("FAILED", "MISSING")]
        if len(failed) < max(1, executor.provider.init_blocks) or len(failed) < len(jobs):
            return
        executor.set_bad_state_and_fail_all(
            ToolchainError(
                f"jobs of provider {provider} end before a worker starts: {_said(failed[-1])}; "
                f"scripts and output are in {folder}"
            )
        )

    return look


def _said(job: Any) -> str:
    """Return what is known of a job that failed, in one line."""
    code = f"exit status {job.exit_code}" if job.exit_code is not None else ""
    texts = (job.message, code, job.stderr_summary or job.stdout_summary)
    said = "; ".join(" ".join(text.split()) for text in texts if text)
    return one_line(said[:_SAID]) or f"its state is {job.state.name.lower()}"


#: seconds between looks at whether more workers are needed; the first ones start after one of them
_STRATEGY_PERIOD_S: Final = 0.2
#: seconds that Parsl gets to give its jobs back
_END_S: Final = 15.0
#: where the programs of Parsl's executor are
_PACKAGE: Final = "parsl.executors.high_throughput"


class ParslEngine:
    """Runs payloads through Parsl's executor for many short tasks."""

    id = "parsl"
    label = "Parsl: SLURM, PBS, LSF, Grid Engine, Kubernetes, or this machine"

    def pools(self, request: EngineRequest) -> Mapping[Pool, int]:
        """Return the workers of each pool.

        :raises CkprofError: the settings are wrong, or Parsl is not installed.
        """
        settings = _checked(request)
        return {pool: settings.slots(pool) for pool in Pool}

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
            if expected := wrong_value(parameters[name], table.options[name]):
                raise file.error(
                    f"{name} of provider {table.provider} is {table.options[name]!r}, expected {expected}",
                    f"pools.{pool.value}.options.{name}",
                )
    return settings


def _provider_class(table: PoolTable) -> type[Any]:
    kind: type[Any] = getattr(importlib.import_module("parsl.providers"), PROVIDERS[table.provider].cls)
    return kind


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
        # not in the current folder: whatever lies there could be imported
        "worker_init": "\n".join([*table.environment, "export PYTHONSAFEPATH=1", "cd /"]),
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


def make_executor(pool: Pool, settings: ParslSettings, folder: Path, alive: int) -> Any:
    """Return the executor of a pool, which nothing was started for yet.

    What passes between its processes could be any code. So all of it is encrypted and signed, on one machine
    as well: its other users could connect to the ports.

    :param folder: in that of all files of Parsl: where the executor's keys lie if its jobs carry them.
    :param alive: read end of the pipe by which its processes on this machine notice the end of this one.
    :raises CkprofError: as :func:`make_provider`.
    """
    from parsl.executors import HighThroughputExecutor
    from parsl.executors.high_throughput.executor import DEFAULT_LAUNCH_CMD

    table = settings.pool(pool)
    if table is None:
        raise ValueError(f"the settings have no pool for {pool.value}")
    form = PROVIDERS[table.provider]
    launch, keys = DEFAULT_LAUNCH_CMD, None
    if form.local:
        program, _, rest = launch.partition(" ")
        ours = shlex.join(tied(python_command(f"{_PACKAGE}.{program.removesuffix('.py')}"), alive))
        # it is formatted twice
        launch = f"{ours.replace('{', '{{{{').replace('}', '}}}}')} {rest}"
    elif form.carries_keys:
        keys, launch = make_keys(folder / pool.value, launch)
    values: dict[str, Any] = {
        "label": pool.value,
        "provider": make_provider(table),
        # a worker has one device, and takes a task only when it is done with the one before
        "available_accelerators": list(table.devices),
        "max_workers_per_node": len(table.devices) or table.workers,
        "prefetch_capacity": 0,
        "encrypted": True,
        "block_error_handler": failing_jobs(table.provider, folder.parent),
        "launch_cmd": launch,
        "interchange_launch_cmd": tied(python_command(f"{_PACKAGE}.interchange"), alive),
        "heartbeat_threshold": settings.parsl.heartbeat_s,
        "heartbeat_period": max(1, settings.parsl.heartbeat_s // 4),
    }
    if form.local:
        values["address"] = "127.0.0.1"
    elif settings.parsl.address:
        values["address"] = own_address(settings.parsl.address)
    executor = HighThroughputExecutor(**values)
    if keys is not None:
        executor.cert_dir = str(keys)
    return executor


class ParslSession:
    """A running Parsl.

    :param request: what it is opened for.
    :param settings: its part of the settings file.
    """

    def __init__(self, request: EngineRequest, settings: ParslSettings) -> None:
        self._handlers = {Pool.RUN: request.handler, Pool.BUILD: request.build_handler}
        self._settings = settings
        self.outlives_coordinator, self.shares_files = not settings.local, settings.local
        # Its processes on this machine end with the other end, however this process does.
        self._watched, self._alive = os.pipe()
        folder = request.folder.absolute() / "parsl"
        pools = [pool for pool in request.wanted if settings.pool(pool) is not None]
        try:
            from parsl.config import Config
            from parsl.dataflow.dflow import DataFlowKernel

            # others must not read keys, nor the scripts of jobs
            private_folder(folder).chmod(0o700)
            config = Config(
                executors=[make_executor(pool, settings, folder / "keys", self._watched) for pool in pools],
                run_dir=str(folder),
                # the coordinator decides what is done again
                retries=0,
                strategy_period=_STRATEGY_PERIOD_S,
                initialize_logging=False,
            )
            self._kernel = DataFlowKernel(config)
        except BaseException as exc:
            self._end_processes()
            if isinstance(exc, CkprofError) or not isinstance(exc, Exception):
                raise
            why = one_line(str(exc)) or type(exc).__name__
            raise ToolchainError(
                f"Parsl cannot be started: {why}; its logs are in {folder}; "
                "pip install --force-reinstall 'ckprof[cluster]' if something of it is missing"
            ) from exc

    def slots(self, pool: Pool) -> int:
        """Return how many workers the pool has when all jobs run."""
        return self._settings.slots(pool)

    def submit(self, pool: Pool, payload: bytes) -> Future[bytes]:
        """Have Parsl run a payload."""
        future: Future[bytes] = self._kernel.submit(
            run_payload,
            app_args=(self._handlers[pool], payload, pool is Pool.RUN),
            executors=[pool.value],
            cache=False,
            ignore_for_cache=[],
            app_kwargs={},
        )
        return future

    def close(self, *, now: bool) -> None:
        """End Parsl and its jobs, within seconds: what does not end by itself is killed."""
        ending = threading.Thread(target=self._clean_up, name="end of Parsl", daemon=True)
        ending.start()
        try:
            ending.join(_END_S)
        finally:
            self._end_processes()

    def _clean_up(self) -> None:
        with suppress(Exception):
            # whatever fails while everything ends concerns nobody any more
            self._kernel.cleanup()

    def _end_processes(self) -> None:
        """Kill what is left of Parsl on this machine."""
        os.close(self._alive)
        os.close(self._watched)
