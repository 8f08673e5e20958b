"""Instance strings as the kernels themselves give them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import ToolchainError
from ckprof.run.process import WorkerFailure, WorkerProcess
from ckprof.run.remote import RemoteLibrary
from ckprof.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceStrings:
    """SupportAnswers of the kernels; every key is in one of the two."""

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
