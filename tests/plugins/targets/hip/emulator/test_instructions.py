"""Which instructions of the table the emulated device executes."""

from __future__ import annotations

import ctypes
from typing import Final

import pytest

from ckprof_plugins.targets.hip.emulator.library import emulator_library
from tests.plugins.targets.hip.emulator.wave import ARCHITECTURES

pytestmark = [pytest.mark.amd]

#: what no compiler emits for kernels: debuggers, trap handlers, graphics, forks within a wave
NOT_EMITTED: Final = {
    "s_cbranch_cdbgsys",
    "s_cbranch_cdbgsys_and_user",
    "s_cbranch_cdbgsys_or_user",
    "s_cbranch_cdbguser",
    "s_cbranch_g_fork",
    "s_cbranch_i_fork",
    "s_cbranch_join",
    "s_endpgm_ordered_ps_done",
    "s_rfe_b64",
    "s_rfe_restore_b64",
    "s_sendmsghalt",
    "s_setvskip",
    "v_screen_partition_4se_b32",
}
_ARITHMETIC: Final = ("s_", "v_")
#: scalar memory, which other tests are about
_MEMORY: Final = ("s_atc_", "s_atomic", "s_buffer", "s_dcache", "s_load", "s_mem", "s_scratch", "s_store")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_all_arithmetic_that_compilers_emit_is_executed(arch):
    names = ctypes.CDLL(str(emulator_library())).ckprof_emulator_unsupported
    names.restype = ctypes.c_size_t
    text = ctypes.create_string_buffer(names(arch.encode(), None, 0))
    names(arch.encode(), text, len(text))
    missing = {name for name in text.value.decode().split() if name.startswith(_ARITHMETIC)}
    assert {name for name in missing if not name.startswith(_MEMORY)} <= NOT_EMITTED
