"""What the emulated HIP runtime refuses, what goes wrong in kernels, and the order of workgroups."""

import ctypes

import numpy as np
import pytest

from plugins.emulator.tests.device import hip as runtime
from plugins.emulator.tests.device.hip import Hip, HipError, bundle, code_object

pytestmark = [pytest.mark.amd]
COPY = "KERNEL k(u32* out) { out[GROUP * 64 + LANE] = GROUP * 64 + LANE; }"


@pytest.fixture
def hip():
    return Hip()


def failure(hip, source, *arguments, results=64, **shape):
    with pytest.raises(HipError) as caught:
        hip.run(source, results, *arguments, **shape)
    return caught.value


def test_a_memory_fault_names_kernel_and_instruction_and_ends_the_device(hip, capfd):
    error = failure(hip, "KERNEL k(u32* out, u64 far) { out[far + LANE] = 1; }", ctypes.c_uint64(1 << 30))
    assert error.code == runtime.ILLEGAL_ADDRESS
    for part in (
        "memory access fault: write of 4 bytes at 0x",
        "global_store_dword",
        "of kernel k",
        "wave 0",
    ):
        assert part in str(error)
    assert "emulated device: memory access fault" in capfd.readouterr().err
    with pytest.raises(HipError, match="memory access fault") as later:
        hip.malloc(4)
    assert later.value.code == runtime.ILLEGAL_ADDRESS


def test_a_hang_ends_with_the_budget(monkeypatch):
    monkeypatch.setenv("CKPROF_EMULATED_BUDGET", "3000000")
    error = failure(Hip(), "KERNEL k(volatile u32* out) { while (out[LANE] == 0) {} }")
    assert error.code == runtime.TIMED_OUT
    assert "no end after" in str(error)


def test_an_abort_is_a_failure_of_the_launch(hip):
    error = failure(hip, "KERNEL k(u32* out) { if (out[LANE] == 0) __builtin_trap(); }")
    assert error.code == runtime.LAUNCH_FAILURE
    assert "aborted" in str(error)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"block": (1025,)}, "1025 work-items; the kernel takes up to 1024"),
        ({"grid": (0,)}, "0 workgroups"),
        ({"lds": 65537}, "65537 bytes of LDS; gfx942 has 65536"),
    ],
)
def test_launches_that_no_device_takes_change_nothing(hip, shape, message):
    error = failure(hip, COPY, **shape)
    assert error.code == runtime.INVALID_CONFIGURATION
    assert message in str(error)
    assert hip.run(COPY, 64).tolist() == list(range(64))


def test_unreadable_device_code_is_met_by_the_launch(hip):
    good = bundle(code_object(COPY), "gfx942")
    for data, message in (
        (b"CCOB" + bytes(60), "compressed"),
        (b"__CLANG_OFFLOAD_BUNDLX__" + bytes(8), "no offload bundle"),
        (bundle(code_object(COPY), "gfx1100"), "no code for an architecture that is emulated"),
        (good.replace(b"\x7fELF\x02", b"\x7fELG\x02"), "no code object of an AMD GPU"),
        (bundle(code_object(COPY)[:3000], "gfx942"), "ends too early"),
    ):
        kernel = hip.kernel(hip.load_bytes(data), "k")
        with pytest.raises(HipError, match=message) as caught:
            hip.launch(kernel, (1,), (64,), 0)
        assert caught.value.code == runtime.NO_BINARY
    assert hip.run(COPY, 64).tolist() == list(range(64))


def test_a_missing_kernel_is_named(hip):
    kernel = hip.kernel(hip.load(COPY), "other")
    with pytest.raises(HipError, match="no kernel other"):
        hip.launch(kernel, (1,), (64,), 0)


def test_memory_is_bounded_and_copies_stay_within_it(monkeypatch):
    monkeypatch.setenv("CKPROF_EMULATED_MEMORY", "10000")
    hip = Hip()
    address = hip.malloc(8000)
    with pytest.raises(HipError) as caught:
        hip.malloc(2001)
    assert caught.value.code == runtime.OUT_OF_MEMORY
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    hip.call("hipMemGetInfo", ctypes.byref(free), ctypes.byref(total))
    assert (free.value, total.value) == (2000, 10000)
    data = np.zeros(8001, np.uint8)
    here, there = ctypes.c_void_p(data.ctypes.data), ctypes.c_void_p(address)
    for to, source, count, kind in (
        (there, here, 8001, runtime.TO_DEVICE),
        (here, there, 8001, runtime.TO_HOST),
        (there, here, 8, runtime.TO_HOST),
        (here, here, 8, runtime.TO_DEVICE),
    ):
        with pytest.raises(HipError) as caught:
            hip.call("hipMemcpy", to, source, ctypes.c_size_t(count), kind)
        assert caught.value.code == runtime.INVALID_VALUE
    hip.call("hipMemset2D", there, ctypes.c_size_t(100), 7, ctypes.c_size_t(50), ctypes.c_size_t(80))
    rows = hip.download(address, 8000, np.uint8).reshape(80, 100)
    assert (rows[:, :50] == 7).all()
    assert not (rows[:, 50:] == 7).any()
    with pytest.raises(HipError):
        hip.call("hipMemset2D", there, ctypes.c_size_t(100), 7, ctypes.c_size_t(50), ctypes.c_size_t(81))
    hip.call("hipFree", there)
    with pytest.raises(HipError):
        hip.call("hipFree", there)


def test_errors_are_injected_where_a_test_wants_them(monkeypatch):
    monkeypatch.setenv("CKPROF_EMULATED_FAIL", "hipMalloc:2:2")
    hip = Hip()
    hip.malloc(4)
    with pytest.raises(HipError) as caught:
        hip.malloc(4)
    assert caught.value.code == runtime.OUT_OF_MEMORY
    hip.malloc(4)
    assert hip.library.hipGetLastError() == runtime.OUT_OF_MEMORY
    assert hip.library.hipGetLastError() == runtime.SUCCESS


def test_wrong_settings_are_said_by_the_first_call(monkeypatch):
    monkeypatch.setenv("CKPROF_EMULATED_SEED", "many")
    with pytest.raises(HipError, match="CKPROF_EMULATED_SEED: many is no number"):
        Hip().malloc(4)


WAITS = """
KERNEL k(u32* out, u32* flags, u32 count) {
  // each workgroup waits for the one behind it
  if (LANE == 0 && GROUP + 1 < count)
    while (__atomic_load_n(&flags[GROUP + 1], __ATOMIC_ACQUIRE) == 0) __builtin_amdgcn_s_sleep(1);
  out[GROUP * 64 + LANE] = GROUP;
  __builtin_amdgcn_s_barrier();
  if (LANE == 0) __atomic_store_n(&flags[GROUP], 1u, __ATOMIC_RELEASE);
}"""


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("seed", ["0", "1", "12345"])
def test_workgroups_that_wait_for_later_ones_get_to_their_end(monkeypatch, threads, seed):
    monkeypatch.setenv("CKPROF_EMULATED_THREADS", threads)
    monkeypatch.setenv("CKPROF_EMULATED_SEED", seed)
    monkeypatch.setenv("CKPROF_EMULATED_BUDGET", "10000000")
    hip = Hip()
    flags = hip.upload(np.zeros(40, np.uint32))
    out = hip.run(WAITS, 40 * 64, flags, ctypes.c_uint32(40), grid=(40,))
    assert out.tolist() == [group for group in range(40) for _ in range(64)]


def test_a_seed_draws_the_order(monkeypatch):
    source = """
    KERNEL k(u32* out, u32* next) {
      if (LANE == 0) out[__atomic_fetch_add(next, 1u, __ATOMIC_RELAXED)] = GROUP;
    }"""
    monkeypatch.setenv("CKPROF_EMULATED_THREADS", "1")
    orders = []
    for seed in ("0", "1", "1", "2"):
        monkeypatch.setenv("CKPROF_EMULATED_SEED", seed)
        hip = Hip()
        orders.append(hip.run(source, 50, hip.upload(np.zeros(1, np.uint32)), grid=(50,)).tolist())
    assert orders[0] == list(range(50))
    assert orders[1] == orders[2] != orders[3]
    assert all(sorted(order) == orders[0] for order in orders)
