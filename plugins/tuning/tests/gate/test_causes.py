"""What explains a change, on loops whose change is known."""

import pytest

from ckprof_plugins.tuning.gate.causes import Cause, first_difference, reasons
from plugins.tuning.tests.gate.sides import LOOP, executed, figures, loop

LINES = LOOP.splitlines()
LOAD, WAIT_FOR_LOAD, READ = LINES[3], LINES[1], LINES[6]


def _without(line):
    return [one for one in LINES if one != line]


def _text(lines):
    return "\n".join(lines)


#: name -> loop after, further figures, the cause that comes first, part of its text, what stands there
CHANGES = {
    "a barrier more": (
        [*LINES[:6], "s_barrier", *LINES[6:]], {}, Cause.BARRIER, "barriers in the loop: 2 -> 3", "s_barrier",
    ),
    "spilled registers": (
        [*LINES[:8], "scratch_store_dword off, v40, 0x10", *LINES[8:]],
        {"needs": {**figures().needs, "vgpr_spills": 3, "scratch_bytes": 12}},
        Cause.SPILL,
        "spilled: 0 -> 3, scratch 0 -> 12 bytes; scratch accesses in the loop: 0 -> 1", "scratch_store",
    ),
    "halved loads": (
        [*LINES[:3], LOAD.replace("x4", "x2"), LOAD.replace("x4", "x2"), *LINES[4:]],
        {}, Cause.NARROWER, "10 x 128 bits -> 20 x 64 bits", "buffer_load_dwordx2",
    ),
    # the load is waited for where it is issued, and no product is between
    "a load that is not ahead": (
        [LOAD, *_without(LOAD)], {}, Cause.PREFETCH, "4.0 -> 0.0 matrix instructions", "",
    ),
    "a wait that moved": (
        [*LINES[:9], "s_waitcnt vmcnt(0)", *_without(WAIT_FOR_LOAD)[8:]],
        {}, Cause.PREFETCH, "", "s_waitcnt vmcnt(0)",
    ),
    "a wait more": (
        [*LINES[:2], "s_waitcnt lgkmcnt(3)", *LINES[2:]], {},
        Cause.WAIT, "waits in the loop: 3 -> 4", "lgkmcnt(3)",
    ),
    "fewer workgroups": (
        LINES, {"resident": 1, "needs": {**figures().needs, "vgprs": 160}},
        Cause.OCCUPANCY, "compute unit: 2 -> 1, limited by vgpr (vgprs 128 -> 160)", "",
    ),
    "iterations": (LINES, {"iterations": 12}, Cause.ITERATIONS, "10 -> 12", ""),
    "more products": (
        [*LINES[:8], LINES[8], *LINES[8:]], {}, Cause.MATRIX, "v_mfma_f32_32x32x8_f16 40 -> 50", "v_mfma",
    ),
    "more arithmetic": (
        [*LINES[:2], "v_add_u32 v1, v2, v3", *LINES[2:]], {}, Cause.MORE, "vector 0 -> 10", "v_add_u32",
    ),
    "another order": ([LINES[0], LINES[2], LINES[1], *LINES[3:]], {},
        Cause.ORDER, "another order", "ds_write"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_changed_is_named_with_its_place(name):
    lines, changes, cause, text, place = CHANGES[name]
    after = _text(lines)
    found = reasons(figures(), figures(after, **changes), loop(), loop(after))
    assert found[0].cause is cause, found
    assert text in found[0].text
    assert any(place in one for one in (*found[0].before, *found[0].after)) or not place, found[0]


def test_what_explains_the_change_stands_first():
    """Of a barrier more and a load that is waited for later, the former makes a kernel slower."""
    after = _text([*LINES[:6], "s_barrier", *LINES[6:9], LINES[8], *LINES[9:]]).replace(
        WAIT_FOR_LOAD, "s_waitcnt vmcnt(1)"
    )
    causes = {
        time_us: [
            one.cause for one in reasons(figures(), figures(after, time_us=time_us), loop(), loop(after))
        ]
        for time_us in (9.0, 10.0, 11.0)
    }
    assert causes[11.0][0] is Cause.BARRIER
    assert causes[9.0][0] is Cause.PREFETCH
    assert causes[9.0][-1] is Cause.BARRIER
    assert {*causes[9.0]} == {*causes[10.0]} == {*causes[11.0]}


def test_registers_and_unchanged_loops_are_no_difference():
    renamed = LOOP.replace("v[20:23]", "v[24:27]").replace("v11", "v99").replace("s[4:7]", "s[8:11]")
    assert first_difference(loop(), loop(renamed)) is None
    assert reasons(figures(), figures(renamed), loop(), loop(renamed)) == []


def test_bank_conflicts_are_cycles_of_each_access():
    before, after = figures(conflict_cycles=0.0), figures(conflict_cycles=160.0)
    # ten writes and ten reads of LDS
    assert executed()["ds_read_b128"] + executed()["ds_write_b128"] == 20
    (found,) = reasons(before, after, loop(), loop(conflicts=8.0))
    assert found.cause is Cause.CONFLICTS
    assert "0 -> 160 cycles, 0.0 -> 8.0 of each access to LDS" in found.text
    assert found.after == ("ds_write_b128 v10, v[20:23]  (8 cycles of conflicts)",)
    assert reasons(before, figures(conflict_cycles=4.0), loop(), loop()) == []


def test_what_is_outside_of_the_loop_is_said_to_be_there():
    more = {**executed(), "s_barrier": 25, "vector": 7}
    found = reasons(figures(), figures(executed=more), loop(), loop())
    assert [one.cause for one in found] == [Cause.BARRIER, Cause.MORE]
    assert found[0].text == "barriers that the waves of a workgroup execute outside of the loop: 20 -> 25"
    assert "outside of the loop: vector 0 -> 7, s_barrier 20 -> 25" in found[1].text
    # where the loop is executed more often, nobody knows
    for changes in ({"iterations": 12}, {"lanes": 256}):
        often = reasons(figures(), figures(executed=more, **changes), loop(), loop())
        assert not any("outside" in one.text for one in often)
