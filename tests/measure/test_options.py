from __future__ import annotations

import json

import pytest

from ckprof.errors import UsageError
from ckprof.measure.options import CacheMode, RunOptions
from ckprof.model.types import DataType


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"min_samples": 0}, "min_samples is 0, expected at least 1"),
        ({"warmup": -1}, "warmup is -1"),
        ({"timeout_s": 0}, "timeout_s is 0, expected more than 0 seconds"),
        ({"max_time_s": float("nan")}, "max_time_s is nan"),
        ({"flush_bytes": -1}, "flush_bytes is -1"),
        ({"criterion": "magic"}, "unknown stopping criterion"),
        ({"criterion_parameters": (("count", 3.0),)}, "stdrel has no parameter 'count'"),
    ],
)
def test_bad_values_are_named(changes, message):
    with pytest.raises(UsageError, match=message):
        RunOptions(**changes)


def test_deduced_split_k_is_allowed():
    assert RunOptions(splits=(-1, 4)).splits == (-1, 4)


@pytest.mark.parametrize("splits", [(), (2, 2)])
def test_splits_are_at_least_one_and_distinct(splits):
    with pytest.raises(UsageError, match="expected at least one, and each once"):
        RunOptions(splits=splits)


def test_options_are_plain_values_in_records():
    options = RunOptions(peak_flops=((DataType.FP16, 1e12),), cache=CacheMode.WARM)
    plain = json.loads(json.dumps(options.as_plain()))
    assert (plain["peak_flops"], plain["cache"], plain["verify"]) == ({"fp16": 1e12}, "warm", True)
