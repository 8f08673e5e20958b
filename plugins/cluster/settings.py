"""The settings file of ``--cluster``: what concerns every engine here, the rest is for the engine.

Whatever is wrong is reported with the line of the file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import msgspec

from ckprof.errors import InputError, UsageError
from ckprof_plugins.cluster.engines import Pool
from ckprof_plugins.cluster.folder import LeasePolicy
from ckprof_plugins.cluster.messages import ReferencePolicy

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")

#: keys and tables that are read here; all others belong to the engine
_COMMON: Final = ("engine", "transport", "lease", "reference", "merge")
_TABLE: Final = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")
_KEY: Final = re.compile(r"""\s*["']?([A-Za-z0-9_-]+)["']?\s*=""")
_ERROR_PLACE: Final = re.compile(r" - at `\$\.?([^`]*)`$")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `([^`]+)`")


class Transport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How libraries reach workers, and outcomes the coordinator."""

    #: ``folder`` that all machines see, or through the ``engine``
    kind: str = "engine"
    #: the folder
    path: str = ""


class MergePolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How shards are merged; the table ``merge`` of a settings file.

    :raises UsageError: a value is out of range.
    """

    #: processes of the coordinator's machine that read shards; ``None``: as many as it has CPUs to spare
    processes: int | None = None

    def __post_init__(self) -> None:
        if self.processes is not None and self.processes < 0:
            raise UsageError(f"{self.processes} processes read shards, expected none or more")


class ClusterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A settings file that was read."""

    #: id of the engine; empty where ``--engine`` has to say it
    engine: str = ""
    transport: Transport = Transport()
    lease: LeasePolicy = LeasePolicy()
    reference: ReferencePolicy = ReferencePolicy()
    merge: MergePolicy = MergePolicy()
    #: the file, its text, in which lines are looked up, and its tables that are for the engine
    path: Any = None
    text: str = ""
    tables: dict[str, Any] = {}

    @property
    def folder(self) -> Path | None:
        """The folder that all machines see; ``None``: everything travels through the engine."""
        return Path(self.transport.path) if self.transport.path else None

    def convert(self, kind: type[T], *, known: tuple[str, ...] = ()) -> T:
        """Return the engine's tables as a type that msgspec knows.

        :param known: top-level tables that there are, for the message about one that there is not.
        :raises InputError: a key or value is wrong; the message has its line.
        """
        for name in self.tables:
            if known and name not in known:
                raise self.error(
                    f"there is no table {name!r}, expected one of {', '.join((*_COMMON, *known))}", name
                )
        return _convert(self.tables, kind, self.path, self.text)

    def error(self, message: str, key: str) -> InputError:
        """Return the error for a key.

        :param key: its path, e.g. ``pools.run.walltime``.
        """
        return InputError(message, self.path, line_of(self.text, key))


def read_settings(path: Path) -> ClusterSettings:
    """Read a settings file.

    :raises InputError: it cannot be read, or a key or value of the tables for all engines is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
        values: dict[str, object] = tomllib.loads(text)
    except OSError as exc:
        raise InputError(f"cannot be read: {exc.strerror}", path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as exc:
        line = re.search(r"line (\d+)", str(exc))
        raise InputError(f"not valid TOML: {exc}", path, int(line[1]) if line else None) from None
    tables: dict[str, object] = {name: values.pop(name) for name in _COMMON if name in values}
    try:
        settings = _convert(tables, ClusterSettings, path, text)
    except UsageError as exc:
        key = "reference" if str(exc).startswith(ReferencePolicy.__struct_fields__) else "lease"
        key = "merge.processes" if "read shards" in str(exc) else key
        raise InputError(str(exc), path, line_of(text, key)) from None
    settings = msgspec.structs.replace(settings, path=path, text=text, tables=values)
    kind, folder = settings.transport.kind, settings.transport.path
    if kind not in ("folder", "engine"):
        raise settings.error(f"the transport is {kind!r}, expected folder or engine", "transport.kind")
    if kind == "folder" and not folder:
        raise settings.error("a folder that all machines see needs a path = ...", "transport.kind")
    if kind == "engine" and folder:
        raise settings.error('a path is for kind = "folder"', "transport.path")
    return settings


def _convert(values: Mapping[str, object], kind: type[T], path: Path, text: str) -> T:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as exc:
        message = str(exc)
        location = _ERROR_PLACE.search(message)
        key = cast("str", location[1]) if location else ""
        unknown = _UNKNOWN.search(message)
        if location:
            message = message[: location.start()]
        if unknown:
            key = f"{key}.{unknown[1]}" if key else unknown[1]
            message = f"unknown key {unknown[1]!r}"
        raise InputError(f"{key}: {message}" if key else message, path, line_of(text, key)) from None


def line_of(text: str, place: str) -> int | None:
    """Return the line of a key, or of the innermost table around it that the file has.

    :param place: path of the key, its parts separated by dots.
    """
    parts = [part for part in re.split(r"\.|\[\d*\]|\[\.\.\.\]", place) if part]
    best: tuple[int, int] | None = None
    table: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        header = _TABLE.match(line)
        if header:
            table = [part.strip().strip("\"'") for part in header[1].split(".")]
            here = table
        else:
            key = _KEY.match(line)
            if key is None:
                continue
            here = [*table, key[1]]
        shared = min(len(here), len(parts))
        if shared and here[:shared] == parts[:shared] and (best is None or shared > best[0]):
            best = shared, number
    return best[1] if best else None


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


PROVIDERS: Final[Mapping[str, ProviderForm]] = {
    "local": ProviderForm(cls="LocalProvider", walltime=False, local=True),
    "slurm": ProviderForm(cls="SlurmProvider", queue="partition", account="account", launcher="srun"),
    "pbspro": ProviderForm(cls="PBSProProvider", queue="queue", account="account", launcher="mpiexec"),
    "lsf": ProviderForm(cls="LSFProvider", queue="queue", account="project", launcher="jsrun"),
    "gridengine": ProviderForm(cls="GridEngineProvider", queue="queue"),
    "kubernetes": ProviderForm(
        cls="KubernetesProvider", walltime=False, carries_keys=True, required=("image",)
    ),
}

#: id -> class in ``parsl.launchers``
LAUNCHERS: Final[Mapping[str, str]] = {
    "single": "SingleNodeLauncher",
    "simple": "SimpleLauncher",
    "srun": "SrunLauncher",
    "mpiexec": "MpiExecLauncher",
    "mpirun": "MpiRunLauncher",
    "jsrun": "JsrunLauncher",
    "aprun": "AprunLauncher",
}


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

    def slots(self, pool: Pool) -> int:
        """Return how many workers a pool has when all jobs run."""
        table = self.pool(pool)
        return table.slots if table is not None else 0

    @property
    def local(self) -> bool:
        """Whether all workers run on this machine."""
        tables = (table for pool in Pool if (table := self.pool(pool)) is not None)
        return all(PROVIDERS[table.provider].local for table in tables)


def read_parsl_settings(settings: ClusterSettings | None) -> ParslSettings:
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


def _problems(table: PoolTable, pool: Pool) -> Iterator[tuple[str, str]]:
    """Yield (key, what is wrong with it)."""
    form = PROVIDERS.get(table.provider)
    if form is None:
        yield "provider", f"unknown provider {table.provider!r} (known: {', '.join(PROVIDERS)})"
        return
    for name in ("nodes", "blocks", "workers"):
        if getattr(table, name) < 1:
            yield name, f"{name} is {getattr(table, name)}, expected at least 1"
    if pool is Pool.RUN and not table.devices:
        yield "gpus", "gpus is missing: the number of devices of a machine, or their names"
    if pool is Pool.BUILD and table.devices:
        yield "gpus", "a pool that builds has workers = N, no gpus"
    if table.walltime and not form.walltime:
        yield "walltime", f"provider {table.provider} has no walltime"
    elif table.walltime and not _WALLTIME.fullmatch(table.walltime):
        yield "walltime", f"walltime is {table.walltime!r}, expected hours:minutes:seconds"
    for name in ("queue", "account"):
        if getattr(table, name) and not getattr(form, name):
            yield name, f"provider {table.provider} has no {name}"
    if table.launcher and table.launcher not in LAUNCHERS:
        yield "launcher", f"unknown launcher {table.launcher!r} (known: {', '.join(LAUNCHERS)})"
    if table.nodes > 1 and not (form.launcher or table.launcher):
        yield "nodes", f"provider {table.provider} has one machine a job: use blocks"
    for name in form.required:
        if name not in table.options:
            yield "options", f"provider {table.provider} needs options.{name}"
