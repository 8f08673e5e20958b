"""The one process that hands out units and owns the store.

Workers leave every outcome in a shard, on the disk, before they go on; what they answer says only that a unit
is over. So the coordinator may be killed at any moment, and workers as well: the next coordinator merges what
is there, and hands out what is missing. Whatever is delivered twice is stored once, since an attempt is known
by its session and its number.
"""

from __future__ import annotations

import time
import uuid
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.plugin.protocols.engines import Pool
from ckprof.sweep.sweep import Stop
from ckprof_plugins.cluster.cards import CardTable
from ckprof_plugins.cluster.leases import LeaseTable
from ckprof_plugins.cluster.merging import Intake
from ckprof_plugins.cluster.messages import Card, End, Reply, Task, answer_of, decode_reply, encode
from ckprof_plugins.cluster.tally import ClusterSummary, Tally
from ckprof_plugins.cluster.units import POLL_S, UnitQueue, last_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.plugin.protocols.engines import EngineSession
    from ckprof.store.writer import StoreWriter
    from ckprof_plugins.cluster.merging import Merger
    from ckprof_plugins.cluster.units import ClusterWatch, OpenUnit, Work

#: bytes of shards that are merged before the next look at answers: about a quarter of a second
_MERGE_BYTES: Final = 2 * 2**20
#: share of the silence of a lease after which shards are looked at for signs of life
_LOOK_SHARE: Final = 0.05
#: and share of the time after which a worker is doubted, while cards have nothing to do
_DOUBT_SHARE: Final = 0.25
#: tasks that wait at the engine, so that no worker waits for the coordinator: one, or one for so many slots
_LEAST_AHEAD: Final = 1
_AHEAD_SHARE: Final = 64
#: workers whose signs of life are looked for in one turn
_MOST_LOOKS: Final = 64


@dataclass(slots=True, kw_only=True)
class _Flying:
    """A task that was handed out."""

    task: Task
    open: OpenUnit
    objects: frozenset[str]
    #: shard of its worker, and its size at the last look
    shard: str = ""
    size: int = 0
    #: when that was, and when the worker gave its last sign of life
    looked: float
    seen: float
    #: another card that does the same: whoever is first counts
    twin: _Flying | None = None
    #: another one was asked once: a unit that ends its workers shall not end one after the other
    doubted: bool = False
    #: its lease is over: whatever comes of it is welcome, but nobody waits for it
    abandoned: bool = False
    #: ids of cards that were found slow meanwhile: what one of them had measured of the unit is marked so
    slow_on: set[str] = field(default_factory=set)


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
        self._watch = watch
        self._run = uuid.uuid4().hex[:12]
        self._tally = Tally(contests=work.rankings, contests_done=work.rankings - len(work.units))
        self._leases = LeaseTable(work.leases, work.folder.leases)
        self._units = UnitQueue(work, watch, self._tally)
        self._merger = merger
        self._intake = Intake(writer, merger, watch, self._tally)
        self._flying: dict[Future[bytes], _Flying] = {}
        #: tasks that the engine is done with, as they come
        self._done: SimpleQueue[Future[bytes]] = SimpleQueue()
        #: card that was checked since all were compared -> the units that it had finished before
        self._checked: dict[str, list[str]] = {}
        self._cards = CardTable(work.reference)
        self._instance = ""
        self._started = watch.clock()
        #: there are more cards than units
        self._idle = False

    @property
    def outstanding(self) -> int:
        """Tasks whose workers have not answered; what they measure comes later."""
        return len(self._flying)

    def run(self) -> Stop:
        """Work until nothing is left, the time is over, or a stop is requested; then call :meth:`finish`.

        :raises CkprofError: the store cannot be written, or no worker can measure anything.
        """
        if self._session.outlives_coordinator:
            self._units.hold_what_others_have()
        self._merge()
        while len(self._units) or any(not task.abandoned for task in self._flying.values()):
            reason = self._reason_to_stop()
            if reason is not None:
                self._tally.stop = reason
                self._stop_workers()
                break
            self._hand_out()
            self._wait(self._watch.poll_s)
        return self._tally.stop

    def finish(self) -> ClusterSummary:
        """Merge what is left in the shards, which takes no workers."""
        while not self._merge():
            self._progress()
        self._merger.save()
        self._tally.wall_s = self._watch.clock() - self._started
        self._tally.standings = sorted(
            (*self._work.plans.plan.standings, *self._tally.measured_standings.values()),
            key=lambda pair: pair[0],
        )
        return ClusterSummary(
            sweep=self._tally,
            cards=tuple(state for _, state in sorted(self._cards.cards.items())),
            given_up=self._units.given_up,
            lost=self._tally.lost,
        )

    # --- handing out ----------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        self._units.release_held()
        lost = sum(task.abandoned for task in self._flying.values())
        slots = max(1, self._session.slots(Pool.RUN) - lost)
        most = slots + max(_LEAST_AHEAD, slots // _AHEAD_SHARE)
        slow = self._cards.quarantined, self._cards.suspected
        while len(self._flying) - lost < most and (unit := self._units.pop()) is not None:
            self._submit(unit, frozenset(), slow)
        self._idle = len(self._flying) - lost < slots
        if self._idle and not self._work.sends:
            self._hand_out_copies(slots - len(self._flying) + lost, slow)

    def _hand_out_copies(self, most: int, slow: tuple[tuple[str, ...], tuple[str, ...]]) -> None:
        """Have cards that have nothing to do begin with what silent workers may never finish."""
        silent_since = self._watch.clock() - self._work.leases.doubt_s
        doubted = (
            flying
            for flying in self._flying.values()
            if not flying.doubted
            and not flying.abandoned
            and not self._leases.is_waiting(flying.task.id)
            and flying.seen <= silent_since
        )
        for flying in list(islice(doubted, most)):
            twin = self._submit(self._units.copy(flying.open), flying.objects, slow)
            flying.twin, twin.twin = twin, flying
            flying.doubted = twin.doubted = True

    def _submit(
        self, unit: OpenUnit, objects: frozenset[str], slow: tuple[tuple[str, ...], tuple[str, ...]]
    ) -> _Flying:
        work = self._work
        quarantined, suspected = slow
        task = Task(
            id=uuid.uuid4().hex,
            run=self._run,
            job=work.job,
            unit=unit.unit,
            shared=work.shared,
            folder="" if work.sends else str(work.folder.root),
            reference_problem=work.reference_problem,
            reference_instance=self._instance,
            quarantined=quarantined,
            suspected=suspected,
            max_time_s=self._time_left(),
            objects={digest: work.folder.objects.get(digest) or b"" for digest in objects},
        )
        self._watch.on_unit(unit.planned)
        self._leases.give(unit.unit.lease, task.id)
        future = self._session.submit(Pool.RUN, encode(task))
        now = self._watch.clock()
        flying = _Flying(task=task, open=unit, objects=objects, looked=now, seen=now)
        self._flying[future] = flying
        future.add_done_callback(self._done.put)
        return flying

    def _time_left(self) -> float | None:
        limit = self._watch.max_time_s
        return None if limit is None else max(0.0, limit - (self._watch.clock() - self._started))

    # --- answers --------------------------------------------------------------------------------------------

    def _wait(self, timeout_s: float) -> None:
        if not self._intake.complete:
            timeout_s = 0.0
        answered = self._take_done(timeout_s if self._flying else min(timeout_s, POLL_S))
        self._merge()
        for future in answered:
            flying = self._flying.pop(future)
            reply = answer_of(future, decode_reply)
            if isinstance(reply, str):
                self._worker_lost(flying, reply)
            else:
                self._answered(flying, reply)
            self._work.folder.started_file(flying.task.id).unlink(missing_ok=True)
        self._compare_cards()
        self._note_life()
        self._expire()
        self._progress()

    def _take_done(self, timeout_s: float) -> list[Future[bytes]]:
        """Return the tasks that are over; wait for the first one."""
        done = []
        with suppress(Empty):
            done.append(self._done.get(timeout=timeout_s) if timeout_s > 0 else self._done.get_nowait())
            while True:
                done.append(self._done.get_nowait())
        return done

    def _answered(self, flying: _Flying, reply: Reply) -> None:
        self._leases.end(flying.task.id)
        if reply.shard:
            worker = reply.card.id if reply.card else "a worker"
            self._intake.count(self._merger.merge_bytes(reply.shard, worker))
        if reply.card is not None:
            self.note_card(reply, flying)
        for kind, count in reply.warnings.items():
            if kind not in self._tally.warnings:
                self._watch.warn(f"{kind} (card {reply.card.id if reply.card else 'unknown'})")
            self._tally.warnings[kind] += count
        self._tally.add_reply(reply)
        if flying.abandoned:
            return
        if reply.end is End.FINISHED and not (reply.card and reply.card.id in flying.slow_on):
            if flying.twin is not None:
                self._abandon(flying.twin)
                self._leave(flying.twin)
            self._finished(flying.open, reply)
        elif reply.end is End.MISSING:
            self._send_objects(flying, reply)
        elif self._leave(flying):
            pass  # another card is at it
        elif reply.end is End.ERROR:
            self._units.fail(flying.open, reply.message)
        else:
            self._units.requeue(flying.open)

    def _leave(self, flying: _Flying) -> bool:
        """Wait no longer for a task if another card does the same, and say whether one does."""
        twin = flying.twin
        if twin is None:
            return False
        flying.twin = twin.twin = None
        self._units.drop(flying.open)
        return True

    def _abandon(self, flying: _Flying) -> None:
        self._leases.end(flying.task.id)
        flying.abandoned = True

    def _finished(self, unit: OpenUnit, reply: Reply) -> None:
        card = reply.card.id if reply.card is not None else ""
        self._tally.finish(reply)
        if unit.unit.part:
            self._units.finish_part(unit, card, reply)
        else:
            self._units.finish(unit, reply.standing)

    def _send_objects(self, flying: _Flying, reply: Reply) -> None:
        """Have a worker that lacks something get it with the task."""
        wanted = flying.objects | set(reply.missing)
        if wanted == flying.objects:
            if not self._leave(flying):
                self._units.fail(flying.open, "a worker did not get what it was sent")
        else:
            again = self._submit(flying.open, wanted, (self._cards.quarantined, self._cards.suspected))
            again.twin, again.doubted = flying.twin, flying.doubted
            if again.twin is not None:
                again.twin.twin = again

    def _worker_lost(self, flying: _Flying, reason: str) -> None:
        self._leases.end(flying.task.id)
        self._tally.lost += 1
        if flying.abandoned:
            return
        if not self._work.sends:
            # what it had measured counts when the problem is handed out again
            shard = flying.shard or self._work.folder.read_start(flying.task.id)
            self._intake.count(self._merger.merge_shard(shard))
        if self._leave(flying):
            return
        self._watch.say(
            f"a worker was lost on problem {flying.open.unit.problem_index}: {last_line(reason)}; "
            "the problem is handed out again"
        )
        self._units.fail(flying.open, reason)

    # --- leases ---------------------------------------------------------------------------------------------

    def _note_life(self) -> None:
        """Begin the leases of tasks that workers have begun, and prolong those whose shards grow."""
        now, wall = self._watch.clock(), time.time()
        leases = self._work.leases
        # cards that have nothing to do wait for silence to be noticed
        every_s = _LOOK_SHARE * leases.silence_s
        if self._idle:
            every_s = min(every_s, _DOUBT_SHARE * leases.doubt_s)
        due = now - min(self._watch.poll_s, 1.0) - every_s
        waiting = ((future, flying) for future, flying in self._flying.items() if flying.looked <= due)
        # some at a time: their files are on a file system that may be far away
        for future, flying in islice(waiting, _MOST_LOOKS):
            flying.looked = now
            task = flying.task.id
            if not flying.shard and not self._work.sends:
                flying.shard = self._work.folder.read_start(task)
            size = self._merger.size(flying.shard) if flying.shard else 0
            begun = self._leases.is_waiting(task) and (future.running() or bool(flying.shard))
            if begun or size > flying.size:
                self._leases.renew(task, now, wall)
                flying.seen = now
            flying.size = size

    def _expire(self) -> None:
        for lease in self._leases.expired(self._watch.clock()):
            flying = next((task for task in self._flying.values() if task.task.id == lease.task), None)
            if flying is None:
                self._leases.end(lease.task)
                continue
            self._abandon(flying)
            if self._leave(flying):
                continue
            self._watch.warn(
                f"a worker is silent for {self._work.leases.silence_s:g} s on problem "
                f"{flying.open.unit.problem_index}; another one gets the problem"
            )
            self._units.fail(flying.open, "its worker fell silent")

    # --- cards ----------------------------------------------------------------------------------------------

    def note_card(self, reply: Reply, flying: _Flying | None = None) -> None:
        """Take note of what an answer says of its card.

        :param flying: the task; ``None`` before the first unit was handed out.
        """
        if reply.card is None:
            return
        state = self._cards.note(reply.card, reply.checks)
        if reply.end is End.OTHER_DEVICE:
            self._set_aside(reply.card)
        if reply.checks:
            self._instance = self._instance or reply.checks[-1].instance
            self._checked[reply.card.id] = list(state.doubtful)
        if flying is not None and reply.attempts and reply.card.id not in flying.slow_on:
            state.units += reply.end is End.FINISHED
            state.attempts += reply.attempts
            if reply.end is End.FINISHED:
                state.doubtful.append(flying.open.unit.id)

    def _compare_cards(self) -> None:
        """See which cards are slow, by the checks that have come since the last time."""
        if self._checked:
            begun, ended = self._cards.judge(self._checked)
            for card in begun:
                self._watch.warn(f"card {card.card.id} is quarantined: {card.quarantine}")
            for card in ended:
                self._watch.say(f"card {card.card.id} is as fast as its peers again")
            for name, before in self._checked.items():
                state = self._cards.cards[name]
                if not state.strikes:
                    state.doubtful = [unit for unit in state.doubtful if unit not in before]
            self._checked = {}
        for state in self._cards.cards.values():
            # what it had in hand when it was quarantined counts no more than what it had done before
            if state.quarantine and state.doubtful:
                doubtful, state.doubtful = state.doubtful, []
                self._doubt(doubtful)

    def _set_aside(self, card: Card) -> None:
        state = self._cards.cards[card.id]
        if state.quarantine:
            return
        wanted, seen = self._work.shared.device, card.device
        differing = [
            f"{name} {getattr(seen, name) or 'unknown'} instead of {getattr(wanted, name) or 'unknown'}"
            for name in ("model", "arch", "compute_units", "memory_bytes", "partition", "threads", "host")
            if getattr(seen, name) != getattr(wanted, name)
        ]
        state.quarantine = f"another device: {', '.join(differing)}"
        self._watch.warn(f"card {card.id} is set aside: {state.quarantine}")

    def _doubt(self, units: Sequence[str]) -> None:
        """Mark what a card measured since it was last found sound, and have it measured again elsewhere."""
        if units and not self._work.sends:
            # only what is in the store can be marked
            self._intake.merge()
        for name in units:
            doubted = next((unit for unit in self._work.units if unit.unit.id == name), None)
            if doubted is None:
                continue
            quarantined = self._cards.quarantined
            self._intake.mark_slow(doubted, quarantined)
            for flying in self._flying.values():
                # whoever is at it still: its first attempts are marked with the others
                if flying.open.unit.id == name:
                    flying.slow_on.update(quarantined)
            self._units.measure_again(doubted, quarantined)

    def _merge(self) -> bool:
        """Merge some of what is new; say whether nothing is left.

        Workers never wait for that: their shards are on the disk.
        """
        return self._work.sends or self._intake.merge(_MERGE_BYTES)

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
            with suppress(Exception):
                # only to be quicker: a worker that gets a task now finds that it is to stop
                future.cancel()
        end = self._watch.clock() + self._watch.stop_s
        while self._flying and self._watch.clock() < end:
            self._units.clear()
            self._wait(min(self._watch.poll_s, 0.1))
        if self._flying:
            self._watch.warn(
                f"{len(self._flying)} workers did not end within {self._watch.stop_s:g} s; what they have "
                "measured is in their shards, which the next call merges"
            )

    def _progress(self) -> None:
        left = len(self._units) + len(self._flying)
        self._watch.tell(self._tally.progress(self._cards, running=len(self._flying), left=left))
