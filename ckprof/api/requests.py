"""What a caller can ask for: frozen, typed, each default in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ckprof.model.conversion import ListReading as ListReading
from ckprof.rounds.options import RoundOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ckprof.model.dtype import DataType
    from ckprof.model.problem import Problem
    from ckprof.run.options import RunOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceQuery:
    """Which instances are meant: those of lists, of a rule set, or of a plugin's own options.

    Strings stand for single values: ``InstanceQuery(conf="legacy.conf", directions="fwd")``.
    """

    #: lists: paths, or names of lists that ship with ckprof
    conf: str | Path | tuple[str | Path, ...] = ()
    #: id of the rule set that enumerates the instances instead
    rule_set: str | None = None
    #: ids or aliases of directions; empty for all that there are
    directions: str | tuple[str, ...] = ()
    #: how lists are read
    reading: ListReading = field(default_factory=ListReading)
    #: data types of a rule set's instances; empty for all
    dtypes: tuple[DataType, ...] = ()
    #: numbers of spatial dimensions of a rule set's instances; empty for 2 and 3
    ndims: tuple[int, ...] = ()
    #: positions among the instances, from 0; empty for all
    indices: tuple[int, ...] = ()
    #: expressions over fields, or regular expressions over names, one of which must choose an instance
    filters: str | tuple[str, ...] = ()
    #: the same, none of which may choose it
    excludes: str | tuple[str, ...] = ()
    #: ids of kernel families; empty for all
    pipelines: str | tuple[str, ...] = ()
    #: id of the target whose default architecture decides what is valid
    target: str | None = None
    #: architecture that decides what is valid; ``None`` for that of the settings or of the target
    arch: str | None = None
    #: API level that decides what is valid; ``None`` for the latest
    api_level: str | None = None
    #: sort out what is not valid for the architecture already here; done for rule sets in any case
    check_arch: bool = False
    #: keep what the rules reject, and what upstream has although it is known to be wrong
    keep_invalid: bool = False
    #: values of options that plugins have added, by name; see the hook ``ckprof_make_instances``
    plugin_options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """How kernels are generated and built; ``None`` for what the settings or the target say."""

    #: id of the target
    target: str | None = None
    arch: str | None = None
    #: C++ compiler, by name, path or command
    compiler: str | None = None
    #: CK Tile headers, for targets that do not bring their own
    ck_root: Path | None = None
    #: state of CK Tile's interface that a target without real headers models
    api_level: str | None = None
    #: compilers at once
    jobs: int | None = None
    #: seconds that one compiler process may take
    compile_timeout_s: float | None = None
    #: generate and build in this folder, and leave everything there
    build_dir: Path | None = None
    #: kernels per registration source
    chunk_size: int | None = None
    #: file of a time model by which generated sources choose kernels
    time_model: Path | None = None
    #: take a time model of another device
    force_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlanOptions:
    """What instances are run on, and how."""

    #: lines or problems; without any, what the kernel families run on by themselves
    problems: tuple[str | Problem, ...] = ()
    #: files with one problem a line
    files: tuple[Path, ...] = ()
    #: ``None`` for the defaults
    run: RunOptions | None = None
    #: numbers of splits of the reduction for every problem; empty for those that each problem line names, or
    #: else those of ``run``
    splits: tuple[int, ...] = ()
    #: a problem line whose layout no instance has does not fit, even where all have the same one
    strict_layout: bool = False
    #: reports shall say every condition that rejected an instance
    why: bool = False


def _never() -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """How a sweep goes on, and where its outcomes go."""

    #: file of the store, made if it does not exist; or a folder for shards: one that exists, or a name that
    #: ends in a slash
    store: str | Path
    #: when kernels leave the rounds, and when these are enough
    rounds: RoundOptions = field(default_factory=RoundOptions)
    #: names for this session, to find it again
    tags: tuple[str, ...] = ()
    #: measure again what the store has
    fresh: bool = False
    #: try again what failed
    retry_failed: bool = False
    #: seconds after which no further kernel is measured; ``None`` for as long as it takes
    max_time_s: float | None = None
    #: wait while another process writes the store, instead of failing
    wait: bool = False
    #: id of the engine that hands problems to several devices; ``None`` for this process and one device,
    #: unless ``devices`` or ``cluster`` ask for more
    engine: str | None = None
    #: indices of the devices of this machine that are used
    devices: tuple[int, ...] = ()
    #: settings file of the engine
    cluster: Path | None = None
    #: asked before every attempt
    should_stop: Callable[[], bool] = _never

    @property
    def on_engine(self) -> bool:
        """True when problems are handed to workers instead of being measured by this process."""
        return self.engine is not None or bool(self.devices) or self.cluster is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """Where the outcomes of a run go as well."""

    #: file of the store, or a folder for shards, as for :class:`SweepOptions`
    store: str | Path
    #: names for this session, to find it again
    tags: tuple[str, ...] = ()
    #: wait while another process writes the store, instead of failing
    wait: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """How ``Profiler.call`` runs one kernel of a library that is built already."""

    #: number, name or start of the key; ``None`` for the first that supports the problem
    kernel: int | str | None = None
    #: device to choose; ``None`` for that of the library
    arch: str | None = None
    #: index of the device
    device: int = 0
    #: splits of the reduction; ``None`` for the problem line's, or 1
    split_k: int | None = None
    #: untimed runs
    warmup: int = 0
    #: timed runs
    repeat: int = 1
    #: the median of the timed runs instead of their mean
    median: bool = False
    #: bytes to touch before each timed run to evict the caches
    flush_bytes: int = 0
    #: what the operands hold: ``zeros``, ``integer`` or ``decimal``
    init: str = "decimal"
    #: seed of the operands
    seed: int = 0
    #: compare with the reference
    verify: bool = True
    #: seconds for the whole process
    timeout_s: float = 60.0
