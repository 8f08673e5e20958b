import json
import subprocess
import sys

import pytest

from ckprof.errors import UsageError
from ckprof.measure.host import last_level_cache_bytes
from ckprof.measure.options import CacheMode, RunOptions, round_options, share_of_round, timing_settings
from ckprof.model.types import DataType


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"min_samples": -1}, "min_samples is -1, expected at least 0"),
        ({"warmup": -1}, "warmup is -1"),
        ({"timeout_s": 0}, "timeout_s is 0, expected more than 0 seconds"),
        ({"max_time_s": float("nan")}, "max_time_s is nan"),
        ({"flush_bytes": -1}, "flush_bytes is -1"),
        ({"criterion": "magic"}, "unknown stopping criterion"),
        ({"criterion_parameters": (("count", 3.0),)}, "stdrel has no parameter 'count'"),
        ({"splits": ()}, "expected at least one, and each once"),
        ({"splits": (2, 2)}, "expected at least one, and each once"),
    ],
)
def test_bad_values_are_named(changes, message):
    with pytest.raises(UsageError, match=message):
        RunOptions(**changes)


def test_options_are_plain_values():
    assert RunOptions(splits=(-1, 4)).splits == (-1, 4)
    options = RunOptions(peak_flops=((DataType.FP16, 1e12),), cache=CacheMode.WARM)
    plain = json.loads(json.dumps(options.as_plain()))
    assert (plain["peak_flops"], plain["cache"], plain["verify"]) == ({"fp16": 1e12}, "warm", True)


def test_the_rounds_share_what_was_asked_for():
    options = RunOptions(min_samples=10, min_time_s=0.3, max_time_s=0.5, rounds=5)
    rounds = round_options(options)
    assert (rounds.min_rounds, rounds.max_rounds) == (3, 5)
    share = share_of_round(options, rounds)
    assert (share.min_samples, share.fewest_samples) == (4, 1)
    assert share.min_time_s == pytest.approx(0.1) and share.max_time_s == pytest.approx(0.1)
    assert share.keep_samples and share.criterion_parameters == {"window": 11, "max-error": 0.005}
    two = RunOptions(rounds=2, criterion="sample-count", criterion_parameters=(("count", 25.0),))
    share = share_of_round(two, round_options(two))
    assert (share.criterion_parameters, share.fewest_samples) == ({"count": 13}, 2)
    assert timing_settings(options).fewest_samples == 3


def test_options_need_no_numpy():
    """They are imported for every ``--help``."""
    modules = "ckprof.measure.options, ckprof.measure.verify.operands"
    code = f"import sys, {modules}; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_flush_exceeds_the_last_level_cache():
    device = RunOptions(last_level_cache_bytes=256 * 2**20)
    assert timing_settings(device).flush_bytes > 256 * 2**20
    assert timing_settings(RunOptions(last_level_cache_bytes=2**28, flush_bytes=0)).flush_bytes == 0
    assert timing_settings(RunOptions()).flush_bytes == 2 * last_level_cache_bytes()
    assert timing_settings(RunOptions(cache=CacheMode.WARM)).flush_bytes == 0
