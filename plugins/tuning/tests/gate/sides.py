"""Sides of comparisons with few kernels, as values and as files."""

from __future__ import annotations

import msgspec

from ckprof.model.problem_types import sizes
from ckprof_plugins.directions._convolution.problem import default_problems
from ckprof_plugins.tuning.gate.baseline import (
    KernelFigures,
    LoopInstruction,
    PredictionBaseline,
    ProblemFigures,
    write_baseline,
)

PROBLEM = default_problems()[2]
#: a loop that loads the next tile while it multiplies this one
LOOP = """\
s_barrier
s_waitcnt vmcnt(0)
ds_write_b128 v10, v[20:23]
buffer_load_dwordx4 v[20:23], v1, s[4:7], 0x0
s_waitcnt lgkmcnt(0)
s_barrier
ds_read_b128 v[30:33], v11
s_waitcnt lgkmcnt(0)
v_mfma_f32_32x32x8_f16 v[40:55], v[30:31], v[32:33], v[40:55]
v_mfma_f32_32x32x8_f16 v[40:55], v[30:31], v[32:33], v[40:55]
v_mfma_f32_32x32x8_f16 v[40:55], v[30:31], v[32:33], v[40:55]
v_mfma_f32_32x32x8_f16 v[40:55], v[30:31], v[32:33], v[40:55]
s_cbranch_scc1 65500"""
_UNITS = {"v_mfma": "matrix", "v_": "vector", "ds_": "lds", "buffer_": "memory", "scratch_": "memory",
          "s_cbranch": "branch", "s_waitcnt": "control", "s_barrier": "control", "s_": "scalar"}  # fmt: skip


def loop(text=LOOP, conflicts=0.0):
    """Return the instructions of some lines."""
    return tuple(
        LoopInstruction(
            text=line,
            unit=next(unit for begin, unit in _UNITS.items() if line.startswith(begin)),
            conflict_cycles=conflicts if line.startswith("ds_") else 0.0,
        )
        for line in text.splitlines()
    )


def executed(text=LOOP, times=10):
    """Return what waves execute that run through a loop."""
    counts = {}
    for one in loop(text):
        kind = one.mnemonic if one.unit in ("matrix", "lds", "memory", "control") else one.unit
        counts[kind] = counts.get(kind, 0) + times
    return counts


def figures(text=LOOP, **changes):
    """Return the figures of a kernel that runs through a loop."""
    usual = {
        **{"key": "ab" * 16, "name": "kernel_64x64", "line": "legacy.conf:7", "status": "predicted"},
        **{"time_us": 10.0, "cycles": 20000.0, "limit": "LDS", "resident": 2, "limited_by": "vgpr"},
        "needs": {"vgprs": 128, "agprs": 0, "sgprs": 40, "vgpr_spills": 0, "sgpr_spills": 0,
                  "lds_bytes": 8192, "scratch_bytes": 0},
        **{"executed": executed(text), "iterations": 10, "loop": "l" if text else ""},
    }  # fmt: skip
    return KernelFigures(**{**usual, **changes})


def side(*kernels, text=LOOP, conflicts=0.0, **changes):
    """Return a side with one problem."""
    usual = {"model": "0123456789abcdef", "gpu": "MI300X", "arch": "gfx942", "direction": "fwd"}
    problem = ProblemFigures(
        problem=PROBLEM.describe(), sizes=sizes(PROBLEM), kernels=kernels or (figures(text),)
    )
    values = {**usual, "compiler": "clang 19", "problems": (problem,), "loops": {"l": loop(text, conflicts)}}
    return PredictionBaseline(**{**values, **changes})


def file(path, *kernels, **changes):
    """Write a side; return the path."""
    write_baseline(side(*kernels, **changes), path)
    return path


def as_values(baseline):
    """Return a side as plain values, to be compared."""
    return msgspec.json.decode(msgspec.json.encode(baseline))
