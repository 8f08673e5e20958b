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
* :class:`Problem`: ``Problem.parse(line)`` takes any line that the command line takes.
* :class:`SweepOptions`, :class:`RoundOptions`: sweeps that go on for hours; :class:`Store`: what they found:
  iterate, ``query()``, ``best()``, ``to_pandas()``; :class:`StoreQuery` says what is asked for.
* :class:`Results`: iterate, filter, ``best()``, ``to_dicts()``, ``to_pandas()``.
* :class:`CompareOptions` with a :class:`ChangePolicy` and :class:`SettleOptions`: how measurements
  are judged.
* :class:`ConvLibrary`: a built kernel library with numpy arrays; :func:`jit`: kernels on demand.
* :data:`hookimpl`: marks the hooks of a plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ckprof.model.problem_types import ask_for_problem_types
from ckprof.plugin.hookspecs import hookimpl as hookimpl
from ckprof.version import __version__ as __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckprof.compare.options import ChangePolicy as ChangePolicy
    from ckprof.compare.options import CompareOptions as CompareOptions
    from ckprof.compare.options import SettleOptions as SettleOptions
    from ckprof.jit_kernels import jit as jit
    from ckprof.kernels.requests import BuildOptions as BuildOptions
    from ckprof.kernels.requests import InstanceQuery as InstanceQuery
    from ckprof.measure.kernel_library import KernelLibrary as ConvLibrary  # noqa: F401
    from ckprof.measure.kernel_library import KernelLibrary as KernelLibrary
    from ckprof.measure.options import RunOptions as RunOptions
    from ckprof.measure.requests import CallOptions as CallOptions
    from ckprof.measure.rounds import RoundOptions as RoundOptions
    from ckprof.model.conversion import ListReading as ListReading
    from ckprof.profiler import Profiler as Profiler
    from ckprof.results import Results as Results
    from ckprof.store.query import StoreQuery as StoreQuery
    from ckprof.store.store import Store as Store
    from ckprof.sweep.requests import SweepOptions as SweepOptions
    from ckprof_plugins.directions._convolution.problem import ConvProblem as ConvProblem
    from ckprof_plugins.directions._convolution.problem import Problem as Problem

#: Names for programs -> the module that has them, imported on first use: commands do not pay for them. With a
#: colon, what the module calls it.
_LAZY = {
    "BuildOptions": "ckprof.kernels.requests",
    "CallOptions": "ckprof.measure.requests",
    "ChangePolicy": "ckprof.compare.options",
    "CompareOptions": "ckprof.compare.options",
    "ConvLibrary": "ckprof.measure.kernel_library:KernelLibrary",
    "ConvProblem": "ckprof_plugins.directions._convolution.problem",
    "InstanceQuery": "ckprof.kernels.requests",
    "KernelLibrary": "ckprof.measure.kernel_library",
    "ListReading": "ckprof.model.conversion",
    "Problem": "ckprof_plugins.directions._convolution.problem",
    "Profiler": "ckprof.profiler",
    "Results": "ckprof.results",
    "RoundOptions": "ckprof.measure.rounds",
    "RunOptions": "ckprof.measure.options",
    "Store": "ckprof.store.store",
    "SettleOptions": "ckprof.compare.options",
    "StoreQuery": "ckprof.store.query",
    "SweepOptions": "ckprof.sweep.requests",
    "jit": "ckprof.jit_kernels",
}

__all__ = [*_LAZY, "__version__", "hookimpl"]


def _problem_types_of_plugins() -> Iterable[type[object]]:
    """Return those of all installed plugins, for programs and workers that have loaded none."""
    import importlib

    manager = importlib.import_module("ckprof.plugin.manager").PluginManager()
    manager.load_all()
    types: Iterable[type[object]] = manager.problem_types()
    return types


ask_for_problem_types(_problem_types_of_plugins)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module, _, known_as = _LAZY[name].partition(":")
    found = getattr(importlib.import_module(module), known_as or name)
    if isinstance(found, type):
        importlib.import_module("ckprof.argument_types").check_arguments(found)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
