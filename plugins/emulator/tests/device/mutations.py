"""Mutated code objects, each loaded and launched by a process of its own: errors or results, no crash.

``python mutations.py LIBRARY CODE_OBJECT COUNT SEED`` prints one line of JSON: how many processes ended how,
and the seeds and last words of those that crashed. It needs Python alone, and runs below a sanitizer.
"""

import ctypes
import json
import os
import random
import struct
import sys
from collections import Counter
from pathlib import Path

#: seconds that one may take
_PATIENCE = 60
_HEAD = b"__CLANG_OFFLOAD_BUNDLE__"
_NAME = b"hipv4-amdgcn-amd-amdhsa--gfx942"
_BOUNDS = (
    0,
    1,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
)


def interesting(code):
    """Return where what a loader reads begins and ends: headers, symbols, names, notes, descriptors."""
    phoff, shoff = struct.unpack_from("<QQ", code, 32)
    phnum, _, shnum = struct.unpack_from("<HHH", code, 56)
    parts = [(0, 64), (phoff, phoff + 56 * phnum), (shoff, shoff + 64 * shnum)]
    for n in range(shnum):
        kind, _, _, offset, size = struct.unpack_from("<IQQQQ", code, shoff + 64 * n + 4)
        # dynamic symbols, names, relocations, notes; what is read and not run
        if kind in (11, 3, 4, 7) or (kind == 1 and size <= 256):
            parts.append((offset, offset + max(size, 1)))
    return parts


def mutated(code, draw):
    """Return a bundle whose code object, or whose own table, is changed in some places."""
    data = bytearray(code)
    parts = interesting(code)
    for _ in range(draw.choice((1, 1, 2, 4))):
        begin, end = draw.choice(parts) if draw.random() < 0.9 else (0, len(data))
        place = draw.randrange(begin, max(end, begin + 1))
        size = draw.choice((1, 2, 4, 8))
        value = draw.choice(_BOUNDS) if draw.random() < 0.6 else draw.getrandbits(64)
        match draw.randrange(8):
            case 0:
                del data[place:]
            case 1:
                del data[place : place + size]
            case 2:
                data[place:place] = draw.randbytes(size)
            case 3:
                data[place : place + 1] = (
                    bytes([data[place] ^ 1 << draw.randrange(8)]) if place < len(data) else b""
                )
            case _:
                place -= place % size if draw.random() < 0.7 else 0
                data[place : place + size] = (value % (1 << 8 * size)).to_bytes(size, "little")
    begin = 4096
    table = struct.pack("<QQQQ", 1, begin, len(data), len(_NAME)) + _NAME
    bundle = bytearray((_HEAD + table).ljust(begin, b"\0") + data)
    if draw.random() < 0.15:
        place = draw.randrange(len(_HEAD) + len(table))
        bundle[place : place + 8] = draw.choice(_BOUNDS).to_bytes(8, "little")
    return bytes(bundle)


def load_and_launch(library, bundle):
    """Return what the runtime says of a launch of the kernel ``k``; empty if it ran."""
    kept = ctypes.create_string_buffer(bundle, len(bundle))
    wrapper = ctypes.create_string_buffer(struct.pack("<IIQQ", 0x48495046, 1, ctypes.addressof(kept), 0), 24)
    register = library["__hipRegisterFatBinary"]
    register.restype = ctypes.c_void_p
    module = ctypes.c_void_p(register(wrapper))
    handle = ctypes.create_string_buffer(8)
    library["__hipRegisterFunction"](
        module, handle, b"k", b"k", ctypes.c_uint32(0), None, None, None, None, None
    )
    out = ctypes.c_void_p()
    assert library.hipMalloc(ctypes.byref(out), ctypes.c_size_t(1 << 16)) == 0
    # as many as metadata can ask for, each as large as it can ask for
    block = ctypes.create_string_buffer(struct.pack("<Q", out.value or 0), 1 << 20)
    pointers = (ctypes.c_void_p * 4096)(*[ctypes.addressof(block)] * 4096)
    library.hipGetErrorString.restype = ctypes.c_char_p

    class Dim3(ctypes.Structure):
        _fields_ = (("x", ctypes.c_uint32), ("y", ctypes.c_uint32), ("z", ctypes.c_uint32))

    launch = library.hipLaunchKernel
    launch.argtypes = [*(ctypes.c_void_p, Dim3, Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)]
    code = launch(ctypes.addressof(handle), Dim3(2, 1, 1), Dim3(64, 1, 1), pointers, 0, None)
    return library.hipGetErrorString(code).decode() if code else ""


def main(path, code_path, count, seed):
    """Run the mutations, and print what became of them."""
    os.environ |= {"CKPROF_EMULATED_BUDGET": "20000", "CKPROF_EMULATED_THREADS": "1"}
    library = ctypes.CDLL(path, os.RTLD_LOCAL | os.RTLD_NOW)
    code = Path(code_path).read_bytes()
    ended = Counter()
    crashes = {}
    for number in range(int(seed), int(seed) + int(count)):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writer, 2)
            try:
                text = load_and_launch(library, mutated(code, random.Random(number)))
                good = (text.isascii() and text.isprintable()) or "\n" in text
                os.write(writer, b"" if good else b"unprintable: " + text.encode()[:200])
                os._exit((3 if text else 2) if good else 4)
            except BaseException as exc:
                os.write(writer, repr(exc).encode())
                os._exit(5)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            said = stream.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        ended[{2: "ran", 3: "error"}.get(status, "crash")] += 1
        if status not in (2, 3):
            crashes[number] = f"{status}: {said.decode(errors='replace')[-3000:]}"
    print(json.dumps({**ended, "crashes": crashes}))


if __name__ == "__main__":
    main(*sys.argv[1:])
