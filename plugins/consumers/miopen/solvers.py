"""MIOpen's solvers of convolutions: their names in databases, and which of them call Composable Kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

#: word of an algorithm's name -> letter of keys
_WORDS: Final = {"Fwd": "F", "BwdData": "B", "BwdWeights": "W"}
_ALGORITHM: Final = re.compile(r"miopenConvolution(Fwd|BwdData|BwdWeights)Algo([A-Z]\w*)")
_GROUPED: Final = re.compile(
    r"ConvHipImplicitGemm(?P<solid>3D)?Group(?P<way>Fwd|Bwd|Wrw)(?P<unit>Xdlops|Wmma)"
)
_WAYS: Final = {"Fwd": "F", "Bwd": "B", "Wrw": "W"}
#: algorithm of all solvers that call Composable Kernel
IMPLICIT_GEMM: Final = "ImplicitGEMM"


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names of solvers -> algorithm; names of those that the library no longer has."""

    solvers: dict[str, str]
    removed: frozenset[str]


@cache
def table() -> _Table:
    """Return the solvers of October 2024."""
    return msgspec.json.decode((files(__package__) / "solvers.json").read_bytes(), type=_Table)


@dataclass(frozen=True, slots=True)
class GroupedSolver:
    """A solver that runs kernels of Composable Kernel for grouped convolutions."""

    name: str
    letter: str
    ndim: int
    #: matrix instructions of its kernels: ``Xdlops`` or ``Wmma``
    unit: str


@cache
def grouped_solver(name: str) -> GroupedSolver | None:
    """Return the solver of a name, if it is such a one."""
    found = _GROUPED.fullmatch(name)
    if found is None:
        return None
    return GroupedSolver(name, _WAYS[found["way"]], 3 if found["solid"] else 2, found["unit"])


def solver_name(letter: str, ndim: int) -> str:
    """Return the name of the solver of a direction."""
    way = next(way for way, other in _WAYS.items() if other == letter)
    return f"ConvHipImplicitGemm{'3D' if ndim == 3 else ''}Group{way}Xdlops"


@cache
def algorithm_parts(text: str) -> tuple[str, str]:
    """Return letter and name of an algorithm such as ``miopenConvolutionFwdAlgoGEMM``; empty for another."""
    found = _ALGORITHM.fullmatch(text)
    return (_WORDS[found[1]], found[2]) if found else ("", "")


def algorithm_text(letter: str, name: str = IMPLICIT_GEMM) -> str:
    """Return how find-dbs spell an algorithm."""
    word = next(word for word, other in _WORDS.items() if other == letter)
    return f"miopenConvolution{word}Algo{name}"


@cache
def algorithm_of(solver: str) -> str | None:
    """Return the algorithm of a solver; ``None`` for an unknown one."""
    if grouped_solver(solver) is not None:
        return IMPLICIT_GEMM
    return table().solvers.get(solver)
