"""The one process that hands out units and owns the store.

Workers leave every outcome in a shard, on the disk, before they go on; what they answer says only that a unit
is over. So the coordinator may be killed at any moment, and workers as well: the next coordinator merges what
is there, and hands out what is missing. Whatever is delivered twice is stored once, since an attempt is known
by its session and its number.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter, deque
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.store.attempt import Mark
from ckprof.sweep.cluster.cards import CardTable
from ckprof.sweep.cluster.engine import Pool
from ckprof.sweep.cluster.leases import LeaseTable, read_journal
from ckprof.sweep.cluster.messages import Card, End, Reply, Task, decode_reply, encode
from ckprof.sweep.cluster.tally import Tally
from ckprof.sweep.cluster.work import POLL_S
from ckprof.sweep.engine import Stop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.store.writer import StoreWriter
    from ckprof.sweep.cluster.engine import EngineSession
    from ckprof.sweep.cluster.merging import Merged, Merger
    from ckprof.sweep.cluster.tally import ClusterSummary
    from ckprof.sweep.cluster.work import ClusterWatch, OpenUnit, Work

#: bytes of shards that are merged before the next look at answers: about a quarter of a second
_MERGE_BYTES: Final = 2 * 2**20
#: share of the silence of a lease after which shards are looked at for signs of life
_LOOK_SHARE: Final = 0.05
#: seconds between notes of how much was merged
_SAVE_S: Final = 10.0
#: tasks per slot that wait at the engine, so that no worker waits for the coordinator
_AHEAD: Final = 1
#: probes that may fail before the sweep is given up
_MOST_PROBES: Final = 5


@dataclass(slots=True, kw_only=True)
class _Flying:
    """A task that was handed out."""

    task: Task
    open: OpenUnit
    objects: frozenset[str]
    given: float
    #: shard of its worker, and its size at the last look
    shard: str = ""
    size: int = 0
    #: its lease is over: whatever comes of it is welcome, but nobody waits for it
    abandoned: bool = False


class Coordinator:
    """Hands out units, merges shards, and ends when nothing is left.

    :param work: what to do.
    :param session: the opened engine.
    :param merger: into the store.
    """

    def __init__(
        self, work: Work, session: EngineSession, writer: StoreWriter, merger: Merger, watch: ClusterWatch
    ) -> None:
        self._work = work
        self._session = session
        self._writer = writer
        self._merger = merger
        self._watch = watch
        self._run = uuid.uuid4().hex[:12]
        self._leases = LeaseTable(work.leases, work.folder.leases)
        self._queue: deque[OpenUnit] = deque(work.units)
        self._flying: dict[Future[bytes], _Flying] = {}
        self._cards = CardTable(work.reference)
        #: unit -> times that it was handed out in vain
        self._failed: Counter[str] = Counter()
        self._given_up: dict[str, str] = {}
        self._held: dict[str, tuple[OpenUnit, float]] = {}
        self._instance = ""
        #: card -> sessions of its workers
        self._sessions: dict[str, set[str]] = {}
        self._tally = Tally(units=work.rankings, done=work.rankings - len(work.units))
        self._started = self._saved = self._looked = watch.clock()
        self._stop = Stop.DONE
        #: everything that was in the shards at the last look is in the store
        self._merged = True

    @property
    def outstanding(self) -> int:
        """Tasks whose workers have not answered; what they measure comes later."""
        return len(self._flying)

    def note_card(self, reply: Reply) -> None:
        """Note a card that has answered before the first unit was handed out."""
        self._note_card(reply, None)

    def run(self) -> Stop:
        """Work until nothing is left, the time is over, or a stop is requested; then call :meth:`finish`.

        :raises CkprofError: the store cannot be written, or no worker can measure anything.
        """
        self._hold_what_others_have()
        self._merge()
        stop = Stop.DONE
        while self._queue or self._held or any(not one.abandoned for one in self._flying.values()):
            reason = self._reason_to_stop()
            if reason is not None:
                stop = reason
                self._stop_workers()
                break
            self._hand_out()
            self._wait(self._watch.poll_s)
        self._stop = stop
        return stop

    def finish(self) -> ClusterSummary:
        """Merge what is left in the shards, which takes no workers."""
        while not self._merge():
            self._progress()
        self._merger.save()
        wall_s = self._watch.clock() - self._started
        return self._tally.summary(self._cards, self._stop, wall_s, self._given_up)

    # --- handing out ----------------------------------------------------------------------------------------

    def _hold_what_others_have(self) -> None:
        """Leave units alone that workers of a killed coordinator may still be at."""
        if not self._session.outlives_coordinator:
            return
        wall = time.time()
        others = read_journal(self._work.folder.leases, wall)
        for one in list(self._queue):
            until = others.get(one.unit.id)
            if until is not None:
                self._queue.remove(one)
                self._held[one.unit.id] = one, self._watch.clock() + until - wall
        if self._held:
            text = f"{len(self._held)} problems may still be measured by workers of an earlier call"
            self._watch.on_message(f"{text}; they are handed out again when their leases are over")

    def _release_held(self) -> None:
        now = self._watch.clock()
        for unit, (one, until) in list(self._held.items()):
            if until <= now:
                del self._held[unit]
                self._requeue(one)

    def _hand_out(self) -> None:
        self._release_held()
        lost = sum(one.abandoned for one in self._flying.values())
        most = max(1, self._session.slots(Pool.RUN) - lost) + _AHEAD
        while self._queue and len(self._flying) - lost < most:
            self._submit(self._queue.popleft(), frozenset())

    def _submit(self, one: OpenUnit, objects: frozenset[str]) -> None:
        work = self._work
        task = Task(
            id=uuid.uuid4().hex,
            run=self._run,
            job=work.job,
            unit=one.unit,
            shared=work.shared,
            folder="" if work.sends else str(work.folder.root),
            reference_problem=work.reference_problem,
            reference_instance=self._instance,
            quarantined=self._cards.quarantined,
            suspected=self._cards.suspected,
            max_time_s=self._time_left(),
            objects={digest: work.folder.objects.get(digest) or b"" for digest in objects},
        )
        self._watch.on_unit(one.planned)
        self._leases.give(one.unit.id, task.id)
        future = self._session.submit(Pool.RUN, encode(task))
        self._flying[future] = _Flying(task=task, open=one, objects=objects, given=self._watch.clock())

    def _time_left(self) -> float | None:
        limit = self._watch.max_time_s
        return None if limit is None else max(0.0, limit - (self._watch.clock() - self._started))

    def _requeue(self, one: OpenUnit) -> None:
        """Hand a unit out again, with what is known of it by now."""
        again = self._work.plan_again(one.unit)
        if again is None:
            self._tally.done += 1
        else:
            self._queue.append(again)

    # --- answers --------------------------------------------------------------------------------------------

    def _wait(self, timeout_s: float) -> None:
        if not self._merged:
            timeout_s = 0.0
        if self._flying:
            wait(self._flying, timeout=timeout_s, return_when=FIRST_COMPLETED)
        else:
            time.sleep(min(timeout_s, POLL_S))
        answered = [future for future in self._flying if future.done()]
        self._merge()
        for future in answered:
            flying = self._flying.pop(future)
            error = None if future.cancelled() else future.exception()
            if future.cancelled() or error is not None:
                self._worker_lost(flying, str(error or "the engine cancelled the task"))
            else:
                self._answered(flying, decode_reply(future.result()))
            self._work.folder.started_file(flying.task.id).unlink(missing_ok=True)
        self._note_life()
        self._expire()
        self._progress()

    def _answered(self, flying: _Flying, reply: Reply) -> None:
        self._leases.end(flying.task.id)
        if reply.shard:
            self._count(self._merger.merge_bytes(reply.shard, reply.card.id if reply.card else "a worker"))
        if reply.card is not None:
            self._note_card(reply, flying)
        for kind, count in reply.warnings.items():
            if kind not in self._tally.warnings:
                self._watch.on_warning(f"{kind} (card {reply.card.id if reply.card else 'unknown'})")
            self._tally.warnings[kind] += count
        self._tally.add_reply(reply)
        if flying.abandoned:
            return
        if reply.end is End.FINISHED:
            self._tally.finish(reply)
        elif reply.end is End.MISSING:
            self._send_objects(flying, reply)
        elif reply.end is End.ERROR:
            self._failed_unit(flying.open, reply.message)
        else:
            self._requeue(flying.open)

    def _send_objects(self, flying: _Flying, reply: Reply) -> None:
        """Have a worker that lacks something get it with the task."""
        wanted = flying.objects | set(reply.missing)
        if wanted == flying.objects:
            self._failed_unit(flying.open, "a worker did not get what it was sent")
        else:
            self._submit(flying.open, wanted)

    def _worker_lost(self, flying: _Flying, reason: str) -> None:
        self._leases.end(flying.task.id)
        self._tally.lost += 1
        if flying.abandoned:
            return
        if not self._work.sends:
            # what it had measured counts when the problem is handed out again
            shard = flying.shard or self._work.folder.read_start(flying.task.id)
            self._count(self._merger.merge_shard(shard))
        self._watch.on_message(
            f"a worker was lost on problem {flying.open.unit.problem_index}: {_first_line(reason)}; "
            "the problem is handed out again"
        )
        self._failed_unit(flying.open, reason)

    def _failed_unit(self, one: OpenUnit, reason: str) -> None:
        """Hand a unit out again, unless it has failed often enough."""
        self._failed[one.unit.id] += 1
        if self._failed[one.unit.id] < self._work.leases.attempts:
            self._requeue(one)
            return
        self._given_up[one.unit.id] = _first_line(reason)
        self._watch.on_warning(
            f"problem {one.unit.problem_index} is given up after {self._failed[one.unit.id]} times: "
            f"{_first_line(reason)}"
        )
        if (
            self._tally.done == self._work.rankings - len(self._work.units)
            and len(self._given_up) >= _MOST_PROBES
        ):
            raise ToolchainError(f"no worker finishes a problem: {_first_line(reason)}")

    # --- leases ---------------------------------------------------------------------------------------------

    def _note_life(self) -> None:
        """Begin the leases of tasks that workers have begun, and prolong those whose shards grow."""
        now, wall = self._watch.clock(), time.time()
        if now - self._looked < min(self._watch.poll_s, 1.0) + _LOOK_SHARE * self._work.leases.silence_s:
            return
        self._looked = now
        for future, flying in self._flying.items():
            task = flying.task.id
            if not flying.shard and not self._work.sends:
                flying.shard = self._work.folder.read_start(task)
            size = self._merger.size(flying.shard) if flying.shard else 0
            begun = self._leases.is_waiting(task) and (future.running() or bool(flying.shard))
            if begun or size > flying.size:
                self._leases.renew(task, now, wall)
            flying.size = size

    def _expire(self) -> None:
        for lease in self._leases.expired(self._watch.clock()):
            self._leases.end(lease.task)
            flying = next((one for one in self._flying.values() if one.task.id == lease.task), None)
            if flying is None or flying.abandoned:
                continue
            flying.abandoned = True
            self._watch.on_warning(
                f"a worker is silent for {self._work.leases.silence_s:g} s on problem "
                f"{flying.open.unit.problem_index}; another one gets the problem"
            )
            self._failed_unit(flying.open, "its worker fell silent")

    # --- cards ----------------------------------------------------------------------------------------------

    def _note_card(self, reply: Reply, flying: _Flying | None) -> None:
        if reply.card is None:
            return
        state = self._cards.note(reply.card, reply.checks)
        if reply.end is End.OTHER_DEVICE:
            self._set_aside(reply.card)
        if reply.checks:
            self._instance = self._instance or reply.checks[-1].instance
            before = list(state.doubtful)
            begun, ended = self._cards.judge(reply.card.id)
            for card in begun:
                self._watch.on_warning(f"card {card.card.id} is quarantined: {card.quarantine}")
                self._doubt(card.doubtful)
                card.doubtful = []
            for card in ended:
                self._watch.on_message(f"card {card.card.id} is as fast as its peers again")
            if not state.strikes:
                state.doubtful = [unit for unit in state.doubtful if unit not in before]
        if flying is not None and reply.attempts:
            state.units += reply.end is End.FINISHED
            state.attempts += reply.attempts
            if reply.end is End.FINISHED:
                state.doubtful.append(flying.open.unit.id)

    def _set_aside(self, card: Card) -> None:
        state = self._cards.cards[card.id]
        if state.quarantine:
            return
        wanted, found = self._work.shared.device, card.device
        differing = [
            f"{name} {getattr(found, name) or 'unknown'} instead of {getattr(wanted, name) or 'unknown'}"
            for name in ("model", "arch", "compute_units", "memory_bytes", "partition")
            if getattr(found, name) != getattr(wanted, name)
        ]
        state.quarantine = f"another device: {', '.join(differing)}"
        self._watch.on_warning(f"card {card.id} is set aside: {state.quarantine}")

    def _doubt(self, units: Sequence[str]) -> None:
        """Mark what a card measured since it was last found sound, and have it measured again elsewhere."""
        if units and not self._work.sends:
            # only what is in the store can be marked
            self._count(self._merger.merge())
        for name in units:
            one = next((one for one in self._work.units if one.unit.id == name), None)
            if one is None:
                continue
            self._mark_slow(one)
            again = self._work.plan_again(one.unit)
            if again is not None:
                self._tally.done -= 1
                self._queue.append(again)

    def _mark_slow(self, one: OpenUnit) -> None:
        slow = [uid for name in self._cards.quarantined for uid in sorted(self._sessions.get(name, ()))]
        for uid in slow:
            sequences = self._writer.reader.sequences(uid, one.unit.problem, one.unit.dtype, one.unit.layout)
            self._writer.add_marks([(uid, sequence, Mark.SLOW_CARD) for sequence in sequences])

    # --- the store ------------------------------------------------------------------------------------------

    def _merge(self) -> bool:
        """Merge some of what is new; say whether nothing is left.

        Workers never wait for that: their shards are on the disk.
        """
        self._merged = True
        if not self._work.sends:
            merged = self._merger.merge(_MERGE_BYTES)
            self._count(merged)
            self._merged = merged.complete
        now = self._watch.clock()
        if now - self._saved > _SAVE_S:
            self._merger.save()
            self._saved = now
        return self._merged

    def _count(self, merged: Merged) -> None:
        """Tell the caller of new outcomes."""
        for attempt in merged.added:
            self._tally.statuses[attempt.status] += 1
            self._sessions.setdefault(attempt.session.card, set()).add(attempt.session.uid)
            self._watch.on_attempt(attempt)
        for bad in merged.bad:
            self._watch.on_warning(f"{bad.path}:{bad.line}: {bad.reason}")

    # --- the end --------------------------------------------------------------------------------------------

    def _reason_to_stop(self) -> Stop | None:
        if self._watch.should_stop():
            return Stop.REQUESTED
        left = self._time_left()
        return Stop.MAX_TIME if left is not None and left <= 0 else None

    def _stop_workers(self) -> None:
        """Have workers end after the kernel that they measure now, and merge what they have."""
        stop = self._work.folder.stop_file(self._run)
        try:
            stop.write_text("")
        except OSError as exc:
            raise ToolchainError(f"{stop}: cannot ask the workers to stop: {exc.strerror}") from None
        for future in self._flying:
            future.cancel()
        end = self._watch.clock() + self._watch.stop_s
        while self._flying and self._watch.clock() < end:
            self._queue.clear()
            self._wait(min(self._watch.poll_s, 0.1))
        if self._flying:
            self._watch.on_warning(
                f"{len(self._flying)} workers did not end within {self._watch.stop_s:g} s; what they have "
                "measured is in their shards, which the next call merges"
            )

    def _progress(self) -> None:
        left = len(self._queue) + len(self._held) + len(self._flying)
        self._watch.on_progress(self._tally.progress(self._cards, running=len(self._flying), left=left))


def _first_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason is known"
