"""Modules: code objects that programs load themselves, and launches of their kernels by name."""

import ctypes
import struct

import numpy as np
import pytest

from plugins.emulator.tests.device import hip as runtime
from plugins.emulator.tests.device.hip import Hip, HipError, bundle, code_object

pytestmark = [pytest.mark.amd]
ARCHS = ("gfx90a", "gfx942", "gfx950")
INVALID_IMAGE, FILE_NOT_FOUND, INVALID_HANDLE, NOT_FOUND = 200, 301, 400, 500
INVALID_FUNCTION, MOST_DYNAMIC_LDS = 98, 8
BUFFER_POINTER, BUFFER_SIZE, BUFFER_END = 1, 2, 3

SOURCE = """
struct S { unsigned short a; u64 b; };
KERNEL other(u32* out) { out[LANE] = 1; }
KERNEL k(u32* out, unsigned short first, S s, u32 last) {
  out[GROUP * 64 + LANE] = first + s.a + (u32)(s.b >> 32) + last + GROUP * 64 + LANE;
}
"""
#: behind the address: first at 8, s at 16 (its b at 24), last at 32
PACKED = "<QH6xH6xQI"
SUM = 7 + 50 + 3 + 1000


class Modules(Hip):
    """The functions of modules."""

    def load_module(self, image):
        module = ctypes.c_void_p()
        kept = ctypes.create_string_buffer(image, len(image))
        self.call("hipModuleLoadData", ctypes.byref(module), kept)
        return module

    def function(self, module, name):
        found = ctypes.c_void_p()
        self.call("hipModuleGetFunction", ctypes.byref(found), module, name.encode())
        return found

    def start(self, function, grid=1, block=64, lds=0, each=None, extra=None):
        shape = map(ctypes.c_uint, (grid, 1, 1, block, 1, 1, lds))
        self.call("hipModuleLaunchKernel", function, *shape, None, each, extra)

    def start_packed(self, function, data, **shape):
        """Launch with arguments that lie one behind the other."""
        block, size = ctypes.create_string_buffer(data, len(data)), ctypes.c_size_t(len(data))
        keys = (BUFFER_POINTER, ctypes.addressof(block), BUFFER_SIZE, ctypes.addressof(size), BUFFER_END)
        self.start(function, extra=(ctypes.c_void_p * 5)(*keys), **shape)


@pytest.fixture
def hip():
    return Modules()


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("wrapped", [False, True], ids=["elf", "bundle"])
def test_kernels_are_launched_with_arguments_in_both_forms(hip, arch, wrapped):
    code = code_object(SOURCE, arch)
    module = hip.load_module(bundle(code, arch) if wrapped else code)
    function = hip.function(module, "k")
    # one kernel is one function, however often a program asks
    assert hip.function(module, "k").value == function.value
    results, expected = np.zeros(192, np.uint32), list(range(SUM, SUM + 128)) + [0] * 64
    packed = hip.upload(results)
    hip.start_packed(function, struct.pack(PACKED, packed, 7, 50, 3 << 32, 1000), grid=2)
    assert hip.download(packed, 192).tolist() == expected

    class S(ctypes.Structure):
        _fields_ = (("a", ctypes.c_uint16), ("b", ctypes.c_uint64))

    each = hip.upload(results)
    values = (ctypes.c_uint64(each), ctypes.c_uint16(7), S(50, 3 << 32), ctypes.c_uint32(1000))
    hip.start(function, grid=2, each=(ctypes.c_void_p * 4)(*map(ctypes.addressof, values)))
    assert hip.download(each, 192).tolist() == expected


def test_modules_come_from_files_and_go(hip, tmp_path):
    path = tmp_path / "k.co"
    path.write_bytes(code_object(SOURCE, "gfx90a"))
    module = ctypes.c_void_p()
    # bytes behind the code object belong to nobody
    for data in (path.read_bytes(), path.read_bytes() + b"more"):
        path.write_bytes(data)
        hip.call("hipModuleLoad", ctypes.byref(module), str(path).encode())
        function = hip.function(module, "other")
        results = hip.upload(np.zeros(64, np.uint32))
        hip.start_packed(function, struct.pack("<Q", results))
        assert hip.download(results, 64).tolist() == [1] * 64
        hip.call("hipModuleUnload", module)
        for name, arguments in (
            ("hipModuleUnload", (module,)),
            ("hipModuleGetFunction", (ctypes.byref(ctypes.c_void_p()), module, b"other")),
        ):
            with pytest.raises(HipError, match="no such module is loaded") as caught:
                hip.call(name, *arguments)
            assert caught.value.code == INVALID_HANDLE
        with pytest.raises(HipError, match="no kernel of a module that is loaded") as caught:
            hip.start_packed(function, struct.pack("<Q", results))
        assert caught.value.code == INVALID_HANDLE


def test_memory_of_a_module_that_is_gone_is_no_longer_the_devices(hip):
    source = """
    DEVICE u32 table[64] = {5};
    KERNEL where(u64* out) { if (LANE == 0) *out = (u64)table; }
    KERNEL read(u32* out, const u32* from) { out[LANE] = from[LANE]; }"""
    first, second = (hip.load_module(code_object(source)) for _ in range(2))
    results = hip.upload(np.zeros(64, np.uint32))
    hip.start_packed(hip.function(first, "where"), struct.pack("<Q", results))
    (place,) = hip.download(results, 1, np.uint64).tolist()
    read = hip.function(second, "read")
    hip.start_packed(read, struct.pack("<QQ", results, place))
    assert hip.download(results, 2).tolist() == [5, 0]
    hip.call("hipModuleUnload", first)
    with pytest.raises(HipError, match="memory access fault: read"):
        hip.start_packed(read, struct.pack("<QQ", results, place))


@pytest.mark.parametrize(
    ("image", "code", "message"),
    [
        (lambda code: b"\x7fELG" + bytes(96), INVALID_IMAGE, "no offload bundle"),
        (lambda code: code[:18] + b"\x3e\0" + code[20:], INVALID_IMAGE, "no code object of an AMD GPU"),
        (lambda code: code[:40] + b"\xff" * 8 + code[48:], INVALID_IMAGE, "more than 1073741824 bytes"),
        (lambda code: code.replace(b"amdhsa.kernels", b"amdhsa.kernelz"), 0, ""),
        (lambda code: code_object(SOURCE, "gfx1100"), runtime.NO_BINARY, "machine 65, which is not emulated"),
        (lambda code: bundle(code, "gfx1100"), runtime.NO_BINARY, "gfx1100, which is not emulated"),
    ],
)
def test_images_that_cannot_be_loaded(hip, image, code, message):
    damaged = image(code_object(SOURCE))
    if not message:
        # it has no kernels then, and says so when one is asked for
        with pytest.raises(HipError, match="the module has no kernel k") as caught:
            hip.function(hip.load_module(damaged), "k")
        assert caught.value.code == NOT_FOUND
        return
    with pytest.raises(HipError, match=message) as caught:
        hip.load_module(damaged)
    assert caught.value.code == code
    assert hip.function(hip.load_module(code_object(SOURCE)), "k")


@pytest.mark.parametrize("cut", [20, 63, 200, 1000, -1])
def test_files_that_end_too_early(hip, tmp_path, cut):
    path = tmp_path / "k.co"
    path.write_bytes(code_object(SOURCE)[:cut])
    with pytest.raises(HipError, match=rf"{path}: the code object ends too early") as caught:
        hip.call("hipModuleLoad", ctypes.byref(ctypes.c_void_p()), str(path).encode())
    assert caught.value.code == INVALID_IMAGE
    missing = str(tmp_path / "missing.co")
    with pytest.raises(HipError, match=rf"{missing} cannot be read") as caught:
        hip.call("hipModuleLoad", ctypes.byref(ctypes.c_void_p()), missing.encode())
    assert caught.value.code == FILE_NOT_FOUND


def test_a_device_has_one_architecture(hip):
    hip.load_module(code_object(SOURCE, "gfx950"))
    with pytest.raises(HipError, match="the image has code for gfx942; the device is a gfx950") as caught:
        hip.load_module(code_object(SOURCE, "gfx942"))
    assert caught.value.code == runtime.NO_BINARY


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            struct.pack(PACKED, 0, 7, 50, 3, 1000)[:-1],
            "35 bytes of packed arguments; those of kernel k take 36",
        ),
        (bytes(4000), "4000 bytes of packed arguments; those of kernel k take 36"),
        (b"", "names no buffer of arguments|0 bytes of packed arguments"),
    ],
)
def test_packed_arguments_of_another_size(hip, data, message):
    function = hip.function(hip.load_module(code_object(SOURCE)), "k")
    with pytest.raises(HipError, match=message) as caught:
        hip.start_packed(function, data)
    assert caught.value.code == runtime.INVALID_CONFIGURATION


def test_lists_of_arguments_that_are_none(hip):
    function = hip.function(hip.load_module(code_object(SOURCE)), "k")
    pointers = ctypes.c_void_p * 3
    for message, each, extra in (
        ("arguments in two forms", pointers(), pointers(BUFFER_END)),
        ("names no buffer of arguments", None, pointers(BUFFER_END)),
        ("neither HIP_LAUNCH_PARAM_BUFFER_POINTER", None, pointers(77, 0, BUFFER_END)),
        ("0 bytes of packed arguments", None, None),
    ):
        with pytest.raises(HipError, match=message):
            hip.start(function, each=each, extra=extra)
    with pytest.raises(HipError, match="2000 work-items; the kernel takes up to 1024"):
        hip.start_packed(function, struct.pack(PACKED, 0, 7, 50, 3, 1000), block=2000)


def test_more_lds_than_64_kib_is_asked_for(hip):
    source = """
    extern SHARED u32 more[];
    KERNEL k(u32* out, u32 last) {
      if (LANE == 0) { more[last] = 77; more[0] = 5; }
      __builtin_amdgcn_s_barrier();
      out[LANE] = more[last] + more[0];
    }
    SHARED u32 fixed[16384];
    KERNEL full(u32* out) { fixed[LANE] = out[LANE]; out[LANE] = fixed[63 - LANE] + more[LANE]; }"""
    module = hip.load_module(code_object(source, "gfx950"))
    function, full = hip.function(module, "k"), hip.function(module, "full")
    results, size = hip.upload(np.zeros(64, np.uint32)), 160 * 1024
    arguments = struct.pack("<QI", results, size // 4 - 1)
    hip.start_packed(function, struct.pack("<QI", results, 16383), lds=65536)
    with pytest.raises(HipError, match="163840 bytes of dynamic LDS; more than 65536 take") as caught:
        hip.start_packed(function, arguments, lds=size)
    assert caught.value.code == runtime.INVALID_VALUE

    def allow(which, attribute, value):
        hip.call("hipFuncSetAttribute", which, ctypes.c_int(attribute), ctypes.c_int(value))

    allow(function, MOST_DYNAMIC_LDS, size)
    hip.start_packed(function, arguments, lds=size)
    assert hip.download(results, 64).tolist() == [82] * 64
    # one kernel's attribute is not another's, and counts with what it has by itself
    for which, attribute, value, message in (
        (
            function,
            MOST_DYNAMIC_LDS,
            size + 1,
            "163841 bytes of dynamic LDS; k can have up to 163840 on gfx950",
        ),
        (full, MOST_DYNAMIC_LDS, size, "full can have up to 98304"),
        (function, MOST_DYNAMIC_LDS, -1, "-1 bytes"),
        (function, 9, 5, "an attribute that the emulated device lacks"),
        (module, MOST_DYNAMIC_LDS, 5, "no library has such a kernel"),
    ):
        with pytest.raises(HipError, match=message):
            allow(which, attribute, value)
    allow(function, MOST_DYNAMIC_LDS, 1024)
    with pytest.raises(HipError, match="1028 bytes of dynamic LDS; the attribute of the kernel is 1024"):
        hip.start_packed(function, arguments, lds=1028)


def test_kernels_of_host_code_take_the_attribute_as_well(hip):
    kernel = hip.kernel(hip.load(SOURCE), "other")
    hip.call("hipFuncSetAttribute", kernel, ctypes.c_int(MOST_DYNAMIC_LDS), ctypes.c_int(65536))
    with pytest.raises(HipError, match="65537 bytes of dynamic LDS; other can have up to 65536 on gfx942"):
        hip.call("hipFuncSetAttribute", kernel, ctypes.c_int(MOST_DYNAMIC_LDS), ctypes.c_int(65537))


@pytest.mark.parametrize("check", ["races", "bounds"])
def test_checks_look_at_kernels_of_modules(monkeypatch, check):
    monkeypatch.setenv("CKPROF_EMULATED_CHECKS", check)
    hip = Modules()
    source = "KERNEL k(u32* out) { SHARED u32 s[128]; s[LANE] = LANE; out[LANE] = s[(LANE + 64) % 128]; }"
    function = hip.function(hip.load_module(code_object(source)), "k")
    results = hip.upload(np.zeros(100, np.uint32))
    with pytest.raises(HipError, match=f"{check}: .*") as caught:
        hip.start_packed(function, struct.pack("<Q", results), block=128)
    assert caught.value.code == runtime.LAUNCH_FAILURE
