"""The device that any machine has: its settings, and how libraries are linked with it."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError, UsageError
from ckprof.kernels.toolchain import find_compiler
from ckprof.model.device import Finding, FindingState
from ckprof.model.recipe import BuildRecipe, MachinePart, Product, Purpose
from ckprof.plugin.protocols import NamedDevice
from ckprof.sanitize import unknown_name
from ckprof_plugins.emulator.library import (
    ARCHITECTURES,
    COMPILE_S,
    emulator_library,
    library_path,
)
from ckprof_plugins.targets.hip.rocm import find_hip_root

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from ckprof.model.recipe import BuildRequest
    from ckprof.plugin.protocols import Target
    from ckprof_plugins.emulator.orders import Orders
    from ckprof_plugins.emulator.sampling import Sampler

#: what ``--device`` calls it
NAME: Final = "emulated"
#: settings that are numbers -> variable that the emulator reads
_NUMBERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "seed": "CKPROF_EMULATED_SEED",
        "threads": "CKPROF_EMULATED_THREADS",
        "budget": "CKPROF_EMULATED_BUDGET",
        "memory": "CKPROF_EMULATED_MEMORY",
    }
)
#: settings that are words -> variable, and the words
_WORDS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = MappingProxyType(
    {
        "faults": ("CKPROF_EMULATED_FAULTS", ("error", "abort")),
        "order": ("CKPROF_EMULATED_ORDER", ("forward", "reverse")),
    }
)
_CHECKS: Final = "CKPROF_EMULATED_CHECKS"
_CHECK_SETTING: Final = "check"
#: what can be checked
CHECKS: Final = ("races", "uninitialised", "waits", "async", "bounds", "barriers")
_ALL: Final = "all"


#: what is flushed of it: its caches are those of the host, which no flush of a GPU's is worth
_CACHE_BYTES: Final = 2**16


class EmulatedDevice(NamedDevice):
    """An AMD GPU in software: kernels of the hip target run on the CPU, instruction by instruction."""

    #: what users type with ``--device``
    id = NAME
    #: a few words for tables and help texts
    label = "AMD GPUs in software: executes the instructions of compiled kernels on the CPU"
    #: whose kernels it runs
    target = "hip"
    #: what it can be
    archs = ARCHITECTURES

    def variables(self, device: str) -> Mapping[str, str]:
        """Return the environment variables that say what ``emulated:seed=7,check=races+waits`` says.

        :raises UsageError: a setting is wrong.
        """
        settings = device.partition(":")[2]
        found: dict[str, str] = {}
        for part in filter(None, settings.split(",")):
            key, _, value = part.partition("=")
            if key == _CHECK_SETTING:
                found[_CHECKS] = ",".join(_known_checks(value))
            elif key in _WORDS:
                variable, words = _WORDS[key]
                if value not in words:
                    raise UsageError(f"--device {device}: {key} is {value!r}, expected {' or '.join(words)}")
                found[variable] = value
            elif key not in _NUMBERS:
                known = (*_NUMBERS, *_WORDS, _CHECK_SETTING)
                raise UsageError(f"--device {device}: {unknown_name('setting', key, known)}")
            elif not (value.isascii() and value.isdecimal()) or (key == "threads" and int(value) == 0):
                raise UsageError(f"--device {device}: {key} is {value!r}, expected a number")
            else:
                found[_NUMBERS[key]] = value
        return found

    def recipe(self, target: Target, request: BuildRequest) -> BuildRecipe:
        """Return the target's recipe for this device, which takes the place of the HIP runtime.

        :raises ToolchainError: no usable compiler, headers or device libraries.
        :raises UsageError: it cannot be such an architecture, or a setting is wrong.
        """
        variables = self.variables(request.device)
        arch = request.arch.partition(":")[0]
        if arch not in ARCHITECTURES:
            known = ", ".join(sorted(ARCHITECTURES))
            raise UsageError(f"--device {NAME}: {arch} cannot be emulated; these can: {known}")
        recipe = target.recipe(request)
        if request.purpose is Purpose.SUPPORT_CHECK or recipe.product is not Product.LIBRARY:
            return recipe
        library = library_path()
        folder = library.parent
        linked = replace(
            recipe,
            link_flags=(*recipe.link_flags, f"-L{folder}", f"-Wl,-rpath,{folder}", f"-l:{library.name}"),
            parts=(
                MachinePart(
                    name=f"the {NAME} device",
                    folder=folder,
                    cpu_s=COMPILE_S,
                    present=library.is_file(),
                    make=_make,
                ),
            ),
        )
        if request.sources_only:
            return linked
        return replace(linked, last_level_cache_bytes=_CACHE_BYTES, worker_variables=tuple(variables.items()))

    #: targets without devices whose libraries are sampled as well
    sampled_targets = frozenset({"cpu"})

    def sampler(self, library: Path, arch: str, device: str) -> Sampler:
        """Return what runs a few workgroups of each launch, on tensors that may be larger than memory.

        :param library: built for this device, or for one of :attr:`sampled_targets`, and for ``arch``.
        :param device: its name with settings; empty for such a target.
        :raises ToolchainError: it cannot be loaded.
        :raises UsageError: a setting is wrong.
        """
        # it needs what computes references, which no other use of the device does
        from ckprof_plugins.emulator.sampling import Sampler

        return Sampler(library, arch, self.variables(device))

    def orders(self, library: Path, arch: str, device: str) -> Orders:
        """Return what runs kernels in several orders of their workgroups and waves, on one thread.

        :param library: built for this device, and for ``arch``.
        :raises ToolchainError: it cannot be loaded.
        :raises UsageError: a setting is wrong.
        """
        from ckprof_plugins.emulator.orders import Orders

        return Orders(library, arch, {**self.variables(device), _NUMBERS["threads"]: "1"})

    def findings(self) -> Sequence[Finding]:
        """Return what it needs and whether that is there. Never raises."""
        topic = f"{NAME} device"
        try:
            command, headers = find_compiler().command, find_hip_root()
            compiled = library_path().is_file()
        except (CkprofError, OSError, ValueError) as exc:
            advice = "apt-get install g++"
            return (Finding(topic, FindingState.MISSING, str(exc).splitlines()[0], advice),)
        ready = "compiled" if compiled else f"compiled on first use by {' '.join(command)}"
        text = f"{', '.join(sorted(ARCHITECTURES))}, {ready} (headers: {headers}); --device {NAME}"
        return (Finding(topic, FindingState.OK, text),)


def _known_checks(value: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(value.split("+")))
    for name in names:
        if name not in (*CHECKS, _ALL):
            raise UsageError(f"--device {NAME}: {unknown_name('check', name, (*CHECKS, _ALL))}")
    return CHECKS if _ALL in names else names


def _make(jobs: int | None, on_progress: Callable[[int, int, str], None]) -> None:
    emulator_library(jobs=jobs, on_progress=on_progress)
