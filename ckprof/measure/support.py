"""What kernels of a built library say without being run: whether they support problems, and their strings.

``instance_string`` in Python and ``get_instance_string`` in C++ must give one text. Reports show the first,
programs that link the library see the second: where they differ, the family is wrong.
"""

from __future__ import annotations

import random
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import PluginError, ToolchainError, UsageError
from ckprof.files import scratch_folder, write_atomically
from ckprof.kernels.fitting import needed_for
from ckprof.kernels.library import build_library
from ckprof.measure.requests import SupportRequest
from ckprof.measure.worker.messages import AbiStatus, DeviceChoice, SupportQuery
from ckprof.measure.worker.process import WorkerFailure, WorkerProcess
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.model.recipe import Purpose
from ckprof.model.strings.rendering import StringError
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Operation
from ckprof.problems.choose import random_problems

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.kernels.requests import BuildOptions
    from ckprof.measure.requests import RunRequest
    from ckprof.measure.worker.messages import Support
    from ckprof.model.strings.grammar import StringGrammar
    from ckprof.session import Session


#: seconds for all queries to one kernel
_TIMEOUT_S: Final = 600.0


@contextmanager
def opened_library(
    library: Path, device: DeviceChoice | None, variables: Mapping[str, str] | None = None
) -> Iterator[tuple[RemoteLibrary, tuple[str, ...]]]:
    """Have a worker with a library, and the keys of its kernels; a lost worker is raised as it is.

    :param variables: environment variables that its device reads.
    """
    with scratch_folder() as folder:
        worker = WorkerProcess(Path(folder), variables)
        try:
            remote = RemoteLibrary(worker)
            yield remote, remote.open(library, device).keys
        finally:
            worker.kill()


def query_library(
    library: Path | None, arch: str, queries: Sequence[SupportQuery]
) -> dict[str, tuple[Support, ...]]:
    """Return content key -> answers of a kernel, of all kernels of a library, in the order of the queries.

    :param library: its path; ``None`` where nothing could be built: nothing answers.
    :param arch: device to select or to model.
    :param queries: what to ask.
    :raises ToolchainError: the library cannot be loaded, or a kernel brings its process down.
    """
    if library is None:
        return {}
    try:
        with opened_library(library, DeviceChoice(arch=arch)) as (remote, keys):
            return {key: remote.support(_TIMEOUT_S, key, queries) for key in keys}
    except WorkerFailure as failure:
        raise ToolchainError(f"{library}: cannot be asked: {failure}") from failure


_SPLITS: Final = (1, 1, 1, 2, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupportReport:
    """Answers of every kernel to every query."""

    #: without a path when no kernel could be built
    library: BuiltLibrary
    queries: tuple[SupportQuery, ...]
    #: how many of the first queries are not random
    given: int
    candidates: tuple[Candidate, ...]
    #: content key -> answers in the order of the queries
    answers: Mapping[str, Sequence[Support]]
    #: the same of another library that models the first; ``None`` if none was asked
    model: Mapping[str, Sequence[Support]] | None = None

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

    @property
    def succeeded(self) -> bool:
        """False if library and model differ, or no kernel supports a given problem."""
        agree = self.library.path is not None and not self.disagreements()
        return agree and all(self.supporters(index) for index in range(self.given))


def random_queries(count: int, ndim: int, seed: int, operation: Operation) -> list[SupportQuery]:
    """Return problems of small sizes that are themselves well-formed, the same for the same seed.

    :param ndim: number of spatial dimensions, 0 for operations that have none.
    :param operation: what kernels compute.
    :raises UsageError: it invents no problems.
    """
    if count and not offers(operation, Operation.random_problem):
        raise UsageError(f"{operation.id} has no random problems")
    draw = random.Random(seed)  # noqa: S311 - no secret
    problems = islice(random_problems(operation, draw, ndim), count)
    return [SupportQuery(problem=problem, split_k=draw.choice(_SPLITS)) for problem in problems]


def for_kernels(queries: Sequence[SupportQuery], candidates: Sequence[Candidate]) -> list[SupportQuery]:
    """Return queries of the same sizes that are about what kernels compute, each kernel in turn.

    What is drawn is an operation's usual problem, to which kernels with further operands say nothing but no.
    """
    return [
        replace(query, problem=candidate.pipeline.default_problem(candidate.instance, query.problem))
        for query, candidate in zip(queries, cycle(candidates), strict=False)
    ]


def check_support(session: Session, request: SupportRequest) -> SupportReport:
    """Build the kernels and ask them; nothing is run.

    :raises CkprofError: no toolchain, or a library cannot be loaded.
    """
    selection, options = request.selection, request.build
    operation = session.registry.operation(selection.direction)
    ndim = selection.candidates[0].instance.ndim
    drawn = random_queries(request.random, ndim, request.seed, operation)
    if offers(operation, Operation.tensors_of):
        drawn = for_kernels(drawn, selection.candidates)
    queries = [*request.queries, *drawn]
    target = session.target(options.target)

    def built(how: BuildOptions) -> BuiltLibrary:
        return build_library(session, selection, how, Purpose.SUPPORT_CHECK)

    library = built(replace(options, target=target.id))
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
    answers = query_library(library.path, library.recipe.arch, queries)
    modelled = query_library(model.path, model.recipe.arch, queries) if model is not None else None
    return SupportReport(
        library=library,
        queries=tuple(queries),
        given=len(request.queries),
        candidates=tuple(
            candidate
            for candidate in library.built
            if candidate.instance.key in answers and (modelled is None or candidate.instance.key in modelled)
        ),
        answers=answers,
        model=modelled,
    )


def support_answers(
    session: Session, selection: Selection, build: BuildOptions, queries: Iterable[SupportQuery]
) -> Mapping[str, Sequence[Support]]:
    """Return content key -> answers of a kernel, in the order of the queries.

    Kernels that do not compile are missing.
    """
    request = SupportRequest(selection=selection, build=build, queries=tuple(queries), model=False)
    return check_support(session, request).answers


def query_instance_strings(
    library: Path, keys: Sequence[str] | None = None, *, timeout_s: float = 30.0
) -> tuple[dict[str, str], dict[str, str]]:
    """Ask kernels for CK Builder's text, in a worker process. No device is needed.

    A kernel that crashes, hangs or has no text costs its own answer only.

    :param library: the kernel library.
    :param keys: content keys of instances; ``None`` for all kernels of the library.
    :param timeout_s: seconds that one kernel may take.
    :returns: key -> text, and key -> why there is no text; every key is in one of the two.
    :raises ToolchainError: the library cannot be loaded.
    """
    texts: dict[str, str] = {}
    failures: dict[str, str] = {}
    pending = None if keys is None else list(dict.fromkeys(keys))
    while pending is None or pending:
        opened = False
        try:
            with opened_library(library, None) as (remote, present):
                opened, pending = True, list(present) if pending is None else pending
                while pending:
                    status, text = remote.instance_string(timeout_s, pending[0])
                    (texts if status is AbiStatus.OK else failures)[pending.pop(0)] = text
        except WorkerFailure as failure:
            if not opened:
                raise ToolchainError(f"kernel library {library} cannot be used: {failure}") from failure
            if not pending:
                raise
            failures[pending.pop(0)] = str(failure)
    return texts, failures


#: beside a library: says that its strings were compared, by the size and time of the file
_STAMP = "instance_strings.checked"


def build_needed_library(session: Session, request: RunRequest) -> BuiltLibrary:
    """Build the kernels that the problems of a request may run on; all, where users want a folder of them.

    :raises CkprofError: as :func:`build_checked_library`.
    """
    selection, needed = request.selection, request.selection.candidates
    if request.build.build_dir is None:
        needed = needed_for(request.problems, needed) or needed
    library = build_checked_library(session, replace(selection, candidates=needed), request.build)
    return replace(library, candidates=selection.candidates)


def build_checked_library(
    session: Session, selection: Selection, options: BuildOptions, purpose: Purpose = Purpose.RUN
) -> BuiltLibrary:
    """Build a library, and compare its kernels' texts with those of their pipelines, once per link of it.

    Nothing is compared where kernels cannot be loaded. A kernel that gives no text is reported by
    ``ckprof parity``; so is a text of no known kind on targets with headers of the user's.

    :raises CkprofError: it cannot be built.
    :raises PluginError: texts differ; the message names the plugin, the pipeline and both texts.
    """
    library, registry = build_library(session, selection, options, purpose), session.registry
    path = library.path
    if path is None or library.recipe.cannot_run:
        return library
    stamp = path.with_name(f"{path.stem}.{_STAMP}")
    status = path.stat()
    state = f"{status.st_size} {status.st_mtime_ns}\n"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == state:
        return library
    texts, _ = query_instance_strings(path, [candidate.instance.key for candidate in library.built])
    embedded = registry.targets.find(library.recipe.target).embedded
    for candidate in library.built:
        text, expected = texts.get(candidate.instance.key), candidate.instance_string
        if text not in (None, expected) and _differ(text, expected, registry.strings, strict=embedded):
            pipeline = candidate.pipeline.id
            raise PluginError(
                f"plugin {registry.pipelines.provider(pipeline)}: pipeline {pipeline!r}: instance_string "
                f"gives\n  {expected}\nbut get_instance_string() of the kernel {candidate.name} "
                f"gives\n  {text}"
            )
    write_atomically(stamp, state)
    return library


def _differ(text: str, expected: str, strings: StringGrammar, *, strict: bool) -> bool:
    """Say whether two texts mean different instances: revisions of Composable Kernel spell them differently.

    :param strict: a text that cannot be taken apart differs.
    """
    try:
        return strings.parse(text) != strings.parse(expected)
    except StringError:
        return strict
