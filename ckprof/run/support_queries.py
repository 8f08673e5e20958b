"""Asks the kernels of a library whether they support problems, in worker processes. Nothing is run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import ToolchainError
from ckprof.run.messages import AbiStatus, DeviceChoice, SupportQuery
from ckprof.run.process import WorkerFailure, WorkerProcess
from ckprof.run.remote import RemoteLibrary
from ckprof.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.run.messages import Support

__all__ = ["SupportAnswer", "SupportAnswers", "SupportQuery", "query_library"]

#: seconds for all queries to one kernel
_TIMEOUT_S: Final = 600.0


class SupportAnswer(msgspec.Struct, frozen=True):
    """What one kernel says to one query."""

    supported: bool
    #: why not, the condition that decides; empty if it is supported
    reason: str = ""


class SupportAnswers(msgspec.Struct, frozen=True):
    """Content key of a kernel -> its answers, in the order of the queries."""

    kernels: dict[str, tuple[SupportAnswer, ...]]


def query_library(library: Path, arch: str, queries: Sequence[SupportQuery]) -> SupportAnswers:
    """Return the answers of all kernels of a library.

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
    return SupportAnswers(kernels=kernels)


def _answer(support: Support) -> SupportAnswer:
    unmet = support.unmet_requirements
    return SupportAnswer(supported=support.status is AbiStatus.OK, reason=unmet[0].message if unmet else "")
