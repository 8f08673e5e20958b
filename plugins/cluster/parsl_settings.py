"""The tables ``pools.run``, ``pools.build`` and ``parsl`` of a settings file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import UsageError
from ckprof.plugin.protocols.engines import Pool

if TYPE_CHECKING:
    from ckprof.plugin.protocols.engines import EngineSettings

_WALLTIME: Final = re.compile(r"\d+:[0-5]\d:[0-5]\d")
_TABLES: Final = ("pools", "parsl")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderForm:
    """How a provider is called, and by which names it knows what the settings say."""

    #: name of the class in ``parsl.providers``
    cls: str
    #: parameters for ``queue`` and ``account``; empty if there is no such thing
    queue: str = ""
    account: str = ""
    walltime: bool = True
    #: id of the launcher that starts workers on several nodes of a block; empty if blocks have one node
    launcher: str = ""
    #: workers run on this machine
    local: bool = False
    #: its workers see no folder of this machine, so that jobs bring the keys of their connections
    carries_keys: bool = False
    #: parameters that ``options`` must hold
    required: tuple[str, ...] = ()


PROVIDERS: Final[Mapping[str, ProviderForm]] = MappingProxyType(
    {
        "local": ProviderForm(cls="LocalProvider", walltime=False, local=True),
        "slurm": ProviderForm(cls="SlurmProvider", queue="partition", account="account", launcher="srun"),
        "pbspro": ProviderForm(cls="PBSProProvider", queue="queue", account="account", launcher="mpiexec"),
        "lsf": ProviderForm(cls="LSFProvider", queue="queue", account="project", launcher="jsrun"),
        "gridengine": ProviderForm(cls="GridEngineProvider", queue="queue"),
        "kubernetes": ProviderForm(
            cls="KubernetesProvider", walltime=False, carries_keys=True, required=("image",)
        ),
    }
)

#: id -> class in ``parsl.launchers``
LAUNCHERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "single": "SingleNodeLauncher",
        "simple": "SimpleLauncher",
        "srun": "SrunLauncher",
        "mpiexec": "MpiExecLauncher",
        "mpirun": "MpiRunLauncher",
        "jsrun": "JsrunLauncher",
        "aprun": "AprunLauncher",
    }
)


class PoolTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One pool of workers."""

    #: key of :data:`PROVIDERS`
    provider: str = "local"
    #: machines of one job of the scheduler, and jobs at once
    nodes: int = 1
    blocks: int = 1
    #: devices of a machine: their number, or what they are called there
    gpus: int | tuple[str, ...] = 0
    #: workers of a machine, for pools without devices
    workers: int = 1
    #: ``hours:minutes:seconds`` of a job
    walltime: str = ""
    queue: str = ""
    account: str = ""
    launcher: str = ""
    #: lines of shell that a job begins with: modules, virtual environment
    environment: tuple[str, ...] = ()
    #: lines for the head of the job's script
    scheduler_options: str = ""
    #: further parameters of the provider, by its own names
    options: dict[str, object] = {}

    @property
    def devices(self) -> tuple[str, ...]:
        """What the devices of a machine are called."""
        if isinstance(self.gpus, int):
            return tuple(str(number) for number in range(self.gpus))
        return self.gpus

    @property
    def slots(self) -> int:
        """Workers at most."""
        return self.nodes * self.blocks * (len(self.devices) or self.workers)


class Pools(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The pools."""

    run: PoolTable
    build: PoolTable | None = None


class ParslTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What concerns all pools."""

    #: name or number under which workers reach this machine; found out by themselves if empty
    address: str = ""
    #: seconds without a sign of life after which the workers of a machine are given up
    heartbeat_s: int = 120


class ParslSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All tables of the engine."""

    pools: Pools
    parsl: ParslTable = ParslTable()

    def pool(self, pool: Pool) -> PoolTable | None:
        """Return a pool's table."""
        return self.pools.run if pool is Pool.RUN else self.pools.build

    @property
    def local(self) -> bool:
        """Whether all workers run on this machine."""
        tables = (table for pool in Pool if (table := self.pool(pool)) is not None)
        return all(PROVIDERS[table.provider].local for table in tables)


def read_parsl_settings(settings: EngineSettings | None) -> ParslSettings:
    """Return the engine's part of a settings file.

    :raises UsageError: there is no settings file.
    :raises InputError: something in it is wrong; the message has the line.
    """
    if settings is None:
        raise UsageError("--engine parsl needs --cluster FILE, which says where its workers run")
    if "pools" not in settings.tables:
        raise settings.error("there is no table [pools.run], which says where kernels are measured", "pools")
    read = settings.convert(ParslSettings, known=_TABLES)
    for pool in Pool:
        table = read.pool(pool)
        if table is not None:
            for name, problem in _problems(table, pool):
                raise settings.error(problem, f"pools.{pool.value}.{name}")
    return read


def _problems(table: PoolTable, pool: Pool) -> list[tuple[str, str]]:
    """Return (key, what is wrong with it)."""
    form = PROVIDERS.get(table.provider)
    if form is None:
        return [("provider", f"unknown provider {table.provider!r} (known: {', '.join(PROVIDERS)})")]
    problems = []
    for name in ("nodes", "blocks", "workers"):
        if getattr(table, name) < 1:
            problems.append((name, f"{name} is {getattr(table, name)}, expected at least 1"))
    if pool is Pool.RUN and not table.devices:
        problems.append(("gpus", "gpus is missing: the number of devices of a machine, or their names"))
    if pool is Pool.BUILD and table.devices:
        problems.append(("gpus", "a pool that builds has workers = N, no gpus"))
    if table.walltime and not form.walltime:
        problems.append(("walltime", f"provider {table.provider} has no walltime"))
    elif table.walltime and not _WALLTIME.fullmatch(table.walltime):
        problems.append(("walltime", f"walltime is {table.walltime!r}, expected hours:minutes:seconds"))
    for name in ("queue", "account"):
        if getattr(table, name) and not getattr(form, name):
            problems.append((name, f"provider {table.provider} has no {name}"))
    if table.launcher and table.launcher not in LAUNCHERS:
        problems.append(("launcher", f"unknown launcher {table.launcher!r} (known: {', '.join(LAUNCHERS)})"))
    if table.nodes > 1 and not (form.launcher or table.launcher):
        problems.append(("nodes", f"provider {table.provider} has one machine a job: use blocks"))
    for name in form.required:
        if name not in table.options:
            problems.append(("options", f"provider {table.provider} needs options.{name}"))
    return problems
