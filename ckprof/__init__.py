"""ckprof: the profiler for grouped-convolution kernels of AMD Composable Kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.plugin.markers import hookimpl
from ckprof.version import __version__

if TYPE_CHECKING:
    from ckprof.bindings.conv_library import ConvLibrary
    from ckprof.flow.jit import jit
    from ckprof.model.problem import ConvProblem

__all__ = ["ConvLibrary", "ConvProblem", "__version__", "hookimpl", "jit"]

#: Names for programs -> the module that has them, imported on first use: commands do not pay for them.
_LAZY = {
    "ConvLibrary": "ckprof.bindings.conv_library",
    "ConvProblem": "ckprof.model.problem",
    "jit": "ckprof.flow.jit",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)
