"""How many kernels of each shipped list an API level can express, and what rejects the others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ckprof import Profiler
from ckprof.kernels.requests import InstanceQuery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckprof.kernels.candidates import Candidate

LISTS = Path(__file__).parents[3] / "conf"
#: folder -> operation
OPERATIONS = {
    "forward": "fwd",
    "backward_data": "bwd_data",
    "backward_weight": "bwd_weight",
    "gemm": "gemm",
}
#: lists of ``typestring`` hold the same kernels as those of ``profiler``; folders that are called after an
#: element-wise operation are not counted
SETS = ("tests", "profiler", "universal")
ARCH = "gfx942"


class Count(NamedTuple):
    """One list."""

    name: str
    kernels: int
    expressed: int
    #: rule -> kernels that it rejects first
    rejected: Counter[str]


def counts(level: str) -> list[Count]:
    """Count the kernels of the shipped lists."""
    found = []
    for name, candidates in shipped():
        first: Counter[str] = Counter()
        for one in candidates:
            unmet = one.pipeline.unmet_requirements(one.instance, ARCH, level)
            if unmet:
                first[unmet[0].rule] += 1
        found.append(Count(name, len(candidates), len(candidates) - first.total(), first))
    return found


def shipped() -> Iterator[tuple[str, tuple[Candidate, ...]]]:
    """Yield name and kernels of each shipped list without an element-wise operation."""
    profiler = Profiler()
    for folder, operation in OPERATIONS.items():
        for path in sorted(one for name in SETS for one in (LISTS / folder / name).glob("*.conf")):
            name = str(path.relative_to(LISTS).with_suffix(""))
            yield name, tuple(profiler.instances(InstanceQuery(conf=name, directions=operation)).candidates)
