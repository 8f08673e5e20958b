"""What the emulated device says of instructions and waves, as a profile."""

import msgspec
import pytest

from ckprof_plugins.emulator.kernel_profile import profile_of
from ckprof_plugins.emulator.predicted_time import Launch

#: 8 executions of a workgroup, of which a shortened loop left 2; and one
EXECUTED = [
    {
        **{
            "address": 64,
            "text": "ds_read_b64 v[0:1], v2",
            "source": "a.hpp:3",
            "unit": "lds",
            "in_loop": True,
        },
        **{"executions": 8, "simulated": 2, "issue": 8, "stalled": {"unit": 0, "local": 12}},
        **{"lds_cycles": 32, "conflict_cycles": 16, "lines": 0, "missed_lines": 0, "bytes": 4096},
    },
    {
        **{"address": 72, "text": "s_endpgm", "source": "", "unit": "control", "in_loop": False},
        **{"executions": 1, "simulated": 1, "issue": 20, "stalled": {"unit": 0, "local": 0}},
        **{"lds_cycles": 0, "conflict_cycles": 0, "lines": 0, "missed_lines": 0, "bytes": 0},
    },
]
TIMELINE = {
    "cycles": 30,
    "waves": [[0, 0], [2, 1]],
    "spans": [["wait", "local", 1, 64, -4, 8], ["work", "lds", 2, 64, 3, 7.5]],
}


def _launch(**more):
    values = {"kernel": "_Zk", "grid": [3, 1, 1], "block": [64, 1, 1], "iterations": 7, "limited_by": "lds"}
    return msgspec.json.decode(msgspec.json.encode({**values, **more}), type=Launch)


def test_without_being_asked_for_there_is_none():
    assert profile_of(_launch()) is None


def test_instructions_have_means_of_one_execution():
    profile = profile_of(_launch(executed=EXECUTED, timeline=TIMELINE))
    assert profile is not None
    read, end = profile.instructions
    assert (read.issue_cycles, read.stall_cycles, read.cycles) == (4, {"unit": 0, "local": 6}, 10)
    assert (read.lds_cycles, read.conflict_cycles, read.memory_bytes) == (4, 2, 512)
    assert (read.source, end.source) == ("a.hpp:3", "")
    # 8 times 10 cycles, and once 20
    assert (read.share, end.share) == (pytest.approx(0.8), pytest.approx(0.2))
    assert profile.loop == (read,)
    assert profile.hottest(1) == (read,)
    assert profile.hottest(5) == (read, end)


def test_spans_of_other_simds_have_no_wave():
    profile = profile_of(_launch(executed=EXECUTED, timeline=TIMELINE))
    assert profile is not None
    wait, work = profile.timeline.spans
    assert (wait.kind, wait.wave, wait.begin, wait.end) == ("wait", 1, -4, 8)
    assert (work.kind, work.wave, work.what) == ("work", None, "lds")
    assert profile.timeline.waves == ((0, 0), (2, 1))
