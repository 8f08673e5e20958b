"""ckprof: the profiler for grouped-convolution kernels of AMD Composable Kernel.

Everything that the command ``ckprof`` does can be done from Python:

>>> import ckprof
>>> profiler = ckprof.Profiler()
>>> query = ckprof.InstanceQuery(conf="forward/tests/nhwgc_fp16", indices=(1,))
>>> results = profiler.profile(query, ["conv -n 1 -c 64 -H 14 -W 14 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"])
>>> results.best().name  # doctest: +SKIP
'grouped_conv_fwd_fp16_nhwgc_2d_compv3_...'

Names:

* :class:`Profiler`: one session; reads lists, chooses, builds, runs, compares.
* :class:`InstanceQuery`, :class:`ListReading`, :class:`BuildOptions`, :class:`RunOptions`,
  :class:`CallOptions`: what is asked for; frozen, with defaults.
* :class:`ExtractRequest`: which lists to derive from which installed library.
* :class:`Problem`: ``Problem.parse(line)`` takes any line that the command line takes.
* :class:`SweepOptions`, :class:`RoundOptions`: sweeps that go on for hours; :class:`Store`: what they found:
  iterate, ``query()``, ``best()``, ``to_pandas()``; :class:`StoreQuery` says what is asked for.
* :class:`TuneOptions` with :class:`SearchOptions`: searches for the best kernels; :class:`ReplayOptions`: the
  same in recorded measurements.
* :class:`Results`: iterate, filter, ``best()``, ``to_dicts()``, ``to_pandas()``.
* :class:`CompareOptions` with a :class:`ChangePolicy`, :class:`SettleOptions`, :class:`ReportOptions`: how
  measurements are judged and shown.
* :class:`ConvLibrary`: a built kernel library with numpy arrays; :func:`jit`: kernels on demand.
* :data:`hookimpl`: marks the hooks of a plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.plugin.markers import hookimpl
from ckprof.version import __version__

if TYPE_CHECKING:
    from ckprof.api.comparison import CompareOptions
    from ckprof.api.jit import jit
    from ckprof.api.problem import Problem
    from ckprof.api.profiler import Profiler
    from ckprof.api.requests import BuildOptions, CallOptions, InstanceQuery, ListReading, SweepOptions
    from ckprof.api.results import Results
    from ckprof.api.settling import SettleOptions
    from ckprof.api.tune_requests import ReplayOptions, SearchOptions, TuneOptions
    from ckprof.bindings.conv_library import ConvLibrary
    from ckprof.bindings.kernel_library import KernelLibrary
    from ckprof.model.extraction import ExtractRequest
    from ckprof.model.problem import ConvProblem
    from ckprof.rounds.options import RoundOptions
    from ckprof.run.options import RunOptions
    from ckprof.statistics.change import ChangePolicy
    from ckprof.store.query import StoreQuery
    from ckprof.store.store import Store
    from ckprof.store_report.options import ReportOptions

__all__ = [
    "BuildOptions",
    "CallOptions",
    "ChangePolicy",
    "CompareOptions",
    "ConvLibrary",
    "ConvProblem",
    "ExtractRequest",
    "InstanceQuery",
    "KernelLibrary",
    "ListReading",
    "Problem",
    "Profiler",
    "ReplayOptions",
    "ReportOptions",
    "Results",
    "RoundOptions",
    "RunOptions",
    "SearchOptions",
    "SettleOptions",
    "Store",
    "StoreQuery",
    "SweepOptions",
    "TuneOptions",
    "__version__",
    "hookimpl",
    "jit",
]

#: Names for programs -> the module that has them, imported on first use: commands do not pay for them.
_LAZY = {
    "BuildOptions": "ckprof.api.requests",
    "CallOptions": "ckprof.api.requests",
    "ChangePolicy": "ckprof.statistics.change",
    "CompareOptions": "ckprof.api.comparison",
    "ConvLibrary": "ckprof.bindings.conv_library",
    "ConvProblem": "ckprof.model.problem",
    "ExtractRequest": "ckprof.model.extraction",
    "InstanceQuery": "ckprof.api.requests",
    "KernelLibrary": "ckprof.bindings.kernel_library",
    "ListReading": "ckprof.api.requests",
    "Problem": "ckprof.api.problem",
    "Profiler": "ckprof.api.profiler",
    "ReplayOptions": "ckprof.api.tune_requests",
    "ReportOptions": "ckprof.store_report.options",
    "Results": "ckprof.api.results",
    "RoundOptions": "ckprof.rounds.options",
    "RunOptions": "ckprof.run.options",
    "SearchOptions": "ckprof.api.tune_requests",
    "Store": "ckprof.store.store",
    "SettleOptions": "ckprof.api.settling",
    "StoreQuery": "ckprof.store.query",
    "SweepOptions": "ckprof.api.requests",
    "TuneOptions": "ckprof.api.tune_requests",
    "jit": "ckprof.api.jit",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
