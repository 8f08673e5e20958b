"""NVIDIA GPUs: the same generated sources against a model of CK Tile for CUDA that ships with ckprof."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.plugin.protocols import Target

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ckprof.model.device import DeviceIdentity, DeviceKernel, Finding
    from ckprof.model.gemm_work import Estimate, GemmWork, KernelTraits
    from ckprof.model.problem import Problem
    from ckprof.model.recipe import BuildRecipe, BuildRequest
    from ckprof.model.roofline import Ceiling
    from ckprof.plugin.protocols import CanarySource, TimedKernel

#: the AMD device whose conditions decide what is valid and supported, without ``--arch``
DEFAULT_ARCH: Final = "gfx942"


class CudaTarget(Target):
    """Builds generated kernels for NVIDIA GPUs and runs them where there is one."""

    #: what users type with ``--target``
    id = "cuda"
    #: a few words for tables and help texts
    label = "NVIDIA GPUs, with kernels of ckprof's own; builds without a GPU"

    #: the kernels are ckprof's own: what they need says nothing about the AMD device that is named
    models_arch = True
    #: kernels run on a device only
    embedded = False

    #: the AMD device that is modelled without ``--arch``
    default_arch = DEFAULT_ARCH

    def findings(self) -> Sequence[Finding]:
        """Return what is there and what is missing, for ``ckprof doctor``."""
        from ckprof_plugins.cuda.toolchain import findings

        return findings()

    def recipe(self, request: BuildRequest) -> BuildRecipe:
        """Return how to compile and link for NVIDIA GPUs.

        :raises ToolchainError: no usable nvcc, or the headers are not installed.
        :raises UsageError: there is no such architecture or API level.
        """
        from ckprof_plugins.cuda.recipe import recipe

        return recipe(request)

    def canary(self, arch: str) -> CanarySource | None:
        """Return how the canaries are compiled; ``None`` without a GPU that kernels can run on.

        :raises ToolchainError: no usable nvcc.
        """
        del arch
        from ckprof_plugins.cuda.recipe import canary

        return canary()

    def inspect(self, code_object: Path, arch: str) -> Sequence[DeviceKernel]:
        """Return the kernels of a code object with what each of them needs."""
        from ckprof_plugins.cuda.machine_code import read_kernels

        return read_kernels(code_object, arch)

    def device_identity(self, arch: str, device: int) -> DeviceIdentity | None:
        """Return what measurements on a device are filed under."""
        del arch
        from ckprof_plugins.cuda.devices import device_identity

        return device_identity(device)

    def theoretical_ceilings(self, arch: str, device: int) -> Sequence[Ceiling]:
        """Return the data sheet's rates."""
        del arch
        from ckprof_plugins.cuda.devices import theoretical_ceilings

        return theoretical_ceilings(device)

    def estimate(self, kernel: DeviceKernel, work: GemmWork) -> Estimate | None:
        """Return nothing: no bounds are modelled for these devices."""
        return None

    def executed(self, kernel: TimedKernel) -> KernelTraits:
        """Return what a kernel does here: the engine that computes it, its tile, stages and blocks."""
        from ckprof_plugins.cuda.execution import executed

        return executed(kernel)

    def ignored_fields(self, kernel: TimedKernel) -> Mapping[str, str]:
        """Return the fields of an instance that have no meaning here."""
        from ckprof_plugins.cuda.execution import ignored_fields

        return ignored_fields(kernel)

    def substitute(self, kernel: TimedKernel, problem: Problem) -> str:
        """Return what computes a problem here in place of an instance's kernel; empty if nothing does."""
        from ckprof_plugins.cuda.execution import substitute

        return substitute(kernel, problem)

    def device_name(self) -> str:
        """Return the name of the first NVIDIA GPU of this machine; empty without one."""
        from ckprof_plugins.cuda.devices import devices

        present = devices()
        return present[0].name if present else ""
