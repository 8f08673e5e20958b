"""Tensors beyond 2 GiB and 2^31 elements, where a device executes chosen workgroups alone."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from ckprof.events import Progress, ProgressEnded

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.problem import Problem
    from ckprof.plugin.registry import Registry
    from ckprof_plugins.hunt.hunting import Hunt
    from ckprof_plugins.hunt.judging import LargeAnswers

#: where integers of 32 bits end, with and without a sign
_POWERS: Final = (31, 32)


class Sampled(Protocol):
    """What chosen workgroups of a kernel did."""

    unsupported: bool

    @property
    def found(self) -> str:
        """Return what is wrong, in a sentence; empty if nothing is."""


class Sampler(Protocol):
    """Runs chosen workgroups of a library's kernels."""

    def run(self, key: str, problem: Problem) -> Sampled:
        """Run some of one kernel, and compare what they have written."""


@runtime_checkable
class SamplingDevice(Protocol):
    """A device that executes chosen workgroups of problems that are larger than its memory.

    It may have ``sampled_targets``: ids of targets whose libraries it samples as well.
    """

    id: str

    def sampler(self, library: Path, arch: str, device: str) -> AbstractContextManager[Sampler]:
        """Return what runs the kernels of a library that is built for the device.

        :param device: its name with settings, as ``--device`` has it; empty for a library of another target.
        :raises ToolchainError: the library cannot be loaded.
        """


def sampling_device(registry: Registry, device: str, target: str) -> SamplingDevice | None:
    """Return what executes chosen workgroups, or ``None``: the device runs whole problems alone.

    :param device: name of what kernels run on; empty for none of the devices that packages bring.
    :param target: a device may sample libraries of targets without devices as well.
    """
    able = [one for one in registry.devices if isinstance(one, SamplingDevice)]
    if device:
        return next((one for one in able if one.id == device.partition(":")[0]), None)
    return next((one for one in able if target in getattr(one, "sampled_targets", ())), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeFinding:
    """Kernels that are wrong on a problem."""

    #: of the first kernel
    text: str
    #: which counts are at an end of 32-bit integers, or beyond
    beyond: str
    kernels: tuple[str, ...]
    problem: Problem


def large_findings(hunt: Hunt, answers: LargeAnswers) -> list[LargeFinding]:
    """Run problems that kernels support, count them in the hunt, and return what each kernel is wrong on.

    What is beyond the same ends as a smaller problem on which the kernel is wrong, or more, is not tried.
    Nothing is where the device cannot. What ends it before all were tried is said by the hunt.
    """
    device, library = hunt.sampling, hunt.library
    if device is None or library is None or library.path is None:
        return []
    pairs = [(key, problem) for key, said in answers.items() for problem, yes in said if yes]
    found: dict[Problem, tuple[str, list[str]]] = {}
    explained: dict[str, list[frozenset[str]]] = {}
    try:
        with device.sampler(library.path, library.recipe.arch, hunt.device_name) as sampler:
            for number, (key, problem) in enumerate(pairs):
                hunt.unsampled = len(pairs) - number
                if hunt.seconds_left() <= 0:
                    break
                beyond = _beyond(hunt, key, problem)
                # small problems may be wrong as well, which explains nothing of large ones
                if any(known <= beyond for known in explained.get(key, ()) if known or not beyond):
                    continue
                hunt.emit(Progress(what="large tensors", done=number, total=len(pairs)))
                run = sampler.run(key, problem)
                hunt.sampled += not run.unsupported
                if run.found:
                    explained.setdefault(key, []).append(beyond)
                    found.setdefault(problem, (run.found, []))[1].append(key)
            else:
                hunt.unsampled = 0
    except BaseException as error:  # whatever it is: what was found until then is shown
        hunt.error = error
    hunt.emit(ProgressEnded())
    return [
        LargeFinding(
            text=text,
            beyond=", ".join(sorted(_beyond(hunt, kernels[0], problem))),
            kernels=tuple(kernels),
            problem=problem,
        )
        for problem, (text, kernels) in found.items()
    ]


def _beyond(hunt: Hunt, key: str, problem: Problem) -> frozenset[str]:
    """Return which counts of a problem are at an end of 32-bit integers, or beyond it."""
    instance = hunt.candidates[key].instance
    names = hunt.operation.tensors_of(problem)
    found = set()
    for name, dtype in zip(names, instance.types.of_so_many(len(names)), strict=True):
        elements = problem.tensor(name, instance.layout).stored_elements
        counts = {"elements": elements, "bytes": elements * dtype.properties.size_bytes}
        found |= {
            f"2^{power} {unit} of {name} or more"
            for unit, count in counts.items()
            for power in _POWERS
            if count >= 2**power
        }
    return frozenset(found)
