"""The old library's kernels in traces and texts: device functions, type strings, instance strings."""

from __future__ import annotations

import ctypes
import ctypes.util
import re
from functools import cache
from typing import TYPE_CHECKING, Final

from ckprof.model.types import DataType
from ckprof.plugin.protocols import Sighting
from ckprof_plugins.consumers._old_ck.kernels import index_of, kernels_of
from ckprof_plugins.consumers._old_ck.symbols import kernels_of_symbol
from ckprof_plugins.extract.mangling import ManglingError, decode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof.plugin.protocols import KernelList
    from ckprof_plugins.consumers._old_ck.kernels import KernelIndex, OldKernel

_MANGLED: Final = re.compile(r"\b_Z[A-Za-z0-9_]+")
#: an operation of the library, with its arguments, anywhere in a text
_OPERATION: Final = re.compile(r"DeviceGroupedConv\w+<")


class ComposableKernel:
    """The library itself: what traces of any program show of its kernels."""

    id = "ck"
    label = "Composable Kernel: device functions and operations in traces and logs"

    def recognises(self, path: Path, head: bytes) -> bool:
        """Say that no file is the library's: it has no databases."""
        return False

    def sightings(self, text: str, lists: Sequence[KernelList]) -> Sequence[Sighting]:
        """Return what a text says about grouped convolutions of the old library."""
        index = index_of(tuple(lists))
        readable = _MANGLED.sub(lambda found: readable_name(found[0]), text)
        direction, dtype, kernels = kernels_of_symbol(readable, index)
        if direction:
            note = "the symbol says neither specialization nor dimensions" if len(kernels) > 1 else ""
            return [
                Sighting(
                    what="device function of the old library",
                    direction=direction,
                    dtype=DataType(dtype) if dtype else None,
                    lines=tuple(_line(kernel) for kernel in kernels),
                    note=note if kernels else "no list has a kernel with its numbers",
                )
            ]
        return [_named(name, index) for name in operations_in(readable)]


def operations_in(text: str) -> list[str]:
    """Return the operations with their arguments that a text has."""
    names = []
    for found in _OPERATION.finditer(text):
        depth = 0
        for position in range(found.end() - 1, len(text)):
            depth += {"<": 1, ">": -1}.get(text[position], 0)
            if depth == 0:
                names.append(text[found.start() : position + 1])
                break
    return names


def _named(name: str, index: KernelIndex) -> Sighting:
    """Return what is known of a type string or an instance string."""
    kernels = [kernel for family in index.elsewhere(name) for kernel in index.find(family, name)]
    what = "type string of an operation"
    if not kernels:
        own = kernels_of(name, "text", 0)
        if own and own[0][1].complete:
            what = "instance string of an operation"
            family, kernel = own[0]
            kernels = [
                one for one in index.find(family, kernel.names[0]) if dict(one.values) == dict(kernel.values)
            ]
    directions = {"Fwd": "fwd", "BwdData": "bwd_data", "BwdWeight": "bwd_weight"}
    return Sighting(
        what=what,
        direction=next(id_ for part, id_ in directions.items() if f"GroupedConv{part}" in name),
        lines=tuple(_line(kernel) for kernel in kernels),
        note="" if kernels else "no list has it",
    )


def _line(kernel: OldKernel) -> str:
    return kernel.source


@cache
def readable_name(mangled: str) -> str:
    """Return the readable form of a symbol; as it is where nothing can make one."""
    library = ctypes.util.find_library("stdc++") or ctypes.util.find_library("c++abi")
    if library:
        try:
            demangle = ctypes.CDLL(library).__cxa_demangle
        except (OSError, AttributeError):
            demangle = None
        if demangle is not None:
            demangle.restype = ctypes.c_void_p
            status = ctypes.c_int()
            address = demangle(mangled.encode(), None, None, ctypes.byref(status))
            if address:
                text = ctypes.string_at(address).decode(errors="replace")
                ctypes.CDLL(None).free(ctypes.c_void_p(address))
                return text
    try:
        return decode(mangled)
    except ManglingError:
        return mangled
