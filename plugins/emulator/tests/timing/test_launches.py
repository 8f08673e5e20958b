"""Launches whose time is predicted: which workgroups, how many at once, loops that are left out."""

import ctypes
import json
import os
from pathlib import Path

import pytest

from ckprof_plugins.emulator.kernel_profile import UNITS, WAITS
from ckprof_plugins.emulator.tables import unit_table
from ckprof_plugins.targets.hip.code_object import read_kernels
from plugins.emulator.tests.device.hip import Hip, code_object

pytestmark = pytest.mark.amd

#: reads, adds up by a loop, and writes
SUM = """
KERNEL k(u32* out, const u32* in, u32 count) {
    u32 sum = 0;
    for(u32 n = 0; n < count; ++n) sum = sum * 3 + in[(GROUP * count + n) * 64 + LANE];
    out[GROUP * 64 + LANE] = sum;
}
"""
#: each workgroup needs 20 KiB of LDS
LDS = """
KERNEL k(u32* out, u32 n) {
    SHARED u32 held[5120];
    held[LANE * n] = LANE;
    __builtin_amdgcn_s_barrier();
    out[LANE] = held[LANE * 2 * n];
}
"""


class TimedHip(Hip):
    """A device that predicts times."""

    def __init__(self, arch="gfx942", *, units=4, most=1 << 40, profile=False):
        super().__init__()
        message = ctypes.create_string_buffer(1000)
        failed = self.library.ckprof_emulator_timing_begin(
            unit_table(arch).encode(),
            ctypes.c_uint32(units),
            ctypes.c_uint64(most),
            ctypes.c_uint32(profile),
            message,
            ctypes.c_size_t(len(message)),
        )
        assert not failed, message.value
        self.library.ckprof_emulator_timing_take.restype = ctypes.c_size_t

    def taken(self):
        """Return what the device has done since the last call."""
        size = self.library.ckprof_emulator_timing_take(None, ctypes.c_size_t(0))
        text = ctypes.create_string_buffer(size)
        self.library.ckprof_emulator_timing_take(text, ctypes.c_size_t(size))
        return [json.loads(line) for line in text.value.splitlines()]


def _summed(groups, count, **device):
    hip = TimedHip(**device)
    kernel = hip.kernel(hip.load(SUM), "k")
    out, data = hip.malloc(256 * groups), hip.malloc(256 * groups * count)
    hip.launch(kernel, (groups,), (64,), out, data, ctypes.c_uint32(count))
    (launch,) = hip.taken()
    return launch


def test_workgroups_are_shared_among_compute_units():
    launch = _summed(100, 5)
    assert (launch["workgroups"], launch["queue"]) == (100, 25)
    assert launch["grid"] == [100, 1, 1]
    # as many as a compute unit with eight waves on each of four SIMDs holds
    assert (launch["resident"], launch["limited_by"]) == (32, "waves")
    assert _summed(100, 5, units=100)["queue"] == 1


def test_rounds_beyond_the_second_are_extrapolated():
    rounds = [_summed(4 * 32 * number, 5)["time"]["cycles"] for number in (2, 3, 4)]
    assert rounds[2] - rounds[1] == pytest.approx(rounds[1] - rounds[0], rel=0.3)
    steps = [_summed(4 * 32 * number, 5)["time"]["steps"] for number in (2, 4)]
    assert steps[1] == pytest.approx(2 * steps[0])


@pytest.mark.parametrize("groups", [4, 40])
def test_loops_are_shortened_and_their_time_is_extrapolated(groups):
    whole = _summed(groups, 3000)
    few = _summed(groups, 3000, most=20_000)
    assert whole["time"]["error_cycles"] == 0
    assert whole["iterations"] == few["iterations"] > 100
    difference = abs(few["time"]["cycles"] - whole["time"]["cycles"])
    assert difference <= max(few["time"]["error_cycles"], 0.01 * whole["time"]["cycles"])
    for unit in ("vector", "memory"):
        assert few["time"]["busy"][unit] == pytest.approx(whole["time"]["busy"][unit], rel=0.01)


def test_occupancy_is_what_inspect_computes(tmp_path):
    for source in (SUM, LDS):
        code = code_object(source)
        path = tmp_path / "code.o"
        path.write_bytes(code)
        (inspected,) = read_kernels(path, "gfx942")
        hip = TimedHip(units=1)
        kernel = hip.kernel(hip.load(source), "k")
        out = hip.malloc(1 << 16)
        arguments = (out, out, ctypes.c_uint32(1)) if source is SUM else (out, ctypes.c_uint32(1))
        # each workgroup with as many work-items as the code object allows is what inspect assumes
        hip.launch(kernel, (8,), (inspected.workgroup_lanes,), *arguments)
        (launch,) = hip.taken()
        occupancy = inspected.occupancy
        assert launch["resident"] == occupancy.workgroups_per_cu
        assert launch["limited_by"] == occupancy.limited_by


def test_memory_that_is_set_is_counted_and_not_touched():
    hip = TimedHip()
    size = 8 << 30
    before = _resident_bytes()
    address = hip.malloc(size)
    hip.call("hipMemset", ctypes.c_void_p(address), 0, ctypes.c_size_t(size))
    assert hip.taken() == [{"set_bytes": size}]
    assert hip.taken() == []
    assert _resident_bytes() - before < 1 << 28


def _resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_profile_has_the_time_of_every_instruction():
    launch = _summed(4, 200, profile=True)
    executed, time = launch["executed"], launch["time"]
    # whatever is named has a name for people
    assert (set(time["busy"]), set(time["stalled"])) == (set(UNITS), set(WAITS))
    # nothing was shortened: what was simulated is what one workgroup executes
    assert all(entry["simulated"] == entry["executions"] for entry in executed)
    assert sum(entry["executions"] for entry in executed) == time["steps"] == launch["group_steps"]
    for cause, cycles in time["stalled"].items():
        assert sum(entry["stalled"][cause] for entry in executed) == pytest.approx(cycles)
    # one wave: its instructions are what the compute unit does
    spent = sum(entry["issue"] + sum(entry["stalled"].values()) for entry in executed)
    assert spent == pytest.approx(time["cycles"])
    waits = [entry for entry in executed if entry["text"] == "s_waitcnt vmcnt(0)"]
    assert max(entry["stalled"]["memory"] / entry["simulated"] for entry in waits) > 100
    # a line of 128 bytes holds half of what 64 lanes read or write; scalar loads count elsewhere
    accesses = [entry for entry in executed if entry["lines"]]
    assert {entry["unit"] for entry in accesses} == {"memory"}
    assert all(entry["lines"] == 2 * entry["executions"] for entry in accesses)
    assert "executed" not in _summed(4, 200)


def test_the_loop_and_a_timeline_of_one_iteration():
    launch = _summed(4 * 2, 200, profile=True)
    loop = [entry for entry in launch["executed"] if entry["in_loop"]]
    assert {entry["executions"] for entry in loop} == {200}
    # the first one comes from above, and the last one goes on below
    assert 198 <= launch["iterations"] <= 200
    branch = next(entry for entry in loop if entry["text"].startswith("s_cbranch"))
    assert branch["text"].endswith(f"{loop[0]['address']:#x}")
    timeline = launch["timeline"]
    # two workgroups of a wave each, on two SIMDs
    assert timeline["waves"] == [[0, 0]]
    spans = timeline["spans"]
    assert all(end > 0 and begin < timeline["cycles"] for *_, begin, end in spans)
    issues = [span for span in spans if span[0] == "issue"]
    inside = [span for span in issues if span[4] >= 0]
    assert [span[3] for span in inside] == [entry["address"] for entry in loop]
    # a wave always issues or waits
    own = sum(
        min(end, timeline["cycles"]) - max(begin, 0)
        for kind, _, wave, _, begin, end in spans
        if kind in ("issue", "wait") and wave == 0
    )
    assert own == pytest.approx(timeline["cycles"])
    assert {span[2] for span in spans} == {0, 1}
    assert {span[0] for span in spans if span[2] == 1} == {"work"}


def test_loops_that_are_shortened_keep_their_counts():
    launch = _summed(4, 3000, most=20_000, profile=True)
    loop = [entry for entry in launch["executed"] if entry["in_loop"]]
    assert all(entry["executions"] == 3000 > 2 * entry["simulated"] for entry in loop)
    assert launch["timeline"]["cycles"] > 100


def test_a_wrong_table_is_refused():
    hip = Hip()
    message = ctypes.create_string_buffer(200)
    for table, text in ((b"lds_banks many", b"no number"), (b"colour 3", b"no such property")):
        failed = hip.library.ckprof_emulator_timing_begin(
            table, ctypes.c_uint32(1), ctypes.c_uint64(1), ctypes.c_uint32(0), message, ctypes.c_size_t(200)
        )
        assert failed
        assert text in message.value
