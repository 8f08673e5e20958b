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
    from ckprof_plugins.tuning.prediction import PredictOptions, predict
    from ckprof_plugins.tuning.searches import replay, tune
    from ckprof_plugins.tuning.selection import select
    from ckprof_plugins.tuning.training import train
    from ckprof_plugins.tuning.tune_requests import (
        ReplayCosts,
        ReplayOptions,
        SearchOptions,
        SelectOptions,
        TrainOptions,
        TuneOptions,
        ValidateOptions,
    )
    from ckprof_plugins.tuning.validation import validate

__all__ = [
    "PredictOptions",
    "ReplayCosts",
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

#: name -> the module that has it, imported on first use
_LAZY: Final = {
    "PredictOptions": "prediction",
    "ReplayCosts": "tune_requests",
    "ReplayOptions": "tune_requests",
    "SearchOptions": "tune_requests",
    "SelectOptions": "selection_requests",
    "TrainOptions": "selection_requests",
    "TuneOptions": "tune_requests",
    "ValidateOptions": "selection_requests",
    "predict": "prediction",
    "replay": "searches",
    "select": "selection",
    "train": "training",
    "tune": "searches",
    "validate": "validation",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
