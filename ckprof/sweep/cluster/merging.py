"""From the shards of workers into the store, as they grow."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.build.atomic_write import write_atomically
from ckprof.store.errors import StoreError
from ckprof.store.lines import BadLine, decode_lines
from ckprof.store.shard import SUFFIX

if TYPE_CHECKING:
    from ckprof.store.attempt import Attempt, Mark
    from ckprof.store.writer import StoreWriter

#: bytes of a shard that are read at once
_MOST_BYTES: Final = 32 * 2**20


class MergedState(msgspec.Struct, frozen=True, kw_only=True):
    """How much of each shard is in the store."""

    #: attempts in the store at that time: one that has fewer is another store
    attempts: int
    #: name of a shard -> bytes
    offsets: dict[str, int]


@dataclass(slots=True, kw_only=True)
class Merged:
    """What a merge added."""

    added: list[Attempt] = field(default_factory=list)
    #: attempts that the store had
    known: int = 0
    bad: list[BadLine] = field(default_factory=list)
    #: nothing was left when it ended
    complete: bool = True


class Merger:
    """Adds what is new in a folder of shards to a store. Doing it again adds nothing.

    :param writer: of the store.
    :param shards: the folder.
    :param state: file that says how much was merged; written after the store, so it never says too much.
    """

    def __init__(self, writer: StoreWriter, shards: Path, state: Path) -> None:
        self._writer = writer
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
        try:
            found = sorted(self._shards.glob(f"*{SUFFIX}"))
        except OSError as exc:
            raise StoreError(f"cannot look for shards: {exc.strerror}", self._shards) from None
        left = most_bytes
        # begin where the last turn ended, so that no shard waits for ever
        start = next((i for i, path in enumerate(found) if path.name > self._last), 0)
        for path in (*found[start:], *found[:start]):
            read = self._merge_file(path, merged, left)
            if left is not None:
                left -= read
                self._last = path.name
                if left <= 0:
                    merged.complete = False
                    break
        return merged

    def merge_shard(self, name: str) -> Merged:
        """Add everything that one shard holds by now."""
        merged = Merged()
        if name and (self._shards / name).exists():
            self._merge_file(self._shards / name, merged, None)
        return merged

    def size(self, name: str) -> int:
        """Return the bytes of a shard, merged or not; 0 if it is not there."""
        try:
            return (self._shards / name).stat().st_size
        except OSError:
            return 0

    def merge_bytes(self, data: bytes, name: str) -> Merged:
        """Add what a worker sent of its shard."""
        merged = Merged()
        self._add(data, Path(name), merged)
        return merged

    def save(self) -> None:
        """Note how much was merged, so that a later coordinator need not read it again."""
        state = MergedState(attempts=len(self._writer.reader), offsets=self._offsets)
        try:
            write_atomically(self._state, msgspec.json.encode(state).decode())
        except OSError:
            return  # only costs time

    def _merge_file(self, path: Path, merged: Merged, most: int | None) -> int:
        """Add what is new in a shard; return how many bytes that was."""
        first = start = self._offsets.get(path.name, 0)
        try:
            while path.stat().st_size > start and (most is None or start - first < most):
                with path.open("rb") as stream:
                    stream.seek(start)
                    data = stream.read(_MOST_BYTES if most is None else min(most, _MOST_BYTES))
                    # a line is as long as it is
                    data += stream.readline() if not data.endswith(b"\n") else b""
                end = data.rfind(b"\n") + 1
                if end == 0:
                    break  # its writer is at it, or was killed
                self._add(data[:end], path, merged)
                start += end
                self._offsets[path.name] = start
        except OSError as exc:
            raise StoreError(f"cannot be read: {exc.strerror}", path) from None
        return start - first

    def _add(self, data: bytes, path: Path, merged: Merged) -> None:
        attempts: list[Attempt] = []
        marks: list[tuple[str, int, Mark]] = []
        for line in decode_lines(data, path):
            if isinstance(line, BadLine):
                merged.bad.append(line)
            elif line.attempt is not None:
                attempts.append(line.attempt)
            elif line.mark is not None:
                marks.append((line.mark.session, line.mark.sequence, line.mark.mark))
        new = self._writer.append_new(attempts)
        merged.added += new
        merged.known += len(attempts) - len(new)
        if marks:
            self._writer.add_marks(marks)

    def _read_state(self) -> dict[str, int]:
        try:
            state = msgspec.json.decode(self._state.read_bytes(), type=MergedState)
        except (OSError, msgspec.MsgspecError):
            return {}
        return dict(state.offsets) if len(self._writer.reader) >= state.attempts else {}
