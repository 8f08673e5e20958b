"""Tables of instructions with references: assembled together, each executed on 64 lanes of operands."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pytest

from tests.plugins.targets.hip.emulator.wave import LANES, USUAL_MODE, State, assembler, execute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

#: what destinations hold before
BEFORE: Final = 0xDEADBEEF
EDGES_32: Final = (0, 1, 2, 31, 32, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFF, 0xFFFFFF)
EDGES_32_HIGH: Final = (0x1000000, 0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFFF, 0xFFFFFF80, 0xFFFF0000)


@lru_cache(maxsize=None)
def assembled_each(arch: str, lines: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
    """Return the words of each instruction; one process for all.

    Marks between the instructions say which words are whose.
    """
    mark = "s_nop 0xf"
    text = "\n".join(f"{line}\n{mark}" for line in lines)
    ran = subprocess.run(
        [assembler(arch), "-triple=amdgcn-amd-amdhsa", f"-mcpu={arch}", "--show-encoding"],
        input=text + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    if "not a recognized processor" in ran.stderr:
        pytest.skip(f"this llvm-mc does not know {arch}")
    assert ran.returncode == 0, ran.stderr
    words: list[list[int]] = [[]]
    for line in ran.stdout.splitlines():
        if "encoding: [" not in line:
            continue
        data = bytes(int(byte, 16) for byte in line.split("encoding: [")[1].split("]")[0].split(","))
        if data == b"\x0f\x00\x80\xbf":
            words.append([])
        else:
            words[-1] += np.frombuffer(data, np.uint32).tolist()
    assert len(words) == len(lines) + 1
    return {line: tuple(found) for line, found in zip(lines, words, strict=False)}


def integers(seed: int) -> NDArray[np.uint32]:
    """Return edge values in an order of their own and random bits."""
    random = np.random.default_rng(seed)
    edges = random.permutation(np.array(EDGES_32 + EDGES_32_HIGH, np.uint32))
    drawn = random.integers(0, 1 << 32, LANES - len(edges), dtype=np.uint32)
    return random.permutation(np.concatenate([edges, drawn]))
