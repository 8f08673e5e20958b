"""From the shards of workers into the store, as they grow."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import system_errors
from ckprof.files import write_atomically
from ckprof.model.outcome import Status
from ckprof.store.attempt import Mark
from ckprof.store.errors import StoreError
from ckprof.store.query import StoreQuery
from ckprof.store.shard import SUFFIX, add_lines
from ckprof_plugins.cluster.partial import Merged, MergePool, absorb
from ckprof_plugins.cluster.pieces import decode_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.store.writer import StoreWriter
    from ckprof_plugins.cluster.devices import Counters
    from ckprof_plugins.cluster.units import ClusterWatch, OpenUnit


#: attempts of some rows, by session and status
_COUNTS: Final = """
SELECT s.uid, a.status, count(*) FROM attempts a JOIN sessions s ON s.id = a.session_id
WHERE a.id >= ? AND a.id < ? GROUP BY 1, 2"""
#: bytes of a shard that are read at once
_MOST_BYTES: Final = 32 * 2**20


class MergedState(msgspec.Struct, frozen=True, kw_only=True):
    """How much of each shard is in the store."""

    #: attempts in the store at that time: one that has fewer is another store
    attempts: int
    #: name of a shard -> bytes
    offsets: dict[str, int]


class Merger:
    """Adds what is new in a folder of shards to a store. Doing it again adds nothing.

    :param writer: of the store.
    :param shards: the folder.
    :param state: file that says how much was merged; written after the store, so it never says too much.
    :param pool: processes that read shards when there is more than this one can keep up with.
    """

    def __init__(self, writer: StoreWriter, shards: Path, state: Path, pool: MergePool | None = None) -> None:
        self._writer = writer
        self._pool = pool
        self._shards = shards
        self._state = state
        self._offsets: dict[str, int] = self._read_state()
        #: shard with which the last turn ended
        self._last = ""

    def merge(self, most_bytes: int | None = None) -> Merged:
        """Add the complete lines that were appended since the last time.

        :param most_bytes: about how much is read at most, in turns from all shards; ``None`` for everything.
        :raises StoreError: a shard cannot be read, or the store cannot be written.
        """
        merged = Merged()
        with system_errors(StoreError, "cannot look for shards", self._shards):
            shards = sorted(self._shards.glob(f"*{SUFFIX}"))
        if self._pool is not None:
            self._use_pool(self._pool, shards, merged, in_turns=most_bytes is not None)
            if not merged.complete:
                return merged
        left = most_bytes
        # begin where the last turn ended, so that no shard waits for ever
        start = next((i for i, path in enumerate(shards) if path.name > self._last), 0)
        for path in (*shards[start:], *shards[:start]):
            read = self._merge_file(path, merged, left)
            if left is not None:
                left -= read
                self._last = path.name
                if left <= 0:
                    merged.complete = False
                    break
        return merged

    def _use_pool(self, pool: MergePool, shards: Sequence[Path], merged: Merged, *, in_turns: bool) -> None:
        """Have the pool read what is too much for this process, and copy what it has read.

        :param in_turns: copy what is there, at most one partial store; otherwise until little is left.
        """
        while True:
            if pool.has_room:
                begins = ((path, self._offsets.get(path.name, 0)) for path in shards)
                pool.read({str(path): (start, self.size(path.name)) for path, start in begins})
            partial = pool.take() if pool.is_busy else None
            if partial is not None:
                absorb(self._writer, partial, merged)
                for shard, end in partial.ends.items():
                    name = Path(shard).name
                    self._offsets[name] = max(end, self._offsets.get(name, 0))
                Path(partial.path).unlink(missing_ok=True)
            merged.complete = not pool.is_busy
            if in_turns or merged.complete:
                return

    def merge_shard(self, name: str) -> Merged:
        """Add everything that one shard holds by now."""
        merged = Merged()
        if name and (self._shards / name).exists():
            self._merge_file(self._shards / name, merged, None)
        return merged

    def size(self, name: str) -> int:
        """Return the bytes of a shard, merged or not; 0 if it is not there."""
        with suppress(OSError):
            return (self._shards / name).stat().st_size
        return 0

    def merge_bytes(self, data: bytes, name: str) -> Merged:
        """Add what a worker sent of its shard."""
        merged = Merged()
        self._add(data, Path(name), merged)
        return merged

    def save(self) -> None:
        """Note how much was merged, so that a later coordinator need not read it again."""
        state = MergedState(attempts=len(self._writer.reader), offsets=self._offsets)
        with suppress(OSError):  # it only costs time
            write_atomically(self._state, msgspec.json.encode(state).decode())

    def _merge_file(self, path: Path, merged: Merged, most: int | None) -> int:
        """Add what is new in a shard; return how many bytes that was."""
        first = start = self._offsets.get(path.name, 0)
        with system_errors(StoreError, "cannot be read", path):
            while path.stat().st_size > start and (most is None or start - first < most):
                with path.open("rb") as stream:
                    stream.seek(start)
                    data = stream.read(_MOST_BYTES if most is None else min(most, _MOST_BYTES))
                    # a line is as long as it is
                    data += stream.readline() if not data.endswith(b"\n") else b""
                end = data.rfind(b"\n") + 1
                if end == 0:
                    break  # its writer is at it, or was killed
                self._add(data[:end], path, merged, start)
                start += end
                self._offsets[path.name] = start
        return start - first

    def _add(self, data: bytes, path: Path, merged: Merged, start: int = 0) -> None:
        new, known = add_lines(self._writer, decode_lines(data, path, start), merged.bad)
        merged.added += new
        merged.known += known

    def _read_state(self) -> dict[str, int]:
        try:
            state = msgspec.json.decode(self._state.read_bytes(), type=MergedState)
        except (OSError, msgspec.MsgspecError):
            return {}
        return dict(state.offsets) if len(self._writer.reader) >= state.attempts else {}


#: seconds between notes of how much was merged
_SAVE_S: Final = 10.0


class Ingest:
    """Merges shards, and notifies the caller of each new outcome.

    :param merger: into the store of the writer.
    """

    def __init__(self, writer: StoreWriter, merger: Merger, watch: ClusterWatch, counters: Counters) -> None:
        self._writer = writer
        self._merger = merger
        self._watch = watch
        self._counters = counters
        #: device -> sessions of its workers
        self._sessions: dict[str, set[str]] = {}
        self._saved = watch.clock()
        #: everything that was in the shards at the last look is in the store
        self.complete = True

    def merge(self, most_bytes: int | None = None) -> bool:
        """Merge what is new in the shards, or a part of it; say whether nothing is left."""
        merged = self._merger.merge(most_bytes)
        self.count(merged)
        self.complete = merged.complete
        now = self._watch.clock()
        if now - self._saved > _SAVE_S:
            self._merger.save()
            self._saved = now
        return self.complete

    def mark_slow(self, unit: OpenUnit, devices: Sequence[str]) -> None:
        """Mark what slow devices measured of a unit."""
        shared = unit.planned.shared
        for uid in [uid for device in devices for uid in sorted(self._sessions.get(device, ()))]:
            query = StoreQuery(session=uid, problem=unit.unit.problem)
            marks = [
                (uid, one.sequence, Mark.SLOW_DEVICE)
                for one in self._writer.reader.attempts(query, samples=False)
                if (one.kernel.dtype, one.kernel.layout) == (shared.dtype, shared.layout)
            ]
            self._writer.add_marks(marks)

    def count(self, merged: Merged) -> None:
        """Count what was merged, and notify the caller of it."""
        reader, on_attempt = self._writer.reader, self._watch.on_attempt
        copied = [(numbers.start, numbers.stop) for numbers in merged.copied]
        sessions = {session.uid: session for session in reader.sessions()} if copied else {}
        added = ((attempt.session, attempt.status, 1) for attempt in merged.added)
        counts = (
            (sessions[uid], Status(status), count)
            for numbers in copied
            for uid, status, count in self._writer.connection.execute(_COUNTS, numbers)
        )
        for session, status, count in chain(counts, added):
            self._counters.statuses[status] += count
            self._sessions.setdefault(session.device_id, set()).add(session.uid)
        if on_attempt is not None:
            for attempt in chain(*(reader.added(*numbers) for numbers in copied), merged.added):
                on_attempt(attempt)
        for bad in merged.bad:
            self._watch.warn(f"{bad.path}:{bad.line}: {bad.reason}")
