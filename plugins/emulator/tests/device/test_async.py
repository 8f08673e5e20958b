"""Loads to LDS that other waves read too early: planted faults are found with both places."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import pytest

from plugins.emulator.tests.device.hip import PREFIX, Hip, HipError
from plugins.emulator.tests.device.pipelined import DEPTH, WIDTHS, changed, offset, program, run

pytestmark = [pytest.mark.amd]


@pytest.mark.parametrize("arch", WIDTHS)
@pytest.mark.parametrize("staggered", [False, True])
def test_right_pipelines_have_no_finding(arch, staggered):
    """Also with more buffers, and with waits for more than they need."""
    for buffers in (DEPTH + 1, DEPTH + 2):
        lines = program(arch, staggered=staggered, buffers=buffers)
        assert run(lines, arch) == ([], True)
    patient = {name: "s_waitcnt vmcnt(0)" for name in lines if name.startswith("wait")}
    assert run(changed(lines, patient), arch) == ([], True)


class Fault(NamedTuple):
    #: what takes the place of instructions
    change: dict[str, str]
    #: the places of the instruction that is too early, and of the one that it is too early for
    early: str
    late: str
    #: what is said to be missing
    missing: str
    staggered: bool = False
    buffers: int = DEPTH + 1


NOTHING = "s_nop 0"
BARRIER_MISSING = "with no barrier between that both have waited for"
FAULTS = {
    "a wait too late by one": Fault(
        {"wait 1": f"s_waitcnt vmcnt({DEPTH})"},
        "read 2",
        "load 2",
        r"s_waitcnt vmcnt\(1\) of wave 2 before that",
    ),
    "the last wait counts as those before it": Fault(
        {"wait 3": "s_waitcnt vmcnt(1)"}, "read 4", "load 4", r"s_waitcnt vmcnt\(0\) of wave 2 before that"
    ),
    "no wait before the first step": Fault(
        {"wait": NOTHING}, "read 0", "load 0", r"s_waitcnt vmcnt\(1\) of wave 2 before that"
    ),
    "a wait for the other counter": Fault(
        {"wait 1": "s_waitcnt lgkmcnt(0)"}, "read 2", "load 2", r"s_waitcnt vmcnt\(1\) of wave 2 before that"
    ),
    "a wait after the barrier": Fault(
        {"wait 1": NOTHING, "end 1": "s_barrier;s_waitcnt vmcnt(1)"},
        "read 2",
        "load 2",
        r"was outstanding at s_barrier.* s_waitcnt vmcnt\(1\) of wave 2 before that",
    ),
    "one wave of four does not wait": Fault(
        {"wait 1": "s_cmp_eq_u32 s10, 0x80;s_cbranch_scc1 1;s_waitcnt vmcnt(1)"},
        "read 2",
        "load 2",
        r"by wave 2 .* was outstanding at s_barrier.* s_waitcnt vmcnt\(1\) of wave 2 before that",
    ),
    "a barrier less before the first step": Fault(
        {"begin 0": NOTHING}, "read 0", "load 0", r"a barrier after"
    ),
    "a barrier less between steps": Fault({"end 1": NOTHING}, "read 2", "load 2", r"a barrier after"),
    "a load before the barrier": Fault(
        {"end 0": NOTHING, "next 3": "s_barrier"}, "load 3", "read 0", BARRIER_MISSING
    ),
    "a buffer less": Fault({}, "load 2", "read 0", BARRIER_MISSING, buffers=DEPTH),
    "reads that are not waited for": Fault(
        {"arrived 0": NOTHING, "arrived 1": NOTHING}, "load 3", "read 0", BARRIER_MISSING
    ),
    "a stagger without its wait": Fault(
        {"wait 1": NOTHING, "end 1": "s_barrier;s_waitcnt vmcnt(1)"},
        "read 2",
        "load 2",
        r"by wave 2 .* outstanding at s_barrier.* s_waitcnt vmcnt\(1\) of wave 2 before that",
        staggered=True,
    ),
    "a stagger whose first wait is after its barrier": Fault(
        {"wait": NOTHING, "begin 0": f"s_waitcnt vmcnt({DEPTH - 1});s_barrier"},
        "read 0",
        "load 0",
        r"by wave 2 .* outstanding at s_barrier.* s_waitcnt vmcnt\(1\) of wave 2 before that",
        staggered=True,
    ),
    "a stagger with a buffer less": Fault(
        {}, "read 0", "load 2", "by wave 0 .* was outstanding at s_barrier", staggered=True, buffers=DEPTH
    ),
    "a wave's own bytes": Fault(
        {"other": "v_mov_b32 v2, v1", "wait": NOTHING, "begin 0": NOTHING},
        "read 0",
        "load 0",
        r"by this wave .* is outstanding: missing is s_waitcnt vmcnt\(2\)",
    ),
}


@pytest.mark.parametrize("arch", WIDTHS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_with_both_places(arch, name):
    fault = FAULTS[name]
    lines = changed(program(arch, staggered=fault.staggered, buffers=fault.buffers), fault.change)
    findings = run(lines, arch, "async").findings
    early, late = (offset(lines, place, arch) for place in (fault.early, fault.late))
    (found,) = (line for line in findings if f" at {early} of kernel" in line)
    assert found.startswith("async: ")
    assert f" at {late})" in found
    assert re.search(fault.missing, found), found


def test_a_stagger_makes_a_right_wait_a_late_one():
    """Waves that are together may wait after the barrier that ends a step, which those ahead do not."""
    late = {"wait 1": NOTHING, "end 1": "s_barrier;s_waitcnt vmcnt(1)", "begin 2": "s_barrier"}
    lines = program("gfx942", staggered=True)
    together = {**lines, "behind": NOTHING, "ahead": NOTHING}
    assert run(changed(together, late), "gfx942") == ([], True)
    findings, exact = run(changed(lines, late), "gfx942")
    assert findings and not exact


@pytest.mark.parametrize(
    ("change", "message"),
    [
        # the waves that are ahead do not wait for the others at the end
        ({"ahead": NOTHING}, "a barrier that wave 0 never reaches: it has ended (s_endpgm at "),
        # a step of one wave has a barrier less
        (
            {"end 1": "s_cmp_eq_u32 s10, 0x40;s_cbranch_scc1 1;s_barrier"},
            "a barrier that wave 1 never reaches: it has ended (s_endpgm at ",
        ),
        # the halves of a wave go through the barrier one after the other
        (
            {"end 1": "s_mov_b64 exec, 0xffff;s_barrier;s_mov_b64 exec, -1"},
            "a barrier with 16 of the wave's 64 lanes",
        ),
    ],
)
def test_what_can_hang_is_found(change, message):
    findings = run(changed(program("gfx942", staggered=True), change), "gfx942", "barriers").findings
    assert any(message in line and " s_barrier at 0x" in line for line in findings), findings


#: its builtin makes clang 19 crash
LOAD = """
typedef __attribute__((address_space(3))) volatile u32* Local;
KERNEL k(u32* out, const u32* in) {
    SHARED volatile u32 tile[128];
    const u32 to = (u32)((Local)tile + __builtin_amdgcn_readfirstlane(LANE / 64) * 64);
    asm volatile("s_mov_b32 m0, %0\\n global_load_lds_dword %1, %2" :: "s"(to), "v"(4 * LANE), "s"(in));
    BEFORE
    __builtin_amdgcn_s_barrier();
    AFTER
    out[LANE] = tile[LANE ^ 64];
}"""
WAIT = 'asm volatile("s_waitcnt vmcnt(0)" ::: "memory");'


def test_compiled_kernels_are_found_with_both_source_lines(monkeypatch):
    """Each wave waits for its own load, after the barrier."""
    monkeypatch.setenv("CKPROF_EMULATED_CHECKS", "all")
    values = np.arange(128, dtype=np.uint32)
    hip = Hip()
    right = LOAD.replace("BEFORE", WAIT).replace("AFTER", "")
    assert hip.run(right, 128, hip.upload(values), block=(128,)).tolist() == [*range(64, 128), *range(64)]
    hip = Hip()
    late = LOAD.replace("BEFORE", "").replace("AFTER", WAIT)
    with pytest.raises(HipError, match="async: reads byte") as caught:
        hip.run(late, 128, hip.upload(values), block=(128,), flags=("-gline-tables-only",))
    first = LOAD.splitlines().index(next(line for line in LOAD.splitlines() if "global_load_lds" in line))
    text = str(caught.value)
    (read, load) = re.findall(r"^  .*:(\d+)(?: \((0x[0-9a-f]+)\))?", text, re.MULTILINE)
    begin = len(PREFIX.splitlines()) + 1
    assert (int(read[0]), int(load[0])) == (begin + first + 4, begin + first)
    assert f" at {load[1]}) was outstanding at s_barrier at 0x" in text


def test_workgroups_have_nothing_to_do_with_each_other(monkeypatch):
    """They use the same storage one after the other, and each loads to the bytes that the last one read."""
    monkeypatch.setenv("CKPROF_EMULATED_CHECKS", "async,barriers")
    monkeypatch.setenv("CKPROF_EMULATED_THREADS", "1")
    values = np.arange(128, dtype=np.uint32)
    right, late = (
        LOAD.replace("BEFORE", before).replace("AFTER", after) for before, after in ((WAIT, ""), ("", WAIT))
    )
    for seed in ("0", "5"):
        monkeypatch.setenv("CKPROF_EMULATED_SEED", seed)
        hip = Hip()
        out = hip.run(right, 128, hip.upload(values), grid=(6,), block=(128,))
        assert out.tolist() == [*range(64, 128), *range(64)]
        hip = Hip()
        # each byte that one of 6 x 128 lanes reads is found
        with pytest.raises(HipError, match=rf"async: reads byte(.|\n)*\({6 * 128 * 4} times\)"):
            hip.run(late, 128, hip.upload(values), grid=(6,), block=(128,))
