"""MIOpen's solvers and algorithms, and since and until when the library has them.

Months are those of the library's sources, ``YYYY-MM``, which compare as texts. Sources: the registry of
ROCm/MIOpen at 2d1fd99 (October 2024) and of ROCm/rocm-libraries up to September 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import prod
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from ckprof_plugins.consumers.miopen.keys import MiopenKey
    from ckprof_plugins.directions._convolution.problem import ConvProblem

#: month of the last sources that the table of solvers covers
SOLVERS_UNTIL: Final = "2026-09"
#: month of the sources whose kernels the lists that ship have
KERNELS_UNTIL: Final = "2025-11"
_MONTH: Final = re.compile(r"20\d\d-(?:0[1-9]|1[0-2])")
_VERSION: Final = re.compile(r"(\d+)[._](\d+)[._]\d+(?!\d)")
#: last version (major, minor) whose solvers are all those of 2024, and a month in which it was released
_OLD_VERSION: Final = (3, 4), "2025-04"

#: word of an algorithm's name -> letter of keys
_WORDS: Final = {"Fwd": "F", "BwdData": "B", "BwdWeights": "W"}
_ALGORITHM: Final = re.compile(r"miopenConvolution(Fwd|BwdData|BwdWeights)Algo([A-Z]\w*)")
_GROUPED: Final = re.compile(
    r"ConvHipImplicitGemm(?P<solid>3D)?Group(?P<way>Fwd|Bwd|Wrw)(?P<unit>Xdlops|Wmma)"
)
_WAYS: Final = {"Fwd": "F", "Bwd": "B", "Wrw": "W"}
#: algorithm of all solvers that call Composable Kernel
IMPLICIT_GEMM: Final = "ImplicitGEMM"
#: how solvers are called; the commas of template arguments are dashes
_NAME: Final = re.compile(r"[A-Z]\w+(?:<\d+(?:-\d+)*>)?")


class Solver(msgspec.Struct, frozen=True, array_like=True):
    """What the table says of a solver."""

    #: ``None`` for solvers that the library of October 2024 already lacked
    algorithm: str | None
    #: first month that has it; empty: since 2024 or before
    since: str = ""
    #: first month that lacks it; empty: none
    until: str = ""


@cache
def solvers() -> Mapping[str, Solver]:
    """Return the solvers by name."""
    return msgspec.json.decode((files(__package__) / "solvers.json").read_bytes(), type=dict[str, Solver])


def month_of(version: str) -> str:
    """Return the latest month that a version may be of.

    :param version: a month, or a version such as ``3.2.0.5f2ae8c``.
    :returns: empty where the version does not say it: versions from 3.5 on cover the changes of 2026.
    """
    if _MONTH.fullmatch(version):
        return version
    found = _VERSION.match(version)
    last, month = _OLD_VERSION
    return month if found and (int(found[1]), int(found[2])) <= last else ""


@cache
def _new_names() -> re.Pattern[bytes]:
    names = [name for name, solver in solvers().items() if solver.since]
    return re.compile(
        rb"(?:\b(?:%s)[:,])|\d_(?:g\d+_)?cxTF32=|x[FBW]xTF32=" % "|".join(map(re.escape, names)).encode()
    )


def is_of_2026(data: bytes) -> bool:
    """Say whether a database has a solver or a key that no library before 2026 has."""
    return _new_names().search(data) is not None


def solver_fault(name: str, month: str, is_new: bool) -> tuple[bool, str]:
    """Return whether the library certainly lacks a solver, and what there is to say; empty if nothing is.

    :param month: of the library; empty where it is not known.
    :param is_new: whether the database has what no library before 2026 has.
    """
    solver = solvers().get(name)
    if grouped_solver(name) is not None:
        return False, ""
    if solver is None:
        if not _NAME.fullmatch(name) or (month and month <= SOLVERS_UNTIL):
            return True, f"no solver is called {name}"
        return False, f"no solver up to {SOLVERS_UNTIL} is called {name}: perhaps the database is newer"
    if solver.algorithm is None:
        return True, f"{name} was removed from the library"
    if solver.until and (month >= solver.until if month else is_new):
        message = f"{name} was removed from the library by {solver.until}"
        return bool(month), message if month else f"{message}: later versions skip the entry"
    if month < solver.since and month:
        return True, f"{name} is in versions from {solver.since} on, not in {month}"
    return False, ""


@dataclass(frozen=True, slots=True)
class GroupedSolver:
    """A solver that runs kernels of Composable Kernel for grouped convolutions."""

    name: str
    letter: str
    ndim: int
    #: matrix instructions of its kernels by the name of the solver: ``Xdlops`` or ``Wmma``. Since 2026 those
    #: called ``Xdlops`` run kernels of both kinds
    unit: str


@cache
def grouped_solver(name: str) -> GroupedSolver | None:
    """Return the solver of a name, if it is such a one."""
    found = _GROUPED.fullmatch(name)
    if found is None:
        return None
    return GroupedSolver(name, _WAYS[found["way"]], 3 if found["solid"] else 2, found["unit"])


def solver_name(key: MiopenKey) -> str:
    """Return the name of the solver that runs kernels of Composable Kernel for a key."""
    ways = {letter: way for way, letter in _WAYS.items()}
    return f"ConvHipImplicitGemm{'3D' if key.ndim == 3 else ''}Group{ways[key.letter]}Xdlops"


@cache
def algorithm_parts(text: str) -> tuple[str, str]:
    """Return letter and name of an algorithm such as ``miopenConvolutionFwdAlgoGEMM``; empty for another."""
    found = _ALGORITHM.fullmatch(text)
    return (_WORDS[found[1]], found[2]) if found else ("", "")


def algorithm_text(letter: str) -> str:
    """Return how find-dbs spell the algorithm of solvers that call Composable Kernel."""
    words = {other: word for word, other in _WORDS.items()}
    return f"miopenConvolution{words[letter]}Algo{IMPLICIT_GEMM}"


def algorithm_of(solver: str) -> str | None:
    """Return the algorithm of a solver; ``None`` where it is not known."""
    if grouped_solver(solver) is not None:
        return IMPLICIT_GEMM
    known = solvers().get(solver)
    return known.algorithm if known else None


#: largest length, stride, count or size that other kernels take than those for large tensors
_LARGEST: Final = (1 << 31) - 1
#: first month -> what is compared with it (rocm-libraries PR 9427, 10043, 11585)
GATE_STRIDES, GATE_ELEMENTS, GATE_BYTES = "2026-07", "2026-08", "2026-09"
#: solvers whose kernels address bytes with 32 bits (PR 9568)
_DYNAMIC: Final = re.compile(r"ConvAsmImplicitGemmGTCDynamic(?:Fwd|Bwd|Wrw)XdlopsNHWC")


def large_tensor(problem: ConvProblem, letter: str, size: int, month: str) -> str:
    """Return why kernels for large tensors alone serve a problem; empty if others do as well.

    Tensors of keys are dense, so the largest stride is that of the batch, or of output channels.

    :param size: bytes of an element.
    :param month: of the library.
    """
    channels = {"input": problem.in_channels, "output": problem.out_channels}
    lengths = {"input": problem.input, "output": problem.output}
    strides = {name: problem.groups * count * prod(lengths[name]) for name, count in channels.items()}
    counts = {name: problem.batch * stride for name, stride in strides.items()}
    strides["weight"] = problem.in_channels * prod(problem.filter)
    counts["weight"] = strides["weight"] * problem.groups * problem.out_channels
    for name, count in counts.items():
        if month >= GATE_BYTES and count * size > _LARGEST:
            return f"the {name} has {count * size} bytes, more than {_LARGEST}"
        if month >= GATE_ELEMENTS and letter == "W" and count > _LARGEST:
            return f"the {name} has {count} elements, more than {_LARGEST}"
        if month >= GATE_STRIDES and strides[name] > _LARGEST:
            return f"the {name} has a stride of {strides[name]}, more than {_LARGEST}"
    return ""


def is_gated(solver: str, kernel: str = "") -> bool:
    """Say whether a solver's kernel is not for large tensors, and the library therefore refuses them."""
    if grouped_solver(solver) is not None:
        return "Large_Tensor" not in kernel
    return _DYNAMIC.fullmatch(solver) is not None
