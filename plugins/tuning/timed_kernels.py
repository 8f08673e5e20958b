"""What kernels really do where they run: targets may run others than those that a configuration describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckprof.model.gemm_work import Schedule
from ckprof.plugin.protocols import ModellingTarget
from ckprof.plugin.timing import TimedKernel, TimedPipeline, TimedTarget
from ckprof_plugins.tuning.time_model.selector import Candidate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.gemm_work import KernelTraits
    from ckprof.model.types import DataType
    from ckprof.plugin.registry import Registry
    from ckprof_plugins.tuning.time_model.model import TimeModel


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelKind:
    """What kernels of a model or a table have in common."""

    #: id of the direction, and name of the type
    direction: str
    dtype: str
    #: id of the target that runs them; empty for the architecture itself
    target: str = ""

    @classmethod
    def of(cls, model: TimeModel) -> KernelKind:
        """Return that of a model's kernels."""
        return cls(direction=model.direction, dtype=model.dtype, target=model.target)


def executed_traits(
    registry: Registry, kind: KernelKind, fields: Mapping[str, Any], traits: KernelTraits
) -> KernelTraits:
    """Return what a kernel does where it runs.

    :param fields: those of the instance that are known.
    :param traits: what the configuration says.
    """
    target = registry.targets.find(kind.target) if kind.target else None
    if not isinstance(target, TimedTarget):
        return traits
    return target.executed(
        TimedKernel(direction=kind.direction, dtype=kind.dtype, fields=fields, traits=traits)
    )


def model_candidate(
    registry: Registry, model: TimeModel, name: str, pipeline: TimedPipeline, fields: Mapping[str, Any]
) -> Candidate:
    """Return a kernel as a time model chooses among kernels.

    :param fields: those of the instance.
    """
    traits = executed_traits(registry, KernelKind.of(model), fields, pipeline.traits(fields))
    splits = model.splits if traits.schedule is Schedule.TILES else (1,)
    return Candidate(name=name, traits=traits, splits=splits)


def runs_elsewhere(registry: Registry, target: str, *, emulated: bool = False) -> bool:
    """Say whether a target's times are not those of the architecture that is named.

    :param target: its id; empty for the architecture itself.
    :param emulated: they are those of a device that the target brings along.
    """
    if emulated:
        return True
    if not target or target not in registry.targets.ids:
        return False
    registered = registry.targets.find(target)
    return registered.embedded or (isinstance(registered, ModellingTarget) and registered.models_arch)


def device_of(registry: Registry, target: str, model: str, arch: str, *, emulated: bool = False) -> str:
    """Return what a model of measured times is of.

    :param model: name of the device that ran the kernels.
    :param arch: architecture that was named.
    :param emulated: as for :func:`runs_elsewhere`.
    """
    return (model or arch) if runs_elsewhere(registry, target, emulated=emulated) else arch


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedDevice:
    """Where the kernels of a search run, or ran."""

    kind: KernelKind
    dtype: DataType
    #: architecture or name, as time models know it; empty if unknown
    name: str
    #: compute units; 0 if unknown
    units: int
