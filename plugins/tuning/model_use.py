"""What measured kernels have in common with those that are chosen: device, target, operation, and traits.

Targets may run others than those that a configuration describes; what kernels really do counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckprof.errors import InputError, UsageError
from ckprof.model.types import DataType
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Operation, Pipeline, TimedKernel
from ckprof_plugins.tuning.time_model.formula import sizes_of_product
from ckprof_plugins.tuning.time_model.model_file import read_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ckprof.kernels.candidates import Candidate
    from ckprof.model.gemm_work import KernelTraits
    from ckprof.plugin.registry import Registry
    from ckprof.session import Session
    from ckprof.store.key import DeviceKey
    from ckprof_plugins.tuning.time_model.formula import GemmSizes
    from ckprof_plugins.tuning.time_model.model import TimeModel


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelKind:
    """What kernels of a model, a table or a search have in common."""

    #: id of the direction, and name of the type
    direction: str
    dtype: str
    #: id of the target that runs them; empty for the architecture itself
    target: str = ""
    #: architecture or name of the device, as time models know it, and its compute units; empty, 0 if unknown
    device: str = ""
    compute_units: int = 0

    @classmethod
    def of(cls, model: TimeModel) -> KernelKind:
        """Return that of a model's kernels."""
        return cls(direction=model.direction, dtype=model.dtype, target=model.target)


def kind_of_tables(session: Session, direction: str, dtype: DataType, target: str) -> KernelKind:
    """Return what the kernels of tables have in common.

    :param target: what ran them; empty for the architecture itself.
    """
    id_ = session.target(target).id if target else ""
    ran = id_ if runs_elsewhere(session.registry, id_) else ""
    return KernelKind(direction=direction, dtype=dtype.value, target=ran)


def executed_traits(
    registry: Registry,
    kind: KernelKind,
    pipeline: Pipeline,
    fields: Mapping[str, Any],
    known: KernelTraits | None = None,
) -> KernelTraits:
    """Return what a kernel does where it runs.

    :param fields: those of the instance that are known.
    :param known: what the configuration says; ``None`` where that follows from the fields.
    """
    traits = known or pipeline.traits(fields)
    if not kind.target:
        return traits
    return registry.targets.find(kind.target).executed(
        TimedKernel(direction=kind.direction, dtype=kind.dtype, fields=fields, traits=traits)
    )


def traits_of(registry: Registry, kind: KernelKind, kernels: Iterable[Candidate]) -> dict[str, KernelTraits]:
    """Return name -> what kernels do where they run; those of families without a time model are left out."""
    return {
        one.name: executed_traits(registry, kind, one.pipeline, one.instance.fields())
        for one in kernels
        if offers(one.pipeline, Pipeline.traits)
    }


def runs_elsewhere(registry: Registry, target: str) -> bool:
    """Say whether a target's times are not those of the architecture that is named.

    :param target: its id; empty for the architecture itself.
    """
    if not target or target not in registry.targets.ids:
        return False
    registered = registry.targets.find(target)
    return registered.embedded or registered.models_arch


def ran_on(registry: Registry, device: DeviceKey, arch: str) -> tuple[str, str]:
    """Return the target and the device that a model of measured times is of, as :class:`KernelKind` has them.

    :param device: what ran the kernels.
    :param arch: architecture that was named.
    """
    # a device that the target brings along is none of the architecture either
    if device.is_emulated or runs_elsewhere(registry, device.target):
        return device.target, device.model or arch
    return "", arch


def load_model(path: Path, direction: str | None = None) -> TimeModel:
    """Return the model of a file.

    :param direction: what the model has to be of; ``None`` for any.
    :raises InputError: it is not a model, or one of another direction.
    """
    model = read_model(path)
    if direction not in (None, model.direction):
        raise InputError(f"the model is of {model.direction}, not {direction}", path)
    return model


def require_use(registry: Registry, model: TimeModel, target_id: str, arch: str, path: Path) -> None:
    """Refuse a model of another device than the one that kernels are chosen for.

    :param target_id: the target that will run the kernels.
    :raises InputError: the model's times are those of another target, architecture or device.
    """
    if not model.target:
        require_device(model, arch, path)
        return
    require_target(model, target_id, path)
    target = registry.targets.find(model.target)
    if not runs_elsewhere(registry, target.id):
        # of a device that the target only brings along
        require_device(model, arch, path)
    here = target.device_name()
    if here and model.device.casefold() not in here.casefold():
        require_device(model, here, path)


def require_target(model: TimeModel, target: str, path: Path) -> None:
    """Refuse a model of kernels that another target ran.

    :param target: what is used; empty for the architecture itself.
    :raises InputError: the targets differ.
    """
    if model.target != target:
        ran = f"target {model.target}" if model.target else f"{model.device or 'the architecture'} itself"
        asked = f"target {target}" if target else "the architecture itself"
        raise InputError(
            f"the model's kernels ran on {ran}, its times say little about {asked}; "
            "train one there, or use it anyway with --force",
            path,
        )


def require_device(model: TimeModel, device: str, path: Path) -> None:
    """Refuse a model of another device.

    :param device: what it is used for; empty if unknown.
    :raises InputError: the devices differ.
    """
    if model.device and device and model.device != device:
        raise InputError(
            f"the model was trained on {model.device}, its times say little about {device}; "
            "train one there, or use it anyway with --force",
            path,
        )


def gemm_sizes_of(registry: Registry, direction: str, dtype: str) -> GemmSizes:
    """Return what an operation makes of a problem.

    :param dtype: name of the type of the operands.
    :raises UsageError: it is no matrix product.
    """
    operation = registry.operation(direction)
    if not offers(operation, Operation.product):
        raise UsageError(
            f"operation {operation.id} does not say which matrix products its problems are: no time can be "
            "predicted"
        )
    of_operands = DataType.parse(dtype)
    return lambda problem: sizes_of_product(operation.product(problem, of_operands))
