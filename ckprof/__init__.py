"""ckprof: the profiler for grouped-convolution kernels of AMD Composable Kernel."""

from __future__ import annotations

from ckprof.plugin.markers import hookimpl
from ckprof.version import __version__

__all__ = ["__version__", "hookimpl"]
