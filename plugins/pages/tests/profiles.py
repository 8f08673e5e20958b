"""A profile with known figures."""

import pytest

from ckprof_plugins.pages.profile import ProfileContent

kernel_profile = pytest.importorskip("ckprof_plugins.emulator.kernel_profile")
predicted_time = pytest.importorskip("ckprof_plugins.emulator.predicted_time")

UNITS = {"mul": "multiplier", "mem": "memory"}
WAITS = {"unit": "a busy unit", "data": "data"}
#: what a page must not act upon
HOSTILE = "<script>alert(1)</script>"


def instruction(address, unit, *, issue=4, loop=True, **more):
    """Return an instruction that 10 waves execute, or one where it is not in the loop."""
    fields = {"stall_cycles": {}, "share": 0.1, "source": "", **more}
    return kernel_profile.ExecutedInstruction(
        address=address,
        text=f"{unit}_{address:x} r0, r1",
        unit=unit,
        in_loop=loop,
        executions=10 if loop else 1,
        issue_cycles=issue,
        **fields,
    )


#: of a wave's 10 * (4 + 6 + 8) + 20 cycles, 200 in all, 10 * 6 wait for data
INSTRUCTIONS = (
    instruction(0, "mem", issue=20, loop=False, lines=3.0, missed_lines=3.0, memory_bytes=90.0),
    instruction(
        4, "mem", stall_cycles={"data": 6.0, "unit": 0.0}, share=0.5, source="/src/deep/kernel.hpp:12"
    ),
    instruction(12, "mul", issue=8, lds_cycles=4.0, conflict_cycles=1.0, share=0.4),
)

TIMELINE = kernel_profile.Timeline(
    cycles=20.0,
    waves=((0, 0), (1, 0)),
    spans=(
        kernel_profile.Span(kind="issue", what="mul", wave=0, address=12, begin=0, end=10),
        kernel_profile.Span(kind="wait", what="data", wave=0, address=4, begin=10, end=20),
        kernel_profile.Span(kind="wait", what="unit", wave=1, address=12, begin=-5, end=15),
        kernel_profile.Span(kind="issue", what="mem", wave=1, address=4, begin=15, end=20),
        kernel_profile.Span(kind="flight", what="mem", wave=1, address=4, begin=15, end=90),
        kernel_profile.Span(kind="work", what="mul", wave=0, address=12, begin=0, end=5),
        kernel_profile.Span(kind="work", what="mem", wave=None, address=4, begin=12, end=22),
    ),
)


def content(**changes):
    """Return the content of a page."""
    profile = kernel_profile.KernelProfile(
        symbol="_Zk",
        grid=(9, 1, 1),
        block=(256, 1, 1),
        iterations=7,
        limited_by="registers",
        instructions=changes.pop("instructions", INSTRUCTIONS),
        timeline=changes.pop("timeline", TIMELINE),
        units=UNITS,
        waits=WAITS,
    )
    time = predicted_time.PredictedTime(
        time_us=12.345,
        extrapolation_us=0.0,
        limit="latency of data",
        ceiling_share=0.25,
        workgroups=9,
        resident=2,
        queue=5,
        parts={"launch": 1.0, "compute_units": 11.0, "set": 0.0},
        busy={"mul": 0.25, "mem": 0.5},
        profile=profile,
    )
    fields = {
        "kernel": "kernel_a",
        "split_k": 1,
        "problem": "2D",
        "device": "X1",
        "arch": "gfx0",
        "compiler": "clang 1",
        "time": time,
        "profile": profile,
        **changes,
    }
    return ProfileContent(**fields)
