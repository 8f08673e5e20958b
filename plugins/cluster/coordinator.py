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
from dataclasses import replace
from itertools import islice
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError
from ckprof.sweep.sweep import Stop
from ckprof_plugins.cluster.devices import Counters, DeviceTable
from ckprof_plugins.cluster.dispatch import Dispatcher, InFlight
from ckprof_plugins.cluster.engines import Pool
from ckprof_plugins.cluster.folder import LeaseTable
from ckprof_plugins.cluster.merging import Ingest
from ckprof_plugins.cluster.messages import End, answer_of, decode_reply, encode
from ckprof_plugins.cluster.units import POLL_S, UnitQueue, last_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ckprof.store.writer import StoreWriter
    from ckprof_plugins.cluster.engines import EngineSession
    from ckprof_plugins.cluster.merging import Merger
    from ckprof_plugins.cluster.messages import Reply, WorkerDevice
    from ckprof_plugins.cluster.units import ClusterWatch, OpenUnit, Work

#: bytes of shards that are merged before the next look at answers: about a quarter of a second
_MERGE_BYTES: Final = 2 * 2**20
#: share of the silence of a lease after which shards are looked at for signs of life
_LOOK_SHARE: Final = 0.05
#: and share of the time after which a worker is suspected, while devices have nothing to do
_SUSPECT_SHARE: Final = 0.25
#: workers whose signs of life are looked for in one turn
_MOST_LOOKS: Final = 64


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
        rankings = len(work.plans.plan.rankings)
        self._counters = Counters(rankings=rankings, rankings_done=rankings - len(work.units))
        self._leases = LeaseTable(work.leases, work.folder.leases)
        self._units = UnitQueue(work, watch, self._counters)
        doubt_s = None if work.sends else work.leases.doubt_s
        self._tasks = Dispatcher(self._units, self._leases, doubt_s)
        self._merger = merger
        self._ingest = Ingest(writer, merger, watch, self._counters)
        self._in_flight: dict[Future[bytes], InFlight] = {}
        #: tasks that the engine is done with, as they come
        self._done: SimpleQueue[Future[bytes]] = SimpleQueue()
        #: device that was checked since all were compared -> the units that it had finished before
        self._checked: dict[str, list[str]] = {}
        self._devices = DeviceTable(work.reference)
        self._instance = ""
        self._started = watch.clock()

    @property
    def outstanding(self) -> int:
        """Tasks whose workers have not answered; what they measure comes later."""
        return len(self._in_flight)

    def run(self) -> None:
        """Work until nothing is left, the time is over, or a stop is requested; then call :meth:`finish`.

        :raises CkprofError: the store cannot be written, or no worker can measure anything.
        """
        if self._session.outlives_coordinator:
            self._units.set_leased_aside()
        self._merge()
        while not self._tasks.is_over:
            reason = self._reason_to_stop()
            if reason is not None:
                self._counters.stop = reason
                self._stop_workers()
                break
            self._take_hangs()
            self._hand_out()
            self._wait(self._watch.poll_s)

    def finish(self) -> Counters:
        """Merge what is left in the shards, which takes no workers."""
        while not self._merge():
            self._progress()
        self._merger.save()
        self._counters.wall_s = self._watch.clock() - self._started
        self._counters.resolutions = sorted(
            (*self._work.plans.plan.resolutions, *self._counters.measured_resolutions.values()),
            key=lambda pair: pair[0],
        )
        self._counters.devices = tuple(state for _, state in sorted(self._devices.devices.items()))
        self._counters.given_up = self._units.given_up
        return self._counters

    # --- handing out ----------------------------------------------------------------------------------------

    def _hand_out(self) -> None:
        self._units.release_leased()
        slow = self._devices.quarantined, self._devices.suspected
        for unit, original in self._tasks.due(self._session.slots(Pool.RUN), self._watch.clock()):
            objects = original.objects if original is not None else frozenset[str]()
            self._submit(unit, objects, slow, original)

    def _submit(
        self,
        unit: OpenUnit,
        objects: frozenset[str],
        slow: tuple[tuple[str, ...], tuple[str, ...]],
        original: InFlight | None = None,
    ) -> InFlight:
        work = self._work
        quarantined, suspected = slow
        task = replace(
            work.task,
            id=uuid.uuid4().hex,
            unit=encode(unit.unit),
            shared=work.shared,
            reference_instance=self._instance,
            quarantined=quarantined,
            suspected=suspected,
            max_time_s=self._time_left(),
            objects={digest: work.folder.objects.get(digest) or b"" for digest in objects},
        )
        self._watch.on_unit(unit.planned)
        future = self._session.submit(Pool.RUN, encode(task))
        sent = self._in_flight[future] = InFlight(task.id, unit, objects, self._watch.clock())
        self._tasks.add(sent, original)
        future.add_done_callback(self._done.put)
        return sent

    def _time_left(self) -> float | None:
        limit = self._watch.max_time_s
        return None if limit is None else max(0.0, limit - (self._watch.clock() - self._started))

    # --- answers --------------------------------------------------------------------------------------------

    def _wait(self, timeout_s: float) -> None:
        if not self._ingest.complete:
            timeout_s = 0.0
        answered = self._take_done(timeout_s if self._in_flight else min(timeout_s, POLL_S))
        self._merge()
        for future in answered:
            sent = self._tasks.take(self._in_flight.pop(future).id)
            reply = answer_of(future, decode_reply)
            if isinstance(reply, str):
                self._worker_lost(sent, reply)
            else:
                self._answered(sent, reply)
            self._work.folder.started_file(sent.id).unlink(missing_ok=True)
        self._compare_devices()
        self._note_life()
        self._expire()
        self._progress()

    def _take_done(self, timeout_s: float) -> list[Future[bytes]]:
        """Return the tasks that are over; wait for the first one."""
        done: list[Future[bytes]] = []
        with suppress(Empty):
            while True:
                done.append(self._done.get(timeout=0.0 if done else timeout_s))
        return done

    def _answered(self, sent: InFlight, reply: Reply) -> None:
        if reply.shard:
            worker = reply.device.id if reply.device else "a worker"
            self._ingest.count(self._merger.merge_bytes(reply.shard, worker))
        if reply.device is not None:
            self.note_device(reply, sent)
        for kind, count in reply.warnings.items():
            if kind not in self._counters.warnings:
                self._watch.warn(f"{kind} (device {reply.device.id if reply.device else 'unknown'})")
            self._counters.warnings[kind] += count
        self._counters.add_reply(reply)
        device = reply.device.id if reply.device is not None else ""
        if device in sent.slow_on:
            # what came after its first attempts were marked: a store that is read again shall not count it
            self._mark_slow(sent.open, [device])
        if sent.abandoned:
            return
        if reply.end is End.FINISHED and device not in sent.slow_on:
            self._counters.unit_s.append(reply.wall_s)
            self._tasks.finish(sent, device, reply)
        elif reply.end is End.MISSING:
            self._send_objects(sent, reply)
        else:
            self._tasks.put_back(sent, reply.message if reply.end is End.ERROR else "")

    def _send_objects(self, sent: InFlight, reply: Reply) -> None:
        """Have a worker that lacks something get it with the task."""
        wanted = sent.objects | set(reply.missing)
        if wanted == sent.objects:
            self._tasks.put_back(sent, "a worker did not get what it was sent")
        else:
            again = self._submit(sent.open, wanted, (self._devices.quarantined, self._devices.suspected))
            again.state = sent.state
            if sent.copy is not None:
                again.pair(sent.copy)

    def _worker_lost(self, sent: InFlight, reason: str) -> None:
        self._counters.lost += 1
        if sent.abandoned:
            return
        if not self._work.sends:
            # what it had measured counts when the problem is handed out again
            shard = sent.shard or self._work.folder.read_start(sent.id)
            self._ingest.count(self._merger.merge_shard(shard))
        if sent.copy is None:
            where = f"problem {sent.open.unit.problem_index}"
            self._watch.say(f"a worker was lost on {where}: {last_line(reason)}; rescheduled")
        self._tasks.put_back(sent, reason)

    # --- leases ---------------------------------------------------------------------------------------------

    def _note_life(self) -> None:
        """Begin the leases of tasks that workers have begun, and prolong those whose shards grow."""
        now, wall = self._watch.clock(), time.time()
        leases = self._work.leases
        # devices that have nothing to do wait for silence to be noticed
        every_s = _LOOK_SHARE * leases.silence_s
        if self._tasks.idle:
            every_s = min(every_s, _SUSPECT_SHARE * leases.doubt_s)
        due = now - min(self._watch.poll_s, 1.0) - every_s
        waiting = ((future, sent) for future, sent in self._in_flight.items() if sent.looked <= due)
        # some at a time: their files are on a file system that may be far away
        for future, sent in islice(waiting, _MOST_LOOKS):
            sent.looked = now
            if not sent.shard and not self._work.sends:
                sent.shard = self._work.folder.read_start(sent.id)
            size = self._merger.size(sent.shard) if sent.shard else 0
            begun = self._leases.is_waiting(sent.id) and (future.running() or bool(sent.shard))
            if begun or size > sent.size:
                self._leases.renew(sent.id, now, wall)
                sent.seen = now
            sent.size = size

    def _expire(self) -> None:
        for task in self._leases.expired(self._watch.clock()):
            sent = self._tasks.tasks[task]
            self._tasks.abandon(sent)
            if sent.copy is None:
                self._watch.warn(
                    f"a worker is silent for {self._work.leases.silence_s:g} s on problem "
                    f"{sent.open.unit.problem_index}; rescheduled"
                )
            self._tasks.put_back(sent, "its worker fell silent")

    def _take_hangs(self) -> None:
        """Have others do what waits behind kernels that hang."""
        for task, cell in self._work.folder.hangs.named():
            sent = self._tasks.tasks.get(task)
            if sent is not None and self._tasks.split(sent, cell):
                self._work.folder.hangs.end(task)
                name = sent.open.planned.kernels[cell.instance].name
                where = f"problem {sent.open.unit.problem_index}"
                self._watch.say(f"{name} seems to hang on {where}: others get what waits behind it")

    # --- devices --------------------------------------------------------------------------------------------

    def note_device(self, reply: Reply, sent: InFlight | None = None) -> None:
        """Take note of what an answer says of its device.

        :param sent: the task; ``None`` before the first unit was handed out.
        """
        if reply.device is None:
            return
        state = self._devices.note(reply.device, reply.check)
        if reply.end is End.OTHER_DEVICE:
            self._set_aside(reply.device)
        if reply.check is not None:
            self._instance = self._instance or reply.check.instance
            self._checked[reply.device.id] = list(state.unconfirmed)
        if sent is not None and reply.attempts and reply.device.id not in sent.slow_on:
            state.units += reply.end is End.FINISHED
            state.attempts += reply.attempts
            if reply.end is End.FINISHED:
                state.unconfirmed.append(sent.open.unit.id)

    def _compare_devices(self) -> None:
        """See which devices are slow, by the checks that have come since the last time."""
        if self._checked:
            begun, ended = self._devices.judge(self._checked)
            for device in begun:
                self._watch.warn(f"device {device.device.id} is quarantined: {device.quarantine}")
            for device in ended:
                self._watch.say(f"device {device.device.id} is as fast as its peers again")
            for name, before in self._checked.items():
                state = self._devices.devices[name]
                if not state.strikes:
                    state.unconfirmed = [unit for unit in state.unconfirmed if unit not in before]
            self._checked = {}
        for state in self._devices.devices.values():
            # what it had in hand when it was quarantined counts no more than what it had done before
            if state.quarantine and state.unconfirmed:
                unconfirmed, state.unconfirmed = state.unconfirmed, []
                self._discount(unconfirmed)

    def _set_aside(self, device: WorkerDevice) -> None:
        state = self._devices.devices[device.id]
        if state.quarantine:
            return
        wanted, seen = self._work.shared.device, device.key
        differing = [
            f"{name} {getattr(seen, name) or 'unknown'} instead of {getattr(wanted, name) or 'unknown'}"
            for name in ("model", "arch", "compute_units", "memory_bytes", "partition", "threads", "host")
            if getattr(seen, name) != getattr(wanted, name)
        ]
        state.quarantine = f"another device: {', '.join(differing)}"
        self._watch.warn(f"device {device.id} is set aside: {state.quarantine}")

    def _discount(self, units: Sequence[str]) -> None:
        """Mark what a device measured since it was last found sound, and have it measured again elsewhere."""
        quarantined = self._devices.quarantined
        for unit in (unit for unit in self._work.units if unit.unit.id in units):
            self._mark_slow(unit, quarantined)
            for sent in self._in_flight.values():
                # whoever is at it still: its first attempts are marked with the others
                if sent.open.unit.id == unit.unit.id:
                    sent.slow_on.update(quarantined)
            self._units.measure_again(unit, quarantined)

    def _mark_slow(self, unit: OpenUnit, devices: Sequence[str]) -> None:
        """Mark what slow devices measured of a unit so far; only what is in the store can be marked."""
        if not self._work.sends:
            self._ingest.merge()
        self._ingest.mark_slow(unit, devices)

    def _merge(self) -> bool:
        """Merge some of what is new; say whether nothing is left.

        Workers never wait for that: their shards are on the disk.
        """
        return self._work.sends or self._ingest.merge(_MERGE_BYTES)

    # --- the end --------------------------------------------------------------------------------------------

    def _reason_to_stop(self) -> Stop | None:
        if self._watch.should_stop():
            return Stop.REQUESTED
        left = self._time_left()
        return Stop.MAX_TIME if left is not None and left <= 0 else None

    def _stop_workers(self) -> None:
        """Have workers end after the kernel that they measure now, and merge what they have."""
        stop = self._work.folder.stop_file(self._work.task.run)
        try:
            stop.write_text("")
        except OSError as exc:
            raise ToolchainError(f"{stop}: cannot ask the workers to stop: {exc.strerror}") from None
        for future in self._in_flight:
            with suppress(Exception):
                # only to be quicker: a worker that gets a task now finds that it is to stop
                future.cancel()
        end = self._watch.clock() + self._watch.stop_s
        while self._in_flight and self._watch.clock() < end:
            self._units.clear()
            self._wait(min(self._watch.poll_s, 0.1))
        if self._in_flight:
            self._watch.warn(
                f"{len(self._in_flight)} workers did not end within {self._watch.stop_s:g} s; what they have "
                "measured is in their shards, which the next call merges"
            )

    def _progress(self) -> None:
        left = len(self._units) + len(self._in_flight)
        self._watch.emit(self._counters.progress(self._devices, running=len(self._in_flight), left=left))
