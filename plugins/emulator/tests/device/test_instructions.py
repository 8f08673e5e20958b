"""Which instructions of the table the emulated device executes."""

import ctypes
import re

import pytest

from plugins.emulator.tests.device.tested_library import emulator_under_test
from plugins.emulator.tests.device.wave import ARCHITECTURES, DeviceFault, execute

pytestmark = [pytest.mark.amd]

#: what no compiler emits for kernels: debuggers, trap handlers, graphics, forks within a wave
NOT_EMITTED = {
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
#: memory that kernels do not use: typed buffers of graphics, the global data share's semaphores, scratch of
#: the whole wave and atomics of the scalar unit, which no compiler emits
NOT_EMITTED_MEMORY = re.compile(
    r"t?buffer_(load|store)_format_.*|ds_gws_.*|s_scratch_(load|store)_.*|s_(buffer_)?atomic_.*"
)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_all_that_compilers_emit_is_executed(arch):
    names = ctypes.CDLL(str(emulator_under_test())).ckprof_emulator_unsupported
    names.restype = ctypes.c_size_t
    text = ctypes.create_string_buffer(names(arch.encode(), None, 0))
    names(arch.encode(), text, len(text))
    missing = set(text.value.decode().split())
    assert {name for name in missing if not NOT_EMITTED_MEMORY.fullmatch(name)} == NOT_EMITTED


@pytest.mark.parametrize(
    ("arch", "text", "name"),
    [
        ("gfx942", "buffer_load_format_x v1, off, s[4:7], 0", "buffer_load_format_x"),
        ("gfx90a", "tbuffer_load_format_x v1, off, s[4:7], 0", "tbuffer_load_format_x"),
        ("gfx942", "s_atomic_add s5, s[2:3], 0x0", "s_atomic_add"),
        ("gfx90a", "ds_gws_barrier v2 gds", "ds_gws_barrier"),
    ],
)
def test_what_is_not_executed_is_named(arch, text, name):
    with pytest.raises(DeviceFault, match=f"an instruction that is not emulated: {name}"):
        execute(text, arch=arch)


def test_an_unknown_opcode_is_named():
    with pytest.raises(DeviceFault, match=r"opcode that this architecture.*at 0x0 of kernel test"):
        execute([0x7E000000 | 255 << 9])


def test_a_scale_alone_is_named():
    with pytest.raises(DeviceFault, match="an instruction that is not emulated: v_mfma_ld_scale_b32"):
        # v_mfma_ld_scale_b32 v1, v2, which assemblers before LLVM 20 do not know
        execute((0xD3AC4000, 0x18020501), arch="gfx950")
