"""Commands where the address space is limited: what they need is said before that cannot be caught.

OpenBLAS, which numpy loads, ends the process where it gets no memory, and sends it SIGINT where it gets no
threads: both would be something else than they are.
"""

from __future__ import annotations

import mmap
import os
import resource
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

#: bytes above which threads of OpenBLAS have room
_LARGE: Final = 4 << 30
#: bytes that numpy maps with one thread, and what commands need beside it
_NEEDED: Final = 128 << 20


def prepare() -> None:
    """Have numpy do with one thread, or fail with :class:`MemoryError`, where the limit is small."""
    if 0 <= _limit() < _LARGE:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        sys.meta_path.insert(0, _BeforeNumpy)


def out_of_memory() -> str:
    """Return what is said where memory was not enough."""
    limit = _limit()
    why = f"the address space is limited to {limit >> 20} MiB (ulimit -v)" if limit >= 0 else "none is free"
    return f"out of memory: {why}; commands that read results or run kernels need {2 * _NEEDED >> 20} MiB"


def _limit() -> int:
    """Return the bytes that the process may map; -1 where nothing limits them."""
    return resource.getrlimit(resource.RLIMIT_AS)[0]


class _BeforeNumpy:
    """Finds no module, but looks for room before numpy is found."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "numpy":
            try:
                mmap.mmap(-1, _NEEDED).close()
            except OSError:
                raise MemoryError from None
        return None
