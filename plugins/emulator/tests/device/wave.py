"""One wave of the emulated device, for tests: assembles instructions, executes them, returns its state."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from plugins.emulator.tests.device.tested_library import emulator_under_test

if TYPE_CHECKING:
    from numpy.typing import NDArray

ARCHITECTURES = ("gfx90a", "gfx942", "gfx950")
LANES = 64
ALL_LANES = (1 << LANES) - 1
#: fp32 denormals are kept and so are those of fp64 and fp16; what CK Tile's kernels ask for
USUAL_MODE = 0xF0 | 1 << 8 | 1 << 9
VCC, M0, EXEC = 106, 124, 126
#: of accumulation registers in ``State.vector``
ACC = 256
_ASSEMBLERS = ("llvm-mc-22", "llvm-mc-21", "llvm-mc-20", "llvm-mc-19", "llvm-mc")


class _CState(ctypes.Structure):
    _fields_ = (
        ("scalar", ctypes.c_uint32 * 128),
        ("scc", ctypes.c_uint32),
        ("mode", ctypes.c_uint32),
        ("lds", ctypes.c_void_p),
        ("lds_bytes", ctypes.c_uint32),
        ("scratch_lane_bytes", ctypes.c_uint32),
        ("scratch_buffer", ctypes.c_uint32),
        ("vector", ctypes.c_uint32 * LANES * 512),
    )


class _CRange(ctypes.Structure):
    _fields_ = (("begin", ctypes.c_uint64), ("bytes", ctypes.c_uint64))


def _no_words():
    return np.zeros(128, np.uint32)


def _no_lanes():
    return np.zeros((512, LANES), np.uint32)


@dataclass
class State:
    """Registers and LDS of a wave; all lanes are on at first."""

    scalar: NDArray[np.uint32] = field(default_factory=_no_words)
    #: ``vector[register, lane]``
    vector: NDArray[np.uint32] = field(default_factory=_no_lanes)
    lds: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    scc: bool = False
    mode: int = USUAL_MODE
    scratch_lane_bytes: int = 0
    #: first of four scalar registers that get the buffer of scratch, if there is any
    scratch_buffer: int = 96

    def __post_init__(self):
        self.exec = ALL_LANES

    @property
    def exec(self):
        return self.scalar64(EXEC)

    @exec.setter
    def exec(self, lanes):
        self.set_scalar64(EXEC, lanes)

    @property
    def vcc(self):
        return self.scalar64(VCC)

    def scalar64(self, number):
        return int(self.scalar[number]) | int(self.scalar[number + 1]) << 32

    def set_scalar64(self, number, value):
        self.scalar[number] = value & 0xFFFFFFFF
        self.scalar[number + 1] = value >> 32 & 0xFFFFFFFF

    def float32(self, register):
        return self.vector[register].view(np.float32)


class DeviceFault(Exception):
    """The wave ended with a fault; ``kind`` is its number from 1 on."""

    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


@cache
def assembler(arch):
    """Return an ``llvm-mc`` that knows an architecture; the test is skipped if there is none."""
    names = (os.environ.get("CKPROF_LLVM_MC"), *_ASSEMBLERS)
    for path in filter(None, (shutil.which(name) for name in names if name)):
        knows = subprocess.run(
            [path, "-triple=amdgcn", f"-mcpu={arch}"], input="", capture_output=True, text=True, check=False
        )
        if knows.returncode == 0 and "not a recognized processor" not in knows.stderr:
            return path
    pytest.skip(f"no llvm-mc that knows {arch}")


@cache
def assembled(arch, text):
    """Return the words of instructions, one per line."""
    ran = subprocess.run(
        [assembler(arch), "-triple=amdgcn-amd-amdhsa", f"-mcpu={arch}", "--show-encoding"],
        input=text + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    data = bytes(
        int(byte, 16)
        for line in re.findall(r"encoding: \[([^\]]*)\]", ran.stdout)
        for byte in line.split(",")
    )
    return tuple(np.frombuffer(data, np.uint32).tolist())


def disassembled(arch, words):
    """Return bytes and text of each instruction as the emulated device decodes it."""
    code = np.array(words, np.uint32)
    call = _library().ckprof_emulator_disassemble
    call.restype = ctypes.c_size_t
    call.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    text = ctypes.create_string_buffer(call(arch.encode(), code.ctypes.data, len(code), None, 0))
    call(arch.encode(), code.ctypes.data, len(code), text, len(text))
    lines = (line.split(" ", 1) for line in text.value.decode().splitlines())
    return [(int(size), line) for size, line in lines]


@cache
def _library():
    library = ctypes.CDLL(str(emulator_under_test()))
    library.ckprof_emulator_execute.argtypes = [
        ctypes.c_char_p,
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.POINTER(_CState),
        ctypes.c_size_t,
        ctypes.POINTER(_CRange),
        ctypes.c_size_t,
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
    ]
    return library


def execute(text, state=None, *, arch="gfx942", memory=()):
    """Execute instructions and an ``s_endpgm``, and return the state after them; the given one is changed.

    :param text: assembly, or words.
    :param memory: arrays that the wave may touch, at their own addresses.
    :raises DeviceFault: the wave does not come to its end.
    """
    state = state or State()
    execute_group(text, [state], arch=arch, memory=memory)
    return state


def raw_states(states):
    """Return the states of a workgroup's waves as the library takes them, and the memory of their LDS."""
    raws = (_CState * len(states))()
    lds = np.ascontiguousarray(states[0].lds)
    for raw, state in zip(raws, states, strict=True):
        ctypes.memmove(raw.scalar, np.ascontiguousarray(state.scalar).ctypes.data, 512)
        ctypes.memmove(raw.vector, np.ascontiguousarray(state.vector).ctypes.data, 512 * LANES * 4)
        raw.scc, raw.mode = int(state.scc), state.mode
        raw.scratch_lane_bytes = state.scratch_lane_bytes
        raw.scratch_buffer = state.scratch_buffer
    raws[0].lds, raws[0].lds_bytes = lds.ctypes.data, lds.nbytes
    return raws, lds


def raw_ranges(arrays):
    """Return the memory of arrays as the library takes it."""
    return (_CRange * len(arrays))(*(_CRange(array.ctypes.data, array.nbytes) for array in arrays))


def execute_group(text, states, *, arch="gfx942", memory=(), checks=None):
    """Execute the waves of a workgroup, whose LDS is that of the first state, and change their states.

    :param checks: names of checks, separated by commas.
    :returns: what the checks found.
    :raises DeviceFault: a wave does not come to its end.
    """
    words = list(assembled(arch, text) if isinstance(text, str) else text)
    code = np.array([*words, 0xBF810000], np.uint32)
    raws, lds = raw_states(states)
    ranges = raw_ranges([*memory, code])
    message = ctypes.create_string_buffer(1 << 16)
    status = _library().ckprof_emulator_execute(
        arch.encode(),
        code.ctypes.data,
        len(code),
        raws,
        len(raws),
        ranges,
        len(ranges),
        None if checks is None else checks.encode(),
        message,
        len(message),
    )
    if status:
        raise DeviceFault(status, message.value.decode())
    states[0].lds = lds
    for raw, state in zip(raws, states, strict=True):
        state.scalar = np.frombuffer(raw.scalar, np.uint32).copy()
        state.vector = np.frombuffer(raw.vector, np.uint32).reshape(512, LANES).copy()
        state.scc, state.mode = bool(raw.scc), raw.mode
    return message.value.decode().splitlines()
