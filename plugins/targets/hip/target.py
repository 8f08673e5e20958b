"""AMD GPUs: CK Tile kernels against the user's CK Tile headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ckprof.plugin.protocols import Target

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof.model.device import DeviceIdentity, DeviceKernel, Finding
    from ckprof.model.gemm_work import Estimate, GemmWork
    from ckprof.model.recipe import BuildRecipe, BuildRequest
    from ckprof.model.roofline import Ceiling
    from ckprof.plugin.protocols import CanarySource

DEFAULT_ARCH: Final = "gfx942"


class HipTarget(Target):
    """Builds generated kernels for AMD GPUs and runs them where there is one."""

    #: what users type with ``--target``
    id = "hip"
    #: a few words for tables and help texts
    label = "AMD GPUs, with CK Tile headers of your own; builds without a GPU"

    #: kernels run on a device only
    embedded = False

    @property
    def default_arch(self) -> str:
        """That of the first GPU, else a usual one."""
        from ckprof_plugins.targets.hip.devices import devices

        present = devices()
        return present[0].arch if present else DEFAULT_ARCH

    def findings(self) -> Sequence[Finding]:
        """Return what is there and what is missing, for ``ckprof doctor``."""
        from ckprof_plugins.targets.hip import doctor

        return doctor.findings()

    def recipe(self, request: BuildRequest) -> BuildRecipe:
        """Return how to compile and link for AMD GPUs.

        :raises ToolchainError: no usable compiler, headers or device libraries.
        :raises UsageError: there is no such architecture.
        """
        from ckprof_plugins.targets.hip.recipe import recipe

        return recipe(request)

    def canary(self, arch: str) -> CanarySource | None:
        """Return how the canaries are compiled; ``None`` without a GPU of the architecture.

        :raises ToolchainError: no usable compiler, headers or device libraries.
        """
        from ckprof_plugins.targets.hip.devices import devices
        from ckprof_plugins.targets.hip.recipe import canary_source

        base = arch.partition(":")[0]
        return canary_source(arch) if any(device.arch == base for device in devices()) else None

    def inspect(self, code_object: Path, arch: str) -> Sequence[DeviceKernel]:
        """Return the kernels of a code object with what each of them needs."""
        from ckprof_plugins.targets.hip.code_object import read_kernels

        return read_kernels(code_object, arch)

    def device_identity(self, arch: str, device: int) -> DeviceIdentity | None:
        """Return what measurements on a device are filed under."""
        del arch
        from ckprof_plugins.targets.hip.devices import device_identity

        return device_identity(device)

    def theoretical_ceilings(self, arch: str, device: int) -> Sequence[Ceiling]:
        """Return the peaks of the architecture."""
        del device
        from ckprof_plugins.targets.hip.devices import theoretical_ceilings

        return theoretical_ceilings(arch.partition(":")[0])

    def estimate(self, kernel: DeviceKernel, work: GemmWork) -> Estimate | None:
        """Return bounds for a kernel on a problem."""
        from ckprof_plugins.targets.hip.estimate import estimate

        return estimate(kernel, work)
