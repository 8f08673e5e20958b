"""The simulated compute unit, and launches whose time is predicted, against times computed by hand."""

import ctypes
import json
import os
from pathlib import Path

import numpy as np
import pytest

from ckprof_plugins.emulator.kernel_profile import UNITS, WAITS
from ckprof_plugins.emulator.tables import unit_table
from ckprof_plugins.targets.hip.code_object import read_kernels
from plugins.emulator.tests.device.hip import Hip, code_object
from plugins.emulator.tests.device.wave import State
from plugins.emulator.tests.timing.timed_wave import timed

pytestmark = pytest.mark.amd

#: a wave's instructions follow one another at this distance
ISSUE = 4


def _cycles(text, **given):
    return float(timed(text, **given)["cycles"])


def _each(line, **given):
    """Return the cycles of one more repetition."""
    return (_cycles(line + 29 * ("\n" + line), **given) - _cycles(line + 9 * ("\n" + line), **given)) / 20


CHAINS = (
    ("gfx90a", "v_mfma_f32_32x32x8f16 a[0:15], v[0:1], v[2:3], a[0:15]", 16),
    ("gfx942", "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]", 8),
    ("gfx942", "v_mfma_f32_16x16x16_bf16 a[0:3], v[0:1], v[2:3], a[0:3]", 4),
    ("gfx950", "v_mfma_f32_16x16x32_bf16 a[0:3], v[0:3], v[4:7], a[0:3]", 4),
    ("gfx950", "v_mfma_f32_32x32x16_f16 v[16:31], v[0:3], v[4:7], v[16:31]", 8),
)


@pytest.mark.parametrize(("arch", "line", "passes"), CHAINS)
def test_a_chain_of_matrix_instructions_takes_their_passes(arch, line, passes):
    assert _each(line, arch=arch) == 4 * passes


def test_matrix_instructions_beside_others():
    # llvm-mca: 12 quarters of latency where the unit is busy for 8
    line = "v_mfma_f32_32x32x8_f16 v[16:31], v[0:1], v[2:3], v[16:31]\nv_add_f32 v0, v16, v17"
    assert _each(line) == 4 * 12 + ISSUE
    matrix = "v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]"
    assert _each(matrix + 7 * "\nv_add_f32 v8, v9, v10") == _each(matrix)
    assert _each(matrix + 9 * "\nv_add_f32 v8, v9, v10") == _each(matrix) + 2 * ISSUE


@pytest.mark.parametrize("waves", [1, 4, 5, 8, 9])
def test_waves_share_the_units_of_their_simd(waves):
    states = [State() for _ in range(waves)]
    # of a SIMD with the most waves
    most = -(-waves // 4)
    assert _each("v_add_f32 v8, v9, v10", states=states) == most * ISSUE
    assert _each("v_exp_f32 v8, v9", states=states) == most * 16
    mixed = "v_exp_f32 v8, v9\ns_nop 0\ns_nop 0\ns_nop 0"
    assert _each(mixed, states=states) == most * 16


def _lds_state(offsets, size=65536):
    state = State(lds=np.zeros(size, np.uint8))
    state.vector[0] = offsets
    return state


LANES = np.arange(64)
#: opcode, offsets of the lanes, cycles with 32 banks
ACCESSES = (
    ("ds_read_b32 v4, v0", 4 * LANES, 2),
    ("ds_read_b32 v4, v0", 0 * LANES, 2),
    ("ds_read_b32 v4, v0", 8 * LANES, 4),
    ("ds_read_b32 v4, v0", 128 * LANES, 64),
    ("ds_read_b32 v4, v0", 132 * LANES, 2),
    ("ds_read_b64 v[4:5], v0", 8 * LANES, 4),
    ("ds_read_b64 v[4:5], v0", 128 * LANES, 64),
    ("ds_read_b128 v[4:7], v0", 16 * LANES, 8),
    ("ds_write_b128 v0, v[4:7]", 16 * LANES, 8),
    ("ds_write_b128 v0, v[4:7]", 128 * LANES, 64),
    # rows of 128 bytes, of which each group of 8 lanes reads a different 16 bytes
    ("ds_write_b128 v0, v[4:7]", 128 * LANES + 16 * (LANES % 8), 8),
    ("ds_read2_b32 v[4:5], v0 offset1:1", 8 * LANES, 8),
)


@pytest.mark.parametrize(("line", "offsets", "cycles"), ACCESSES)
def test_lds_takes_a_cycle_for_each_word_of_a_bank(line, offsets, cycles):
    ran = timed(line, [_lds_state(offsets)], changes={"lds_banks": 32})
    assert ran["busy"]["lds"] == cycles


def test_wide_reads_are_grouped_as_the_hardware_groups_them():
    # lanes 0 to 3 and 20 to 23 have the 16 bytes of one row each, in different banks
    first = np.concatenate([np.arange(4), np.arange(20, 24)])
    offsets = np.full(64, 0)
    state_lanes = np.zeros(64, bool)
    offsets[first] = 16 * np.arange(8)
    state_lanes[first] = True
    state = _lds_state(offsets)
    state.exec = int(sum(1 << int(lane) for lane in first))
    assert timed("ds_read_b128 v[4:7], v0", [state], changes={"lds_banks": 32})["busy"]["lds"] == 1
    state = _lds_state(offsets)
    state.exec = int(sum(1 << int(lane) for lane in first))
    assert timed("ds_write_b128 v0, v[4:7]", [state], changes={"lds_banks": 32})["busy"]["lds"] == 2


def test_waves_queue_for_lds():
    states = [_lds_state(128 * LANES) if n == 0 else _lds_state(128 * LANES, 0) for n in range(4)]
    assert _each("ds_read_b32 v4, v0", states=states, changes={"lds_banks": 32}) == 4 * 64


def _pointing_state(array, stride):
    state = State()
    addresses = array.ctypes.data + stride * LANES.astype(np.uint64)
    state.vector[0], state.vector[1] = addresses & 0xFFFFFFFF, addresses >> 32
    return state


def _aligned(size):
    raw = np.zeros(size + 4096, np.uint8)
    return raw[-raw.ctypes.data % 4096 :][:size]


@pytest.mark.parametrize(("stride", "lines"), [(0, 1), (4, 2), (16, 8), (128, 64), (256, 64)])
def test_lines_are_those_that_lanes_touch(stride, lines):
    array = _aligned(64 * 256)
    ran = timed("global_load_dword v4, v[0:1], off", [_pointing_state(array, stride)], memory=[array])
    assert (ran["cache_lines"], ran["missed_lines"]) == (lines, lines)


def test_what_was_loaded_is_in_the_cache_until_it_is_full():
    array = _aligned(64 * 256)
    line = "global_load_dword v4, v[0:1], off"
    state = _pointing_state(array, 128)
    again = timed(f"{line}\n{line}", [state], memory=[array])
    assert (again["cache_lines"], again["missed_lines"]) == (128, 64)
    small = timed(
        f"{line}\n{line}", [_pointing_state(array, 128)], memory=[array], changes={"cache_bytes": 32 * 128}
    )
    assert small["missed_lines"] == 128


def test_a_wave_ends_when_its_stores_are_complete():
    array = _aligned(4096)
    changes = {"miss_latency": 500, "miss_cycle_bytes": 64, "dispatch_cycles": 100}
    given = {"states": [_pointing_state(array, 0)], "memory": [array], "changes": changes}
    store = "global_store_dword v[0:1], v4, off"
    # 4 cycles of addresses, the latency and the end; then the next workgroup has the place
    one = 4 + 500 + ISSUE
    assert _cycles(store, **given) == one
    assert _cycles(store, count=2, **given) == 2 * one + 100
    assert _cycles("s_nop 0", count=2, **given) == 2 * _cycles("s_nop 0", **given) + 100


def test_a_wait_takes_the_latency_of_its_load():
    array = _aligned(4096)
    load = "global_load_dword v4, v[0:1], off"
    changes = {"cache_latency": 100, "miss_latency": 500, "miss_cycle_bytes": 64}
    states = [_pointing_state(array, 0)]
    waited = _cycles(f"{load}\ns_waitcnt vmcnt(0)\ns_nop 0", states=states, memory=[array], changes=changes)
    # 4 cycles of addresses and then the miss; the wait, the pause and the end issue one after the other
    assert waited == 4 + 500 + 3 * ISSUE
    # without it, the pause is over meanwhile, and the end waits
    free = _cycles(f"{load}\ns_nop 0", states=states, memory=[array], changes=changes)
    assert free == 4 + 500 + ISSUE
    partial = f"{load}\n{load} offset:1024\ns_waitcnt vmcnt(1)\ns_nop 0"
    assert _cycles(partial, states=states, memory=[array], changes=changes) == waited


def test_a_barrier_waits_for_the_slowest_wave():
    slow, fast = State(), State()
    slow.scalar[0], fast.scalar[0] = 1, 0
    text = "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 33\n" + "s_nop 15\n" * 33 + "s_barrier"
    both = timed(text, [slow, fast], changes={"barrier_cycles": 0, "branch_cycles": 4})
    alone = timed(text, [slow], changes={"barrier_cycles": 0, "branch_cycles": 4})
    assert both["cycles"] == alone["cycles"]
    assert both["stalled"]["barrier"] == pytest.approx(33 * 16 * 4, abs=16)


def test_workgroups_follow_one_another_in_their_slots():
    text = "\n".join(["s_nop 15"] * 10)
    one = _cycles(text, changes={"dispatch_cycles": 100})
    assert _cycles(text, count=3, slots=1, changes={"dispatch_cycles": 100}) == 3 * one + 2 * 100
    assert _cycles(text, count=3, slots=3) == one


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
