"""Which kernels support which problems, by the headers' own tests; whether a model of them agrees."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError, ToolchainError, UsageError
from ckprof.files import scratch_folder
from ckprof.kernels.library import build_library
from ckprof.measure.requests import SupportRequest
from ckprof.measure.worker.messages import AbiStatus, DeviceChoice, SupportQuery
from ckprof.measure.worker.process import WorkerFailure, WorkerProcess
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.model.recipe import Purpose
from ckprof.plugin.protocols import FurtherOperands, ProblemSampler

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.kernels.requests import BuildOptions
    from ckprof.measure.worker.messages import Support
    from ckprof.plugin.protocols import Operation
    from ckprof.session import Session


#: seconds for all queries to one kernel
_TIMEOUT_S: Final = 600.0


class SupportAnswer(msgspec.Struct, frozen=True):
    """What one kernel says to one query."""

    supported: bool
    #: why not, the condition that decides; empty if it is supported
    reason: str = ""


def query_library(
    library: Path, arch: str, queries: Sequence[SupportQuery]
) -> dict[str, tuple[SupportAnswer, ...]]:
    """Return content key -> answers of a kernel, of all kernels of a library, in the order of the queries.

    :param library: its path.
    :param arch: device to select or to model.
    :param queries: what to ask.
    :raises ToolchainError: the library cannot be loaded, or a kernel brings its process down.
    """
    kernels: dict[str, tuple[SupportAnswer, ...]] = {}
    with scratch_folder() as folder:
        worker = WorkerProcess(Path(folder))
        remote = RemoteLibrary(worker)
        try:
            for key in remote.open(library, DeviceChoice(arch=arch)).keys:
                kernels[key] = tuple(map(_answer, remote.support(key, queries, _TIMEOUT_S)))
        except WorkerFailure as failure:
            raise ToolchainError(f"{library}: cannot be asked: {failure}") from failure
        finally:
            worker.kill()
    return kernels


def _answer(support: Support) -> SupportAnswer:
    unmet = support.unmet_requirements
    return SupportAnswer(supported=support.status is AbiStatus.OK, reason=unmet[0].message if unmet else "")


_SPLITS: Final = (1, 1, 1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportTable:
    """Answers of every kernel to every query."""

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
    return query_library(library.path, library.recipe.arch, queries)


def random_queries(count: int, ndim: int, seed: int, operation: Operation) -> list[SupportQuery]:
    """Return problems of small sizes that are themselves well-formed, the same for the same seed.

    :param ndim: number of spatial dimensions, 0 for operations that have none.
    :param operation: what kernels compute.
    :raises UsageError: it invents no problems.
    """
    if not isinstance(operation, ProblemSampler):
        if count:
            raise UsageError(f"{operation.id} has no random problems")
        return []
    draw = random.Random(seed)  # noqa: S311 - no secret
    queries: list[SupportQuery] = []
    while len(queries) < count:
        try:
            problem = operation.random_problem(draw, ndim)
        except InputError:
            continue  # e.g. the filter does not fit into the image
        queries.append(SupportQuery(problem=problem, split_k=draw.choice(_SPLITS)))
    return queries


def for_kernels(queries: Sequence[SupportQuery], candidates: Sequence[Candidate]) -> list[SupportQuery]:
    """Return queries of the same sizes that are about what kernels compute, each kernel in turn.

    What is drawn is an operation's usual problem, to which kernels with further operands say nothing but no.
    """
    return [
        replace(query, problem=candidate.pipeline.default_problem(candidate.instance, query.problem))
        for query, candidate in zip(queries, cycle(candidates), strict=False)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportReport:
    """What they answer."""

    library: BuiltLibrary
    #: ``None`` when no kernel could be built
    table: SupportTable | None
    #: how many of the table's first queries are not random
    given: int

    @property
    def succeeded(self) -> bool:
        """False if library and model differ, or no kernel supports a given problem."""
        if self.table is None or self.table.disagreements():
            return False
        return all(self.table.supporters(index) for index in range(self.given))


def check_support(session: Session, request: SupportRequest) -> SupportReport:
    """Build the kernels and ask them; nothing is run.

    :raises CkprofError: no toolchain, or a library cannot be loaded.
    """
    selection, options = request.selection, request.build
    operation = session.registry.operation(selection.direction)
    ndim = selection.candidates[0].instance.ndim
    drawn = random_queries(request.random, ndim, request.seed, operation)
    if isinstance(operation, FurtherOperands):
        drawn = for_kernels(drawn, selection.candidates)
    queries = [*request.queries, *drawn]
    target = session.target(options.target)

    def built(how: BuildOptions) -> BuiltLibrary:
        return build_library(
            session, selection.candidates, how, Purpose.SUPPORT_CHECK, keep_invalid=selection.keep_invalid
        )

    library = built(replace(options, target=target.id))
    given = len(request.queries)
    embedded = next((registered for registered in session.registry.targets if registered.embedded), None)
    model: BuiltLibrary | None = None
    if request.model and not target.embedded and embedded is not None:
        # the same kernels at the same level, for the device that the target builds for
        model = built(
            replace(
                options,
                target=embedded.id,
                api_level=library.recipe.api_level,
                arch=library.recipe.arch,
                compiler=None,
                device="",
                build_dir=None,
            )
        )
    if library.path is None:
        return SupportReport(library=library, table=None, given=given)
    return SupportReport(library=library, table=support_table(library, queries, model), given=given)


def support_answers(
    session: Session, selection: Selection, build: BuildOptions, queries: Iterable[SupportQuery]
) -> Mapping[str, Sequence[SupportAnswer]]:
    """Return content key -> answers of a kernel, in the order of the queries.

    Kernels that do not compile are missing.
    """
    request = SupportRequest(selection=selection, build=build, queries=tuple(queries), model=False)
    table = check_support(session, request).table
    return table.answers if table is not None else {}
