"""Reads of global memory that nothing has written are found where they decide something, by the byte."""

import ctypes
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plugins.emulator.tests.device import hip as runtime
from plugins.emulator.tests.device.hip import Hip, HipError

pytestmark = [pytest.mark.amd]

SIZE = 256
#: a branch that the byte at an offset decides about
DECIDE = (
    "typedef unsigned char u8; KERNEL k(u32* out, const u8* in, u64 at) { if (in[at + LANE]) out[LANE] = 1; }"
)
UNIFORM = "KERNEL k(u32* out, const u32* in) { if (in[3] == 5) out[LANE] = 1; }"
TO_DEVICE, D2D = runtime.TO_DEVICE, 3


@pytest.fixture
def hip(monkeypatch):
    monkeypatch.setenv("CKPROF_EMULATED_CHECKS", "uninitialised")
    return Hip()


@contextmanager
def finding(*parts):
    with pytest.raises(HipError) as caught:
        yield
    assert caught.value.code == runtime.LAUNCH_FAILURE
    for part in ("uninitialised: ", *parts):
        assert part in str(caught.value)


def size_t(value):
    return ctypes.c_size_t(value)


def pointer(value):
    return ctypes.c_void_p(value)


def decide(hip, address, at=0, lanes=1):
    hip.run(DECIDE, 64, address, ctypes.c_uint64(at), block=(lanes,))


def test_a_branch_on_memory_that_nothing_has_written(hip):
    address = hip.malloc(SIZE)
    with finding(
        "the execution mask gets bits of undefined values", f"{address + 7:#x}, which nothing had written"
    ):
        decide(hip, address, 7)


def test_a_scalar_branch(hip):
    address = hip.malloc(SIZE)
    with finding("a branch depends on scc"):
        hip.run(UNIFORM, 64, address)


def test_an_address_out_of_memory_that_nothing_has_written(hip):
    with pytest.raises(HipError) as caught:
        hip.run("KERNEL k(u32* out, u32** in) { out[0] = *in[2]; }", 64, hip.malloc(SIZE))
    # the fault is the error, what was found before it stands below
    assert caught.value.code == runtime.ILLEGAL_ADDRESS
    first, *rest = str(caught.value).splitlines()
    assert "memory access fault" in first
    assert any(
        "uninitialised: " in line and "an address comes from undefined values" in line for line in rest
    )


def test_a_result_of_memory_that_nothing_has_written(hip):
    with finding("undefined bits are stored in global memory"):
        hip.run("KERNEL k(u32* out, const u32* in) { out[LANE] = in[LANE]; }", 64, hip.malloc(SIZE))


#: functions of the host that write n bytes, and what they take behind the place
WRITERS = {
    "hipMemcpy": lambda n: (ctypes.create_string_buffer(n), size_t(n), TO_DEVICE),
    "hipMemcpyAsync": lambda n: (ctypes.create_string_buffer(n), size_t(n), TO_DEVICE, None),
    "hipMemcpyWithStream": lambda n: (ctypes.create_string_buffer(n), size_t(n), TO_DEVICE, None),
    "hipMemset": lambda n: (1, size_t(n)),
    "hipMemsetAsync": lambda n: (1, size_t(n), None),
    "hipMemset2D": lambda n: (size_t(SIZE // 2), 1, size_t(n), size_t(1)),
    "hipMemset2DAsync": lambda n: (size_t(SIZE // 2), 1, size_t(n), size_t(1), None),
}


@pytest.mark.parametrize("function", WRITERS)
def test_what_the_host_writes_is_defined_to_the_byte(hip, function):
    address = hip.malloc(SIZE)
    hip.call(function, pointer(address + 3), *WRITERS[function](61))
    decide(hip, address, 3, lanes=61)
    with finding(f"{address + 64:#x}, which"):
        decide(hip, address, 4, lanes=61)


def test_rows_leave_what_is_between_them_undefined(hip):
    address = hip.malloc(SIZE)
    hip.call("hipMemset2D", pointer(address), size_t(64), 0, size_t(60), size_t(4))
    for row in range(4):
        decide(hip, address, 64 * row, lanes=60)
    with finding(f"{address + 64 + 60:#x}"):
        decide(hip, address, 64, lanes=61)


def test_memory_of_the_host_can_be_written_without_a_word(hip):
    address = ctypes.c_void_p()
    hip.call("hipHostMalloc", ctypes.byref(address), size_t(SIZE), 0)
    ctypes.memset(address.value, 0, SIZE)
    decide(hip, address.value, 0, lanes=64)


def test_a_copy_on_the_device_copies_what_is_undefined(hip):
    source, target = hip.malloc(SIZE), hip.malloc(SIZE)
    hip.call("hipMemset", pointer(source), 0, size_t(SIZE - 1))
    hip.call("hipMemset", pointer(target), 0, size_t(SIZE))
    hip.call("hipMemcpy", pointer(target + 10), pointer(source + 240), size_t(15), D2D)
    decide(hip, target, 0, lanes=64)
    hip.call("hipMemcpy", pointer(target + 10), pointer(source + 240), size_t(16), D2D)
    decide(hip, target, 0, lanes=25)
    with finding(f"{target + 25:#x}"):
        decide(hip, target, 25)


def test_new_memory_in_the_place_of_old_is_undefined(hip):
    address = hip.upload(np.zeros(SIZE, np.uint8))
    decide(hip, address)
    hip.call("hipFree", pointer(address))
    with finding("nothing had written"):
        decide(hip, hip.malloc(SIZE))


STORES = {
    "bytes": "((unsigned char*)to)[LANE] = LANE",
    "dwords of a quarter of the lanes": "if (LANE < 16) to[LANE] = LANE",
    "exchanges": "if (LANE < 16) __atomic_exchange_n(to + LANE, LANE, __ATOMIC_RELAXED)",
}


@pytest.mark.parametrize("store", STORES)
def test_what_a_kernel_writes_is_defined_for_the_next(hip, store):
    address = hip.malloc(SIZE)
    hip.run(f"KERNEL k(u32* out, u32* to) {{ {STORES[store]}; }}", 64, address)
    decide(hip, address, 0, lanes=64)
    with finding("nothing had written"):
        decide(hip, address, 64)


def test_workgroups_on_threads_write_parts_of_the_same_words(monkeypatch):
    monkeypatch.setenv("CKPROF_EMULATED_CHECKS", "uninitialised")
    monkeypatch.setenv("CKPROF_EMULATED_THREADS", "4")
    hip = Hip()
    groups, size = 509, 509 * 64
    write = "KERNEL k(u32* out, unsigned char* to) { to[LANE * 509 + GROUP] = 0; }"
    address = hip.malloc(size + 1)
    hip.run(write, 64, address, grid=(groups,))
    read = "KERNEL k(u32* out, const unsigned char* in) { if (in[GROUP * 64 + LANE]) out[LANE] = 1; }"
    hip.run(read, 64, address, grid=(groups,))
    with finding(f"{address + size:#x}"):
        decide(hip, address, size)


def test_an_atomic_sum_needs_something_to_add_to(hip):
    add = "KERNEL k(u32* out, u32* to) { __atomic_fetch_add(to + LANE, 1, __ATOMIC_RELAXED); }"
    address = hip.malloc(SIZE)
    hip.call("hipMemset", pointer(address), 0, size_t(SIZE))
    hip.run(add, 64, address)
    with finding("an atomic operation changes bytes of global memory that nothing has written"):
        hip.run(add, 64, hip.malloc(SIZE))


def test_what_an_exchange_returns_is_followed(hip):
    exchange = "__atomic_exchange_n(to + LANE, 1, __ATOMIC_RELAXED)"
    source = f"KERNEL k(u32* out, u32* to) {{ if ({exchange}) out[LANE] = 1; }}"
    with finding("the execution mask"):
        hip.run(source, 64, hip.malloc(SIZE))


def test_through_lds(hip):
    source = """KERNEL k(u32* out, const u32* in) {
        SHARED volatile u32 room[64];
        room[LANE] = in[LANE];
        __syncthreads_();
        if (room[63 - LANE] & MASK) out[LANE] = 1;
    }""".replace("__syncthreads_()", "__builtin_amdgcn_s_barrier()")
    address = hip.malloc(SIZE)
    hip.call("hipMemset2D", pointer(address), size_t(4), 0, size_t(3), size_t(64))
    hip.run(source.replace("MASK", "0xffffff"), 64, address)
    with finding("the execution mask"):
        hip.run(source.replace("MASK", "0x1000000"), 64, address)


#: a mask of lanes as loops keep it: what was there before counts for lanes that are off
MERGED = (
    'u32 v; asm volatile("s_andn2_b64 s[40:41], s[42:43], MASK\\n s_and_b64 s[44:45], exec, exec\\n"'
    ' "s_or_b64 s[40:41], s[40:41], s[44:45]\\n s_nop 4\\n v_cndmask_b32 %0, 0, 1, s[40:41]"'
    ' : "=v"(v) :: "s40", "s41", "s44", "s45", "scc"); if (v == 1) out[LANE] = v'
)
UNUSED = {
    "masks of lanes that are on": MERGED.replace("MASK", "exec"),
    "bits that one operand alone sets": MERGED.replace("MASK", "0"),
    "masked": "out[LANE] = in[LANE] & 0xffff",
    "shifted": "out[LANE] = in[LANE] << 16",
    "not chosen": "u32 v = in[LANE]; out[LANE] = LANE < 64 ? LANE : v",
    "overwritten": 'u32 v = in[LANE]; asm volatile("v_mov_b32 %0, 0" : "+v"(v)); out[LANE] = v',
    "a byte of a word": "out[LANE] = ((const unsigned char*)(in + LANE))[1]",
    "signed": "out[LANE] = ((const short*)(in + LANE))[0]",
    "the scalar half": "out[LANE] = in[7] & 0xffff",
}


@pytest.mark.parametrize("use", UNUSED)
def test_undefined_bytes_that_do_not_count_are_no_finding(hip, use):
    address = hip.malloc(SIZE)
    hip.call("hipMemset2D", pointer(address), size_t(4), 1, size_t(2), size_t(64))
    hip.run(f"KERNEL k(u32* out, const u32* in) {{ {UNUSED[use]}; }}", 64, address)


@pytest.mark.parametrize("how", ["s_andn2_b64 s[40:41], s[42:43], 0", "s_orn2_b64 s[40:41], s[42:43], -1"])
def test_masks_that_nothing_has_set(hip, how):
    mask = MERGED.replace("s_andn2_b64 s[40:41], s[42:43], MASK", how)
    with finding("the execution mask"):
        hip.run(f"KERNEL k(u32* out) {{ {mask.replace('s[44:45], exec, exec', 's[44:45], 0, 0')}; }}", 64)


@pytest.mark.parametrize("type_", ["char", "short"])
def test_a_sign_is_undefined_with_its_byte(hip, type_):
    source = f"KERNEL k(u32* out, const signed {type_}* in) {{ if (in[LANE] < -40) out[LANE] = 1; }}"
    with finding("the execution mask"):
        hip.run(source, 64, hip.malloc(SIZE))


RANGES = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(1, 40)), max_size=6)


@settings(max_examples=25, deadline=None)
@given(ranges=RANGES, at=st.integers(0, SIZE - 1))
def test_random_ranges(ranges, at):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CKPROF_EMULATED_CHECKS", "uninitialised")
        hip = Hip()
        address = hip.malloc(SIZE)  # reads the variable
    written = np.zeros(SIZE, bool)
    for begin, count in ranges:
        length = min(count, SIZE - begin)
        written[begin : begin + length] = True
        hip.call("hipMemset", pointer(address + begin), 0, size_t(length))
    if written[at]:
        decide(hip, address, at)
    else:
        with finding(f"{address + at:#x}"):
            decide(hip, address, at)
