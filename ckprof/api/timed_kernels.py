"""What kernels really do where they run: targets may run others than those that a configuration describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckprof.plugin.protocols import ModellingTarget
from ckprof.plugin.timing import TimedKernel, TimedTarget

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.model.kernel_traits import KernelTraits
    from ckprof.plugin.registry import Registry
    from ckprof.selection.model import TimeModel


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


def runs_elsewhere(registry: Registry, target: str) -> bool:
    """Say whether a target's times are not those of the architecture that is named.

    :param target: its id; empty for the architecture itself.
    """
    if not target or target not in registry.targets.ids:
        return False
    found = registry.targets.find(target)
    return found.embedded or (isinstance(found, ModellingTarget) and found.models_arch)


def device_of(registry: Registry, target: str, model: str, arch: str) -> str:
    """Return what a model of measured times is of.

    :param model: name of the device that ran the kernels.
    :param arch: architecture that was named.
    """
    return (model or arch) if runs_elsewhere(registry, target) else arch
