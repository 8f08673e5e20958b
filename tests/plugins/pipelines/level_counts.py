"""How many kernels of each shipped list an API level can express, and what rejects the others."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ckprof import Profiler
from ckprof.kernels.requests import InstanceQuery

LISTS = Path(__file__).parents[3] / "conf"
#: folder -> operation
OPERATIONS = {"forward": "fwd", "backward_data": "bwd_data", "backward_weight": "bwd_weight", "gemm": "gemm"}
#: lists of ``typestring`` hold the same kernels as those of ``profiler``
SETS = ("tests", "profiler", "universal")
ARCH = "gfx942"


class Count(NamedTuple):
    """One list."""

    name: str
    kernels: int
    expressed: int
    #: rule -> kernels that it rejects first
    rejected: Counter[str]


def counts(level):
    """Count the kernels of the shipped lists."""
    found = []
    for name, candidates in shipped():
        first = Counter()
        for one in candidates:
            unmet = one.pipeline.unmet_requirements(one.instance, ARCH, level)
            if unmet:
                first[unmet[0].rule] += 1
        found.append(Count(name, len(candidates), len(candidates) - first.total(), first))
    return found


@cache
def shipped(*, fused=False):
    """Return name and kernels of each shipped list.

    :param fused: those with an element-wise operation, in folders that are called after it, or those without.
    """
    profiler = Profiler()
    found = []
    for folder, operation in OPERATIONS.items():
        for path in sorted((LISTS / folder).glob("*/*/*.conf" if fused else "*/*.conf")):
            if path.parent.name in SETS:
                name = str(path.relative_to(LISTS).with_suffix(""))
                query = InstanceQuery(conf=name, directions=operation)
                found.append((name, tuple(profiler.instances(query).candidates)))
    return tuple(found)
