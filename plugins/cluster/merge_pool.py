"""Processes that read shards, where outcomes come faster than the store's owner can read them.

Each makes partial stores, which the owner copies. What a process was reading that dies is read again.
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import ToolchainError
from ckprof.model.architecture import use_files
from ckprof.plugin.manager import PluginManager
from ckprof.private_folders import checked, private_folder
from ckprof_plugins.cluster.engines import Pool, Slot
from ckprof_plugins.cluster.local import LocalSession
from ckprof_plugins.cluster.partial import PartialContent, Piece, write_partial

if TYPE_CHECKING:
    from collections.abc import Sequence

#: bytes of shards that wait before others are asked to read them: a few seconds of one process
LEAST_BYTES: Final = 64 * 2**20
#: bytes of shards for one partial store: about 10,000 outcomes, which are copied in a tenth of a second
PARTIAL_BYTES: Final = 24 * 2**20
#: processes at most, unless settings say otherwise: one writer cannot copy what more of them read
MOST_PROCESSES: Final = 32
#: partial stores that each process may be ahead
_AHEAD: Final = 2
#: processes that may be lost in a row before none is used any more
_MOST_LOST: Final = 3
#: seconds in which a partial store is waited for
_WAIT_S: Final = 0.05
_HANDLER: Final = "ckprof_plugins.cluster.merge_pool:handle"


class ReadTask(msgspec.Struct, frozen=True, kw_only=True):
    """What a process is asked to read."""

    target: str
    pieces: tuple[Piece, ...]
    #: plugins and files of architectures whose problems and kernels there may be
    plugins: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Partial:
    """A partial store that a process has made."""

    path: Path
    pieces: tuple[Piece, ...]
    content: PartialContent


_opened: tuple[tuple[str, ...], tuple[str, ...]] | None = None


def handle(payload: bytes, slot: Slot) -> bytes:
    """Make a partial store; runs in a process of the pool."""
    del slot
    global _opened
    task = msgspec.json.decode(payload, type=ReadTask)
    if _opened != (task.plugins, task.architectures):
        use_files(Path(name) for name in task.architectures)
        PluginManager().load_all(configured=task.plugins)
        _opened = task.plugins, task.architectures
    return msgspec.json.encode(write_partial(Path(task.target), task.pieces))


def default_processes() -> int:
    """Return how many processes may read shards on this machine: all CPUs but the one that copies."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(MOST_PROCESSES, cpus - 1)


class MergePool:
    """Reads shards in other processes, which start when they are first needed. A context manager.

    :param folder: for partial stores, on a local disk; made again, and removed in the end.
    :param processes: at least 1.
    :param plugins: see :class:`ReadTask`.
    """

    def __init__(
        self,
        folder: Path,
        processes: int,
        *,
        plugins: tuple[str, ...] = (),
        architectures: tuple[str, ...] = (),
        least_bytes: int = LEAST_BYTES,
        partial_bytes: int = PARTIAL_BYTES,
    ) -> None:
        self._folder = folder
        self._processes = processes
        self._plugins, self._architectures = plugins, architectures
        self._least_bytes, self._partial_bytes = least_bytes, partial_bytes
        self._session: LocalSession | None = None
        self._reading: dict[Future[bytes], tuple[Path, tuple[Piece, ...]]] = {}
        self._numbers = count()
        self._lost = 0
        # what a process that was killed has left
        shutil.rmtree(checked(folder), ignore_errors=True)

    def __enter__(self) -> MergePool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def is_busy(self) -> bool:
        """Whether anything is being read, or was read and not taken."""
        return bool(self._reading)

    @property
    def has_room(self) -> bool:
        """Whether a process would have nothing to do soon."""
        return self._lost < _MOST_LOST and len(self._reading) < _AHEAD * self._processes

    def read(self, shards: Sequence[Piece]) -> None:
        """Have read what is new in shards, if it is much.

        :param shards: what was not merged of each.
        """
        taken = {piece.shard for _, pieces in self._reading.values() for piece in pieces}
        left = [shard for shard in shards if shard.end > shard.start and shard.shard not in taken]
        if sum(shard.end - shard.start for shard in left) < self._least_bytes:
            return
        pieces: list[Piece] = []
        held = 0
        for shard in left:
            end = min(shard.end, shard.start + self._partial_bytes)
            pieces.append(Piece(shard=shard.shard, start=shard.start, end=end))
            held += end - shard.start
            if held >= self._partial_bytes:
                self._submit(tuple(pieces))
                pieces, held = [], 0
                if not self.has_room:
                    return
        if pieces:
            self._submit(tuple(pieces))

    def take(self) -> Partial | None:
        """Return a partial store that is complete, or ``None`` if there is none in a moment."""
        done = wait(self._reading, timeout=_WAIT_S, return_when=FIRST_COMPLETED).done
        if not done:
            return None
        future = next(iter(done))
        path, pieces = self._reading.pop(future)
        try:
            content = msgspec.json.decode(future.result(), type=PartialContent)
        except Exception:
            # whatever it was, what it read is read again, in the end by the process that asks
            self._lost += 1
            path.unlink(missing_ok=True)
            return None
        self._lost = 0
        return Partial(path=path, pieces=pieces, content=content)

    def remove(self, partial: Partial) -> None:
        """Remove a partial store that was copied."""
        partial.path.unlink(missing_ok=True)

    def close(self) -> None:
        """End the processes; closing twice is fine."""
        session, self._session = self._session, None
        self._reading.clear()
        if session is not None:
            session.close(now=True)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _submit(self, pieces: tuple[Piece, ...]) -> None:
        """Have a process read something; one that cannot be had is done without."""
        try:
            private_folder(self._folder)
        except OSError:
            self._lost = _MOST_LOST
            return
        if self._session is None:
            slots = [Slot(device=0, label=str(number)) for number in range(self._processes)]
            try:
                self._session = LocalSession(_HANDLER, slots)
            except ToolchainError:
                self._lost = _MOST_LOST
                return
        path = self._folder / f"{next(self._numbers)}.db"
        task = ReadTask(
            target=str(path), pieces=pieces, plugins=self._plugins, architectures=self._architectures
        )
        self._reading[self._session.submit(Pool.RUN, msgspec.json.encode(task))] = path, pieces
