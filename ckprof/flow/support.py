"""Which kernels support which problems, asked of two libraries, and where they disagree."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError
from ckprof.model.problem import ConvProblem
from ckprof.plugin.protocols import ProblemSampler
from ckprof.run.support_queries import SupportQuery, query_library

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ckprof.flow.candidates import Candidate
    from ckprof.flow.kernel_library import BuiltLibrary
    from ckprof.model.problem import Problem
    from ckprof.plugin.protocols import Operation, ProblemSampler
from ckprof.run.support_queries import SupportAnswer

#: sizes that meet, and just miss, the conditions of kernels
_CHANNELS: Final = (1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32, 40, 60, 64, 96, 128)
_FILTERS: Final = (1, 1, 2, 3, 3, 5)
_SPLITS: Final = (1, 1, 1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportTable:
    """SupportAnswers of every kernel to every query."""

    queries: tuple[SupportQuery, ...]
    candidates: tuple[Candidate, ...]
    #: content key -> answers in the order of the queries
    answers: Mapping[str, Sequence[SupportAnswer]]
    #: the same of another library that models the first; ``None`` if none was asked
    model: Mapping[str, Sequence[SupportAnswer]] | None = None

    def supporters(self, index: int) -> int:
        """Return how many kernels support the query with that position."""
        return sum(answers[index].supported for answers in self.answers.values())

    def disagreements(self) -> list[tuple[Candidate, int]]:
        """Return kernel and position of each query that both libraries answer differently."""
        if self.model is None:
            return []
        return [
            (candidate, index)
            for candidate in self.candidates
            for index in range(len(self.queries))
            if self.answers[candidate.instance.key][index].supported
            is not self.model[candidate.instance.key][index].supported
        ]


def support_table(
    library: BuiltLibrary, queries: Sequence[SupportQuery], model: BuiltLibrary | None = None
) -> SupportTable:
    """Ask the kernels of a library, and of another one that models it.

    :raises ToolchainError: a library cannot be loaded.
    """
    answers = _ask(library, queries)
    modelled = _ask(model, queries) if model is not None else None
    candidates = tuple(
        candidate
        for candidate in library.built
        if candidate.instance.key in answers and (modelled is None or candidate.instance.key in modelled)
    )
    return SupportTable(queries=tuple(queries), candidates=candidates, answers=answers, model=modelled)


def _ask(library: BuiltLibrary, queries: Sequence[SupportQuery]) -> Mapping[str, Sequence[SupportAnswer]]:
    if library.path is None:
        return {}
    return query_library(library.path, library.recipe.arch, queries).kernels


def random_queries(
    count: int, ndim: int, seed: int, operation: Operation | None = None
) -> list[SupportQuery]:
    """Return problems of small sizes that are themselves well-formed, the same for the same seed.

    :param ndim: number of spatial dimensions, of convolutions.
    :param operation: what kernels compute; ``None`` for a convolution.
    """
    own = operation if isinstance(operation, ProblemSampler) else None
    draw = random.Random(seed)  # noqa: S311 - no secret
    queries: list[SupportQuery] = []
    while len(queries) < count:
        try:
            problem: Problem = (
                own.random_problem(draw) if own is not None else _random_convolution(draw, ndim)
            )
        except InputError:
            continue  # e.g. the filter does not fit into the image
        queries.append(SupportQuery(problem=problem, split_k=draw.choice(_SPLITS)))
    return queries


def for_kernels(queries: Sequence[SupportQuery], candidates: Sequence[Candidate]) -> list[SupportQuery]:
    """Return queries of the same sizes that are about what kernels compute, each kernel in turn.

    What is drawn is an operation's usual problem, to which kernels with further operands say nothing but no.
    """
    return [
        replace(query, problem=one.pipeline.default_problem(one.instance, query.problem))
        for query, one in zip(queries, cycle(candidates), strict=False)
    ]


def _random_convolution(draw: random.Random, ndim: int) -> ConvProblem:
    def axis(values: Sequence[int]) -> tuple[int, ...]:
        return tuple(draw.choice(values) for _ in range(ndim))

    # equal along all axes half of the time: some conditions are about all of them together
    shared = draw.random() < 0.5
    filters = (draw.choice(_FILTERS),) * ndim if shared else axis(_FILTERS)
    pads = (draw.choice((0, 0, 1)),) * ndim if shared else axis((0, 0, 1, 2))
    return ConvProblem(
        groups=draw.choice((1, 1, 2, 4)),
        batch=draw.choice((1, 2, 4, 5)),
        out_channels=draw.choice(_CHANNELS),
        in_channels=draw.choice(_CHANNELS),
        filter=filters,
        input=axis(range(5, 18)),
        strides=(draw.choice((1, 1, 2)),) * ndim if shared else axis((1, 2)),
        dilations=axis((1, 1, 2)),
        left_pads=pads,
        right_pads=pads if shared else axis((0, 0, 1)),
    )
