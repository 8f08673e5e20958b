"""Problems on which candidates are looked at beyond those that are asked for, and what is smaller than one.

A candidate has no fields whose boundaries could be known, so it is tried as kernels with usual tiles would
be, see ``ckprof hunt``: tails of tiles and vectors, steps of the main loop, splits, groups, windows, gaps
between lines, everything 1. The second problems of kernels come first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import islice, zip_longest
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ckprof.errors import InputError
from ckprof.model.architecture import architectures
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Operation
from ckprof.problems.choose import random_problems
from ckprof_plugins.hunt.boundaries import KernelBoundaries
from ckprof_plugins.hunt.findings import smaller_problems, weight_of
from ckprof_plugins.judge.operands import Place
from ckprof_plugins.pipelines.second_problems import second_convolutions
from ckprof_plugins.pipelines.vocabulary import Specialization

if TYPE_CHECKING:
    from ckprof.model.problem import Problem
    from ckprof_plugins.judge.operands import Task

#: boundaries of which a field says where they are, or that anything has
KINDS: Final = (
    "channels",
    "tiles",
    "loops",
    "splits",
    "groups",
    "batch",
    "windows",
    "degenerate",
    "images",
    "strides",
)
#: (m, n, k) of tiles that kernels have
_TILES: Final = ((16, 16, 16), (64, 64, 32), (128, 128, 64))
#: bytes that a vector of a kernel holds
_VECTOR_BYTES: Final = 16
#: lengths of tiles and vectors: a tail of one is looked for in fewer of them
_MODULI: Final = (4, 8, 16, 32, 64)
#: of all problems
_MOST: Final = 600
#: problems that the operation draws
_DRAWN: Final = 40


class Reached(NamedTuple):
    """A problem, and what it is at."""

    place: Place
    #: kind of boundary, and its formula or what it is
    kind: str
    formula: str


class _UsualKernel:
    """Stands for a kernel where boundaries are asked for its fields."""

    num_groups_to_merge, specialization = 1, Specialization.DEFAULT

    def __init__(self, task: Task, ndim: int, tile: tuple[int, int, int]) -> None:
        self.direction, self.layout, self.ndim = task.operation.id, task.layout, ndim
        self._tile = tile
        self._vector = max(1, _VECTOR_BYTES // task.types.result.properties.size_bytes)

    def fields(self) -> dict[str, Any]:
        """Return names as instances have them."""
        names = dict(zip(("tile_m", "tile_n", "tile_k"), self._tile, strict=True))
        vectors = dict.fromkeys(("vector_size_a", "vector_size_b", "vector_size_c"), self._vector)
        pads = dict.fromkeys(("pad_m", "pad_n", "pad_k"), True)
        images = {"tile_w": 16, "tile_h": 8, "in_vec": self._vector, "out_vec": self._vector}
        merged = {"num_groups_to_merge": 1, "nbatch": 4, "mma_tile_k": self._tile[2]}
        return {**names, **vectors, **pads, **images, **merged}


def reached(task: Task, usual: Any, seed: int, *, splits: bool) -> list[Reached]:
    """Return the problems to look at: second problems, then those at boundaries, mixed.

    :param usual: a problem of the operation, from which they differ in their sizes.
    :param splits: the candidate takes a number of splits.
    """
    found: dict[Place, Reached] = {}
    for place in _second(task, usual):
        found.setdefault(place, Reached(place, "second", "a second problem"))
    later = []
    for tile in _TILES:
        kernel: Any = _UsualKernel(task, usual.ndim, tile)
        boundaries = KernelBoundaries(kernel, usual, next(iter(architectures().values())), seed)
        for here in boundaries.places(KINDS):
            several = 2 if here.kind == "windows" else 1
            for problem, count in here.attempts[:several]:
                if count == 1 or (splits and count > 0):
                    later.append(Reached(Place(problem, count), here.kind, here.formula))
    draw = random.Random(seed)  # noqa: S311 - no secret
    later += [Reached(Place(problem), "random", "drawn") for problem in _drawn(task, usual, draw)]
    for one in _mixed(later, draw)[:_MOST]:
        if one.place.problem.unmet_by(task.layout) is None:
            found.setdefault(one.place, one)
    return [*found.values()]


def _mixed(places: Sequence[Reached], draw: random.Random) -> list[Reached]:
    """Return problems of all kinds in turn, so that the first ones are of every kind."""
    by_kind: dict[str, list[Reached]] = {}
    for one in draw.sample(places, len(places)):
        by_kind.setdefault(one.kind, []).append(one)
    rounds = zip_longest(*(by_kind[kind] for kind in sorted(by_kind)))
    return [one for some in rounds for one in some if one is not None]


def _drawn(task: Task, usual: Any, draw: random.Random) -> Iterator[Problem]:
    """Yield problems as the operation itself draws them."""
    if offers(task.operation, Operation.random_problem):
        for problem in islice(random_problems(task.operation, draw, usual.ndim), _DRAWN):
            yield _with_type_of(usual, problem)


def _second(task: Task, usual: Any) -> Iterator[Place]:
    if not hasattr(usual, "filter"):
        return
    kernel: Any = SimpleNamespace(
        ndim=usual.ndim, num_groups_to_merge=1, specialization=Specialization.DEFAULT
    )
    sums_outputs = task.operation.tensors[-1] == "input"
    for alternatives in second_convolutions(kernel, (1, 1), sums_outputs=sums_outputs):
        # the smaller ones as well: the largest takes a slow candidate long
        for problem in reversed([*alternatives]):
            yield Place(_with_type_of(usual, problem))


def _with_type_of(usual: Any, problem: Any) -> Any:
    """Return a convolution as one of the type that is asked for, with what is fused to it."""
    if type(usual) is type(problem):
        return problem
    own = {one.name: getattr(usual, one.name) for one in fields(usual) if not hasattr(problem, one.name)}
    return type(usual)(**{one.name: getattr(problem, one.name) for one in fields(problem)}, **own)


def weight(place: Place) -> float:
    """Return how large a problem is, for those who look for a smaller one."""
    return weight_of(place.problem, place.split_k)


def smaller(place: Place, task: Task) -> Iterator[Place]:
    """Yield problems with one size smaller, the smallest first."""
    found = []
    for _, (problem, splits) in smaller_problems(place.problem, place.split_k, _MODULI):
        try:
            if problem.unmet_by(task.layout) is None:
                found.append(Place(problem, splits))
        except InputError:
            continue
    yield from sorted(dict.fromkeys(found), key=weight)
