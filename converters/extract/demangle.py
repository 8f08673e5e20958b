"""Readable names of mangled ones: by the C++ runtime, else by a tool, else by our own decoder."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Final

from ckprof_converters.extract.mangling import decode

_RUNTIMES: Final = ("libstdc++.so.6", "libc++abi.so.1", "libc++.1.dylib")
_TOOLS: Final = ("llvm-cxxfilt", "c++filt")

#: mangled name -> readable one; ``None`` if this way cannot read it
Demangler = Callable[[str], "str | None"]


class RuntimeDemangler:
    """``__cxa_demangle`` of a C++ runtime library.

    :raises OSError: the library cannot be loaded.
    :raises AttributeError: it has no such function.
    """

    def __init__(self, library: str) -> None:
        # By its text: Python would mangle a name with two underscores itself.
        self._demangle = getattr(ctypes.CDLL(library), "__cxa_demangle")
        self._demangle.argtypes = (
            ctypes.c_char_p,
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.POINTER(ctypes.c_int),
        )
        self._demangle.restype = ctypes.c_void_p
        self._free = ctypes.CDLL(None).free
        self._free.argtypes = (ctypes.c_void_p,)
        self._free.restype = None

    def __call__(self, mangled: str) -> str | None:
        """Return the readable name; ``None`` if the runtime cannot read it."""
        status = ctypes.c_int()
        place = self._demangle(mangled.encode(), None, None, ctypes.byref(status))
        if status.value or not place:
            return None
        try:
            return ctypes.string_at(place).decode()
        finally:
            self._free(place)


@cache
def runtime_demangler() -> Demangler | None:
    """Return the demangler of the C++ runtime library; ``None`` where none can be loaded."""
    for name in _RUNTIMES:
        try:
            return RuntimeDemangler(name)
        except (OSError, AttributeError):
            continue
    return None


def tool_names(mangled: Sequence[str]) -> dict[str, str]:
    """Ask a command-line demangler for all names at once; those that it cannot read are left out."""
    for name in _TOOLS:
        tool = shutil.which(name)
        if tool is None:
            continue
        result = subprocess.run(
            [tool], input="\n".join(mangled) + "\n", capture_output=True, text=True, check=False, timeout=60
        )
        lines = result.stdout.splitlines()
        if result.returncode == 0 and len(lines) == len(mangled):
            return {key: text for key, text in zip(mangled, lines, strict=True) if key != text}
    return {}


def demangle_all(mangled: Iterable[str]) -> dict[str, str]:
    """Return the readable name of each mangled one.

    Older C++ runtimes do not know the half-precision type, so what one way cannot read is given to the next.

    :raises ManglingError: a name that no way can read.
    """
    runtime = runtime_demangler()
    found: dict[str, str] = {}
    left = []
    for name in mangled:
        text = runtime(name) if runtime is not None else None
        if text is None:
            left.append(name)
        else:
            found[name] = text
    if left:
        found |= tool_names(left)
    for name in left:
        if name not in found:
            found[name] = decode(name)
    return found
