"""Workgroups of given instructions on the simulated compute unit, for tests."""

from __future__ import annotations

import ctypes
import json
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ckprof_plugins.emulator.tables import unit_table
from plugins.emulator.tests.device.tested_library import emulator_under_test
from plugins.emulator.tests.device.wave import LANES, DeviceFault, State, _CRange, _CState, assembled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_END: Final = 0xBF810000


@cache
def _time() -> Any:
    call = ctypes.CDLL(str(emulator_under_test())).ckprof_emulator_time
    call.argtypes = [
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.POINTER(_CState),
        ctypes.c_size_t,
        ctypes.POINTER(_CRange),
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_uint32,
        ctypes.c_uint32,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    return call


def timed(
    text: str,
    states: Sequence[State] | None = None,
    *,
    arch: str = "gfx942",
    memory: Sequence[Any] = (),
    count: int = 1,
    slots: int = 1,
    changes: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return what waves that execute instructions and an ``s_endpgm`` take.

    :param states: what the waves of a workgroup begin with; one wave by default.
    :param count: how many workgroups do the same, ``slots`` of them at a time.
    :param changes: numbers that are not those of the table; code is there at once by default.
    :raises DeviceFault: a wave does not come to its end.
    """
    given = states or [State()]
    code = np.array([*assembled(arch, text), _END], np.uint32)
    raws = (_CState * len(given))()
    for raw, state in zip(raws, given, strict=True):
        ctypes.memmove(raw.scalar, np.ascontiguousarray(state.scalar).ctypes.data, 512)
        ctypes.memmove(raw.vector, np.ascontiguousarray(state.vector).ctypes.data, 512 * LANES * 4)
        raw.mode = state.mode
    lds = np.ascontiguousarray(given[0].lds)
    raws[0].lds, raws[0].lds_bytes = lds.ctypes.data, lds.nbytes
    ranges = (_CRange * (len(memory) + 1))(
        *(_CRange(array.ctypes.data, array.nbytes) for array in memory),
        _CRange(code.ctypes.data, code.nbytes),
    )
    answer = ctypes.create_string_buffer(1 << 16)
    status = _time()(
        arch.encode(),
        code.ctypes.data,
        len(code),
        raws,
        len(raws),
        ranges,
        len(ranges),
        unit_table(arch, {"code_latency": 0, **(changes or {})}).encode(),
        count,
        slots,
        answer,
        len(answer),
    )
    if status:
        raise DeviceFault(status, answer.value.decode())
    return dict(json.loads(answer.value))
