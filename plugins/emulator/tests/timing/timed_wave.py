"""Workgroups of given instructions on the simulated compute unit, for tests."""

import ctypes
import json

import numpy as np

from ckprof_plugins.emulator.tables import unit_table
from plugins.emulator.tests.device.tested_library import emulator_under_test
from plugins.emulator.tests.device.wave import DeviceFault, State, assembled, raw_ranges, raw_states

_END = 0xBF810000


def timed(text, states=None, *, arch="gfx942", memory=(), count=1, slots=1, changes=None):
    """Return what waves that execute instructions and an ``s_endpgm`` take.

    :param states: what the waves of a workgroup begin with; one wave by default.
    :param count: how many workgroups do the same, ``slots`` of them at a time.
    :param changes: numbers that are not those of the table; code is there at once by default.
    :raises DeviceFault: a wave does not come to its end.
    """
    given = states or [State()]
    code = np.array([*assembled(arch, text), _END], np.uint32)
    raws, _lds = raw_states(given)
    ranges = raw_ranges([*memory, code])
    answer = ctypes.create_string_buffer(1 << 16)
    status = ctypes.CDLL(str(emulator_under_test())).ckprof_emulator_time(
        arch.encode(),
        ctypes.c_void_p(code.ctypes.data),
        ctypes.c_size_t(len(code)),
        raws,
        ctypes.c_size_t(len(raws)),
        ranges,
        ctypes.c_size_t(len(ranges)),
        unit_table(arch, {"code_latency": 0, **(changes or {})}).encode(),
        ctypes.c_uint32(count),
        ctypes.c_uint32(slots),
        answer,
        ctypes.c_size_t(len(answer)),
    )
    if status:
        raise DeviceFault(status, answer.value.decode())
    return dict(json.loads(answer.value))
