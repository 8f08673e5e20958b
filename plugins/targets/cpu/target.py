"""The CPU target: CK Tile kernels against the host model that ships with ckprof."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.plugin.protocols import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.model.device import Finding
    from ckprof.model.recipe import BuildRecipe, BuildRequest
    from ckprof.plugin.protocols import CanarySource

#: the device that is modelled unless another one is asked for
DEFAULT_ARCH: Final = "gfx950"
_HERE: Final = Path(__file__).parent
INCLUDE_DIR: Final = _HERE / "include"
SOURCE_DIR: Final = _HERE / "src"
CANARY: Final = _HERE / "canary.cpp"


class CpuTarget(Target):
    """Builds generated kernels against the host model and runs them on this machine's CPU."""

    #: what users type with ``--target``
    id = "cpu"
    #: a few words for tables and help texts
    label = "CPU of this machine, modelling an AMD GPU"

    #: kernels run without any device
    embedded = True
    #: the device that is modelled without ``--arch``
    default_arch = DEFAULT_ARCH

    def findings(self) -> Sequence[Finding]:
        """Return what is there and what is missing, for ``ckprof doctor``."""
        from ckprof_plugins.targets.cpu.machine import findings

        return findings(INCLUDE_DIR)

    def recipe(self, request: BuildRequest) -> BuildRecipe:
        """Return how to compile and link for the CPU.

        :raises ToolchainError: no usable compiler, or the host model is not installed.
        :raises UsageError: there is no such architecture or API level.
        """
        from ckprof_plugins.targets.cpu.recipe import recipe

        return recipe(request)

    def canary(self, arch: str) -> CanarySource:
        """Return how the canaries are compiled.

        :raises ToolchainError: no usable compiler.
        """
        del arch
        from ckprof_plugins.targets.cpu.machine import canary

        return canary(CANARY)
