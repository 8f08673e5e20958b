"""A kernel library of a direction of convolution as a Python object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ckprof.bindings.conv_kernel import ConvKernel
from ckprof.bindings.kernel_library import ConvResult, KernelLibrary, Timing
from ckprof.model.layout import TENSORS
from ckprof.model.type_set import TypeSet

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.model.layout import ConvLayout

__all__ = ["ConvKernel", "ConvLibrary", "ConvResult", "Timing"]


class ConvLibrary(KernelLibrary):
    """The kernels of one ``libckprof_conv_<direction>.so``: what they compute is known without plugins.

    :param path: the library.
    :param arch: device to choose; by default the one that the kernels were built for.
    :param device: index of the device.
    """

    def __init__(self, path: Path | str, *, arch: str | None = None, device: int = 0) -> None:
        super().__init__(path, arch=arch, device=device)

    @property
    def tensors(self) -> tuple[str, str, str]:
        """Which of ``input``, ``weight``, ``output`` are the two operands and the result."""
        a, b, c = (TENSORS[number] for number in self._load()[1].buffers)
        return a, b, c

    def _layout(self, kernel: ConvKernel) -> ConvLayout:
        return kernel.layout

    def _types(self, kernel: ConvKernel) -> TypeSet:
        return TypeSet.shared(kernel.dtype)
