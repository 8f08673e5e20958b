"""The emulated HIP runtime in this process, for tests: compiles small kernels and calls its functions."""

import ctypes
import os
import shutil
import struct
import subprocess
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from plugins.emulator.tests.device.tested_library import emulator_under_test

_COMPILERS = ("clang++-22", "clang++-21", "clang++-20", "clang++-19", "clang++")
#: no header of HIP is needed
PREFIX = """\
#define KERNEL extern "C" __attribute__((global)) void
#define DEVICE __attribute__((device))
#define SHARED __attribute__((shared))
typedef unsigned u32;
typedef unsigned long u64;
#define LANE __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
"""
TO_DEVICE, TO_HOST = 1, 2
SUCCESS, INVALID_VALUE, OUT_OF_MEMORY, INVALID_CONFIGURATION = 0, 1, 2, 9
NO_BINARY, ILLEGAL_ADDRESS, TIMED_OUT, LAUNCH_FAILURE = 209, 700, 702, 719
_numbers = count()


@cache
def code_object(source, arch="gfx942", flags=()):
    """Return what a compiler makes of kernels."""
    compiler = os.environ.get("CKPROF_CLANG") or next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        pytest.skip("no clang compiles kernels")
    ran = subprocess.run(
        [
            *(compiler, "-x", "hip", "-nogpuinc", "-nogpulib", f"--offload-arch={arch}", "-O2", "-std=c++20"),
            *("--offload-device-only", "--no-gpu-bundle-output", *flags, "-c", "-o", "/dev/stdout", "-"),
        ],
        input=(PREFIX + source).encode(),
        capture_output=True,
        check=False,
    )
    if b"unsupported CUDA gpu architecture" in ran.stderr or b"invalid target ID" in ran.stderr:
        pytest.skip(f"this clang does not know {arch}")
    assert ran.returncode == 0, ran.stderr.decode()
    return ran.stdout


def bundle(code, arch):
    """Return a code object as compilers embed it in host code, behind an entry of the host."""
    names = (b"host-x86_64-unknown-linux-gnu-", f"hipv4-amdgcn-amd-amdhsa--{arch}".encode())
    head = 24 + 8 + sum(24 + len(name) for name in names)
    begin = (head + 4095) // 4096 * 4096
    table = struct.pack("<QQQ", begin, 0, len(names[0])) + names[0]
    table += struct.pack("<QQQ", begin, len(code), len(names[1])) + names[1]
    return (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 2) + table).ljust(begin, b"\0") + code


class _Dim3(ctypes.Structure):
    _fields_ = (("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32))


class HipError(Exception):
    """A function of the runtime returned an error."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Hip:
    """A device of its own: a copy of the library, which shares nothing with other copies."""

    def __init__(self):
        folder = Path(mkdtemp(prefix="emulated-"))
        copy = shutil.copy(emulator_under_test(), folder / f"copy{next(_numbers)}.so")
        self.library = ctypes.CDLL(str(copy), os.RTLD_LOCAL | os.RTLD_NOW)
        shutil.rmtree(folder)
        self.library.hipGetErrorString.restype = ctypes.c_char_p
        self._register = self.library["__hipRegisterFatBinary"]
        self._register.restype = ctypes.c_void_p
        self._kept = []

    def call(self, name, *arguments):
        """Call a function that returns an error code."""
        code = getattr(self.library, name)(*arguments)
        if code:
            raise HipError(code, self.library.hipGetErrorString(code).decode())

    def load_bytes(self, data):
        """Announce device code as the host code of a library does."""
        kept = ctypes.create_string_buffer(data, len(data))
        wrapper = struct.pack("<IIQQ", 0x48495046, 1, ctypes.addressof(kept), 0)
        held = ctypes.create_string_buffer(wrapper, len(wrapper))
        self._kept += [kept, held]
        return ctypes.c_void_p(self._register(held))

    def load(self, source, arch="gfx942", flags=()):
        """Compile kernels and announce them."""
        return self.load_bytes(bundle(code_object(source, arch, flags), arch))

    def kernel(self, module, name):
        """Announce a kernel; return what stands for it in host code."""
        handle = ctypes.create_string_buffer(1)
        self._kept.append(handle)
        self.library["__hipRegisterFunction"](
            module, handle, name.encode(), name.encode(), ctypes.c_uint32(0), None, None, None, None, None
        )
        return handle

    def variable(self, module, name):
        """Announce a variable; return what stands for it in host code."""
        handle = ctypes.create_string_buffer(8)
        self._kept.append(handle)
        self.library["__hipRegisterVar"](
            module, handle, name.encode(), name.encode(), 0, ctypes.c_size_t(8), 0, 0
        )
        return handle

    def malloc(self, size):
        """Return the address of new memory."""
        address = ctypes.c_void_p()
        self.call("hipMalloc", ctypes.byref(address), ctypes.c_size_t(size))
        assert address.value is not None
        return address.value

    def upload(self, values):
        """Return the address of a copy on the device."""
        address = self.malloc(values.nbytes)
        source = ctypes.c_void_p(values.ctypes.data)
        self.call("hipMemcpy", ctypes.c_void_p(address), source, ctypes.c_size_t(values.nbytes), TO_DEVICE)
        return address

    def download(self, address, count, dtype=np.uint32):
        """Return elements of the device."""
        values = np.empty(count, dtype)
        to = ctypes.c_void_p(values.ctypes.data)
        self.call("hipMemcpy", to, ctypes.c_void_p(address), ctypes.c_size_t(values.nbytes), TO_HOST)
        return values

    def launch(self, kernel, grid=(1, 1, 1), block=(64, 1, 1), *arguments, lds=0):
        """Run a kernel; integers are passed as pointers, anything else as the object of ctypes that it is."""
        held = [ctypes.c_uint64(value) if isinstance(value, int) else value for value in arguments]
        pointers = (ctypes.c_void_p * (len(held) + 1))(*(ctypes.addressof(value) for value in held), None)
        sizes = (_Dim3(*((*size, 1, 1)[:3])) for size in (grid, block))
        function = self.library.hipLaunchKernel
        function.argtypes = [
            *(ctypes.c_void_p, _Dim3, _Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
        ]
        self.call("hipLaunchKernel", ctypes.addressof(kernel), *sizes, pointers, lds, None)

    def run(self, source, results, *arguments, arch="gfx942", flags=(), **shape):
        """Run the kernel ``k`` of a source, whose first parameter are the results."""
        kernel = self.kernel(self.load(source, arch, flags), "k")
        address = self.upload(np.zeros(results, np.uint32))
        grid, block = shape.pop("grid", (1,)), shape.pop("block", (64,))
        self.launch(kernel, grid, block, address, *arguments, **shape)
        return self.download(address, results)
