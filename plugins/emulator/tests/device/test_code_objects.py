"""Code objects and bundles that are damaged, and the decoder beside LLVM's disassembler."""

import ctypes
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from ckprof_plugins.emulator.library import SOURCE_DIR
from plugins.emulator.tests.device import hip as runtime
from plugins.emulator.tests.device import instruction_table
from plugins.emulator.tests.device.hip import Hip, HipError, bundle, code_object
from plugins.emulator.tests.device.test_sanitizers import ADDRESSES, preloaded
from plugins.emulator.tests.device.tested_library import FLAGS, emulator_under_test
from plugins.emulator.tests.device.wave import ARCHITECTURES, DeviceFault, assembler, disassembled, execute

pytestmark = [pytest.mark.amd]

SOURCE = """
DEVICE u32 table[64] = {1, 2, 3};
DEVICE u32* place = table;
KERNEL k(u32* out, u32 n) {
  SHARED u32 shared[64];
  u32 own[8];
  for (u32 i = 0; i < 8; ++i) own[i] = n + i;
  shared[LANE] = table[LANE] + own[LANE % 8];
  __builtin_amdgcn_s_barrier();
  out[(GROUP * 64 + LANE) % 4096] = shared[63 - LANE] + *place;
}
"""
MUTATIONS = Path(__file__).with_name("mutations.py")


def outcomes(tmp_path, library, count, **options):
    """How mutated code objects ended, each in a process of its own."""
    path = tmp_path / "k.co"
    path.write_bytes(code_object(SOURCE))
    # addresses that are drawn from all of the memory are too many for some sanitizers
    fixed = (setarch, "-R") if options and (setarch := shutil.which("setarch")) else ()
    ran = subprocess.run(
        [*fixed, sys.executable, str(MUTATIONS), str(library), str(path), str(count), "1"],
        capture_output=True,
        text=True,
        env={**os.environ, **options},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return json.loads(ran.stdout)


def test_mutated_code_objects_end_with_errors_or_results(tmp_path):
    found = outcomes(tmp_path, runtime.emulator_under_test(), 150)
    assert found.pop("crashes") == {}
    assert found["error"] > 30 and sum(found.values()) == 150


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_ten_thousand_mutations_below_sanitizers(tmp_path, monkeypatch):
    flags, libraries, options = ADDRESSES
    monkeypatch.setenv(FLAGS, shlex.join(flags))
    runtime.emulator_under_test.cache_clear()
    library = runtime.emulator_under_test()
    runtime.emulator_under_test.cache_clear()
    found = outcomes(tmp_path, library, 10_000, LD_PRELOAD=preloaded(libraries), **options)
    assert found.pop("crashes") == {}
    assert found["error"] > 2_000 and sum(found.values()) == 10_000


def replaced(data, old, new):
    assert data.count(old) == 1 and len(old) == len(new)
    return data.replace(old, new)


def segment(data, field, value):
    """Change a number of 8 bytes of the second segment that is loaded."""
    (begin,) = struct.unpack_from("<Q", data, 32)
    (count,) = struct.unpack_from("<H", data, 56)
    headers = [begin + 56 * n for n in range(count)]
    place = [at for at in headers if struct.unpack_from("<I", data, at)[0] == 1][1] + field
    return data[:place] + struct.pack("<Q", value) + data[place + 8 :]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda code: segment(code, 40, 1 << 62), "lies above"),
        (lambda code: segment(code, 16, 8), "overlap"),
        (lambda code: segment(code, 32, 1 << 20), "does not fit into its memory"),
        (lambda code: segment(code, 8, 1 << 40), "ends too early"),
        (lambda code: replaced(code, b"global_buffer", b"globel_buffer"), "unknown kind 'globel_buffer'"),
        (lambda code: code[:4] + b"\x01" + code[5:], "another size or byte order"),
    ],
)
def test_what_is_wrong_is_said(change, message):
    hip = Hip()
    data = bundle(change(code_object(SOURCE)), "gfx942")
    kernel = hip.kernel(hip.load_bytes(data), "k")
    with pytest.raises(HipError, match=message) as caught:
        hip.launch(kernel, (1,), (64,), 0, 0)
    assert caught.value.code == runtime.NO_BINARY


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [(24, 1 << 40, "entries"), (24 + 8 + 16, 1 << 40, "name of"), (24 + 8, 1 << 62, "")],
)
def test_bundles_that_say_more_than_there_is(place, value, message):
    hip = Hip()
    data = bytearray(bundle(code_object(SOURCE), "gfx942"))
    data[place : place + 8] = struct.pack("<Q", value)
    kernel = hip.kernel(hip.load_bytes(bytes(data)), "k")
    if message:
        with pytest.raises(HipError, match=message):
            hip.launch(kernel, (1,), (64,), 0, 0)


def test_all_checks_and_places_from_the_kernels_symbol(monkeypatch):
    monkeypatch.setenv("CKPROF_EMULATED_CHECKS", "all")
    # the first kernel of the file pushes the second one away from the beginning of the code
    source = """
    KERNEL first(u32* out) { for (u32 i = 0; i < LANE; ++i) out[i * LANE] = i; }
    KERNEL k(u32* out) { SHARED u32 s[128]; s[LANE] = LANE; out[LANE] = s[(LANE + 64) % 128]; }"""
    with pytest.raises(HipError, match=r"of kernel k, workgroup") as caught:
        Hip().run(source, 64, block=(128,))
    text = str(caught.value)
    assert "races: " in text
    places = [int(word, 16) for word in re.findall(r" at (0x[0-9a-f]+) ", text)]
    assert places and all(place < 0x100 for place in places)
    monkeypatch.setenv("CKPROF_EMULATED_CHECKS", "everything")
    with pytest.raises(HipError, match="no check 'everything', expected all, races, uninitialised"):
        Hip().run(source, 64, block=(128,))


#: the field of their destination is a number
_IMMEDIATE = {"s_atc_probe", "s_atc_probe_buffer", "s_set_gpr_idx_on"}
#: LLVM 19 reads them on gfx942 as well, which has other instructions for caches; LLVM 22 does not
_NOT_ON_GFX942 = {"buffer_wbinvl1", "buffer_wbinvl1_vol"}
_TABLE = SOURCE_DIR / "isa" / "instructions.def"


def registers(text):
    """Return kind, first number and count of the registers that a text names."""
    found = re.findall(r"\b(?:([sva])(?:\[(\d+):(\d+)\]|(\d+))\b|(vcc|exec|m0)\b)", re.sub(r"^\S+", "", text))
    return Counter(
        (special, 0, 0)
        if special
        else (kind, int(single or first), int(last or single) - int(first or single) + 1)
        for kind, first, last, single, special in found
    )


def plain(name):
    """Return a name without what spellings differ in."""
    return re.sub(r"_(e32|e64|dpp|sdwa)$|_(\d+b_)?|_1k", "", name)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_names_lengths_and_registers_are_those_of_llvm(arch):
    expected = instruction_table.disassembled(assembler(arch), arch)
    assert len(expected) > 1000
    differences = []
    for (encoding, op), (words, text) in expected.items():
        if arch != "gfx90a" and text.split()[0] in _NOT_ON_GFX942:
            continue
        size, decoded = disassembled(arch, words)[0]
        same = (
            size == 4 * len(words)
            and plain(decoded.split()[0]) == plain(text.split()[0])
            and set(registers(decoded)) == set(registers(text))
        )
        if not same and text.split()[0] not in _IMMEDIATE:
            differences.append(f"{encoding} {op}: {text} | {size} {decoded}")
    assert differences == []


def test_table_is_that_of_the_newest_disassembler():
    assert instruction_table.table(assembler("gfx950")) == _TABLE.read_text()


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


def test_what_is_not_emulated_is_named():
    with pytest.raises(DeviceFault, match=r"opcode that this architecture.*at 0x0 of kernel test"):
        execute([0x7E000000 | 255 << 9])
    with pytest.raises(DeviceFault, match="an instruction that is not emulated: v_mfma_ld_scale_b32"):
        # v_mfma_ld_scale_b32 v1, v2, which assemblers before LLVM 20 do not know
        execute((0xD3AC4000, 0x18020501), arch="gfx950")
