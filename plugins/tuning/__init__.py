"""Time models, and searches for the best kernels: train, validate, select, predict, tune and replay.

Every command of the package is a function here:

>>> import ckprof
>>> from ckprof_plugins import tuning
>>> options = tuning.ReplayOptions(files=(), direction="fwd", dtype="bf16")
>>> tuning.replay(ckprof.Profiler(), options)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ckprof_plugins.tuning.options import (
        PredictOptions,
        ReplayOptions,
        SearchOptions,
        SelectOptions,
        TrainOptions,
        TuneOptions,
        ValidateOptions,
    )
    from ckprof_plugins.tuning.prediction import predict
    from ckprof_plugins.tuning.selection import select
    from ckprof_plugins.tuning.training import train
    from ckprof_plugins.tuning.tuning import replay, tune
    from ckprof_plugins.tuning.validation import validate

__all__ = [
    "PredictOptions",
    "ReplayOptions",
    "SearchOptions",
    "SelectOptions",
    "TrainOptions",
    "TuneOptions",
    "ValidateOptions",
    "predict",
    "replay",
    "select",
    "train",
    "tune",
    "validate",
]

#: the module of each function, imported on first use; the others are options
_MODULES: Final = {
    "predict": "prediction",
    "replay": "tuning",
    "select": "selection",
    "train": "training",
    "tune": "tuning",
    "validate": "validation",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_MODULES.get(name, 'options')}"), name)
