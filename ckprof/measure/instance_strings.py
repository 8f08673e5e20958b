"""Instance strings as the kernels themselves give them, and whether they are those of their pipelines.

``instance_string`` in Python and ``get_instance_string`` in C++ must give one text. Reports show the first,
programs that link the library see the second: where they differ, the family is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import PluginError, ToolchainError
from ckprof.files import scratch_folder, write_atomically
from ckprof.kernels.library import build_library
from ckprof.measure.worker.process import WorkerFailure, WorkerProcess
from ckprof.measure.worker.remote import RemoteLibrary
from ckprof.model.recipe import Purpose
from ckprof.model.strings.rendering import StringError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.kernels.requests import BuildOptions
    from ckprof.model.strings.grammar import StringGrammar
    from ckprof.plugin.registry import Registry
    from ckprof.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceStrings:
    """Answers of the kernels; every key is in one of the two."""

    #: key -> CK Builder's text
    texts: dict[str, str]
    #: key -> why there is no text
    failures: dict[str, str]


def query_instance_strings(
    library: Path, keys: Sequence[str] | None = None, *, timeout_s: float = 30.0
) -> InstanceStrings:
    """Ask kernels for CK Builder's text, in a worker process. No device is needed.

    A kernel that crashes, hangs or has no text costs its own answer only.

    :param library: the kernel library.
    :param keys: content keys of instances; ``None`` for all kernels of the library.
    :param timeout_s: seconds that one kernel may take.
    :raises ToolchainError: the library cannot be loaded.
    """
    texts: dict[str, str] = {}
    failures: dict[str, str] = {}
    pending = None if keys is None else list(dict.fromkeys(keys))
    with scratch_folder() as folder:
        while pending is None or pending:
            worker = WorkerProcess(Path(folder))
            remote = RemoteLibrary(worker)
            try:
                present = _open(remote, library)
                pending = list(present) if pending is None else pending
                while pending:
                    reply = remote.instance_string(pending[0], timeout_s)
                    if reply.error:
                        failures[reply.key] = reply.error
                    else:
                        texts[reply.key] = reply.text
                    del pending[0]
            except WorkerFailure as failure:
                if not pending:
                    raise
                failures[pending.pop(0)] = str(failure)
            finally:
                worker.kill()
    return InstanceStrings(texts=texts, failures=failures)


def _open(remote: RemoteLibrary, library: Path) -> tuple[str, ...]:
    """Return the keys of the library's kernels."""
    try:
        return remote.open(library, None).keys
    except WorkerFailure as failure:
        raise ToolchainError(f"kernel library {library} cannot be used: {failure}") from failure


#: beside a library: says that its strings were compared, by the size and time of the file
_STAMP = "instance_strings.checked"


def build_checked_library(
    session: Session, selection: Selection, options: BuildOptions, purpose: Purpose = Purpose.RUN
) -> BuiltLibrary:
    """Build a library as :func:`~ckprof.kernels.library.build_library` does, and check its kernels' texts.

    :raises CkprofError: it cannot be built, or texts of kernels differ from those of their pipelines.
    """
    library = build_library(
        session, selection.candidates, options, purpose, keep_invalid=selection.keep_invalid
    )
    check_kernel_strings(library, session.registry)
    return library


def check_kernel_strings(library: BuiltLibrary, registry: Registry) -> None:
    """Compare the texts of a library's kernels with those of their pipelines, once per link of the library.

    Nothing is compared where kernels cannot be loaded. A kernel that gives no text is reported by
    ``ckprof parity``; so is a text of no known kind on targets with headers of the user's.

    :raises PluginError: texts differ; the message names the plugin, the pipeline and both texts.
    """
    path = library.path
    if path is None or library.recipe.cannot_run:
        return
    stamp = path.with_name(f"{path.stem}.{_STAMP}")
    state = _state(path)
    if _content(stamp) == state:
        return
    texts = query_instance_strings(path, [candidate.instance.key for candidate in library.built]).texts
    embedded = registry.targets.find(library.recipe.target).embedded
    for candidate in library.built:
        text, expected = texts.get(candidate.instance.key), candidate.instance_string
        if (
            text is not None
            and text != expected
            and _differ(text, expected, registry.strings, strict=embedded)
        ):
            raise _difference(candidate, text, expected, registry)
    write_atomically(stamp, state)


def _differ(text: str, expected: str, strings: StringGrammar, *, strict: bool) -> bool:
    """Say whether two texts mean different instances: revisions of Composable Kernel spell them differently.

    :param strict: a text that cannot be taken apart differs.
    """
    try:
        return strings.parse(text) != strings.parse(expected)
    except StringError:
        return strict


def _difference(candidate: Candidate, text: str, expected: str, registry: Registry) -> PluginError:
    pipeline = candidate.pipeline.id
    return PluginError(
        f"plugin {registry.pipelines.provider(pipeline)}: pipeline {pipeline!r}: instance_string gives\n"
        f"  {expected}\nbut get_instance_string() of the kernel {candidate.name} gives\n  {text}"
    )


def _state(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}\n"


def _content(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""
