"""Memory of two processes: who may write, where a tensor lies in its pages, and what is around them."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys

import numpy as np
import pytest

from ckprof.measure.worker.guards import GUARD_BYTE
from ckprof.python_child import module_folders
from ckprof_plugins.judge.stage import ALIGNMENT, Stage

PAGE = mmap.PAGESIZE


@pytest.mark.parametrize("size", [1, 60, 64, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE - 70])
@pytest.mark.parametrize("at_end", [False, True])
def test_a_tensor_begins_or_ends_with_its_pages(size, at_end):
    stage = Stage(size, writable=True, at_end=at_end)
    assert stage.mapped_bytes % PAGE == 0 and 0 <= stage.mapped_bytes - size < PAGE
    assert stage.offset % ALIGNMENT == 0
    behind = stage.mapped_bytes - stage.offset - size
    assert (0 <= behind < ALIGNMENT) if at_end else stage.offset == 0
    # what is written behind the tensor comes along, as far as the page reaches
    private = np.full(2 * PAGE + stage.mapped_bytes, GUARD_BYTE, np.uint8)
    stage.fill(private.ctypes.data)
    stage.tensor[...] = 7
    if behind:
        stage.pages[stage.offset + size] = 9
    stage.copy_with_rest(private.ctypes.data + PAGE)
    inside = private[PAGE : PAGE + size]
    assert (inside == 7).all() and (private[:PAGE] == GUARD_BYTE).all()
    assert private[PAGE + size] == (9 if behind else GUARD_BYTE)
    stage.wipe()
    assert (stage.tensor == GUARD_BYTE).all()
    stage.close()


_PROGRAM = """
import ctypes, os, sys
from ckprof_plugins.judge.mapped import mapped
descriptor, writable, at = int(sys.argv[1]), sys.argv[2] == "True", int(sys.argv[3])
what = sys.argv[4]
memory = mapped(descriptor, writable=writable)
libc = ctypes.CDLL(None)
libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
if what == "protect":
    print(libc.mprotect(ctypes.addressof(memory), len(memory), 3))
elif what == "shorten":
    try:
        os.ftruncate(descriptor, 0)
    except OSError:
        print("refused")
elif what == "read":
    print(ctypes.string_at(ctypes.addressof(memory) + at, 1)[0])
else:
    ctypes.memset(ctypes.addressof(memory) + at, 5, 1)
    print("written")
"""


@pytest.mark.parametrize(
    ("writable", "at", "what", "said"),
    [
        (False, 0, "read", f"{GUARD_BYTE}"),
        (False, 2 * PAGE - 1, "read", f"{GUARD_BYTE}"),
        (False, 2 * PAGE, "read", ""),
        (False, 1 << 22, "read", ""),
        # as far as an index of 32 bits that has overflown leads
        (False, 1 << 34, "read", ""),
        (False, -(1 << 34), "read", ""),
        (False, -1, "read", ""),
        (False, 0, "write", ""),
        (False, 0, "protect", "-1"),
        (False, 0, "shorten", "refused"),
        (True, 2 * PAGE - 1, "write", "written"),
        (True, 2 * PAGE, "write", ""),
        (True, 0, "shorten", "refused"),
    ],
)
def test_nothing_is_mapped_around_it_and_operands_cannot_be_written(writable, at, what, said):
    stage = Stage(PAGE + 5, writable=writable, at_end=True)
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *map(str, (stage.descriptor, writable, at, what))],
        capture_output=True,
        text=True,
        check=False,
        pass_fds=(stage.descriptor,),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(module_folders())},
    )
    assert ended.stdout.strip() == said
    assert (ended.returncode == 0) == bool(said)
    assert (stage.pages == 5).any() == (said == "written")
    stage.close()
