"""Compiling on the workers of a build pool: what is missing in this machine's cache comes from there."""

from __future__ import annotations

import math
from collections import deque
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.api.building import build_dir_for, build_limits
from ckprof.api.events import BuildProgress, SweepMessage, SweepWarning
from ckprof.build.cache import ObjectCache
from ckprof.build.digests import FolderDigests
from ckprof.build.entries import unpack
from ckprof.build.keys import Keys
from ckprof.build.plan import kernel_unit
from ckprof.build.units import locate
from ckprof.errors import Interrupted
from ckprof.flow.kernel_library import generate
from ckprof.model.recipe import Purpose
from ckprof.paths import object_cache_dir
from ckprof.sweep.cluster.build_messages import (
    BuildTask,
    KernelText,
    decode_build_reply,
    decode_entry,
    encode_build,
)
from ckprof.sweep.cluster.engine import Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from ckprof.api.running import RunRequest
    from ckprof.api.session import Session
    from ckprof.build.plan import Unit
    from ckprof.sweep.cluster.build_messages import BuildReply
    from ckprof.sweep.cluster.engine import EngineSession
    from ckprof.sweep.cluster.folder import SweepFolder

#: tasks per worker: enough that all end at about the same time
_TASKS_PER_WORKER: Final = 4
#: kernels of one task: what is lost with a worker
_MOST_KERNELS: Final = 32
#: times that a task is handed out
_ATTEMPTS: Final = 3
_LOOK_S: Final = 0.5


class PoolBuild:
    """The kernels of a sweep that the cache of this machine lacks.

    What cannot be compiled by the pool is left to the build that follows, which also says why.

    :param folder: what workers and coordinator see; ``None`` if everything travels through the engine.
    """

    def __init__(self, session: Session, request: RunRequest, folder: SweepFolder | None) -> None:
        self._session = session
        self._request = request
        self._folder = folder
        self._cache = ObjectCache(object_cache_dir())

    def missing(self) -> list[BuildTask]:
        """Return what has to be compiled, one task per kernel."""
        session, request = self._session, self._request
        candidates = request.selection.candidates
        build_dir = build_dir_for(session, candidates, request.build, Purpose.RUN)
        recipe = build_dir.recipe
        with build_dir.lock:
            tree, _ = generate(candidates, build_dir, keep_invalid=request.selection.keep_invalid)
            keys = Keys(recipe, FolderDigests(self._cache.folder_digests))
            units = [kernel_unit(kernel, tree.root, keys) for kernel in tree.kernels]
            found = locate(units, self._cache, recipe.product)
            texts = [_text(unit) for unit in units if unit.key not in found]
        plugins = [one.location for one in session.manager.plugins if one.is_loose and not one.error]
        limits = build_limits(session, request.build)
        return [
            BuildTask(
                target=recipe.target,
                arch=recipe.arch,
                api_level=recipe.api_level,
                compiler=request.build.compiler or session.settings.compiler or "",
                ck_root=str(request.build.ck_root.absolute()) if request.build.ck_root else "",
                library_name=tree.library_name,
                kernels=(text,),
                timeout_s=limits.compile_timeout_s,
                folder=str(self._folder.root) if self._folder is not None else "",
                plugins=tuple(plugins),
                architectures=tuple(
                    str(Path(name).expanduser().absolute()) for name in session.settings.architectures
                ),
            )
            for text in texts
        ]

    def run(self, tasks: Sequence[BuildTask], engine: EngineSession, should_stop: Callable[[], bool]) -> None:
        """Have the pool compile, and put what it made into the cache of this machine.

        :raises Interrupted: a stop was requested; what came until then is in the cache.
        """
        slots = max(1, engine.slots(Pool.BUILD))
        waiting = deque((task, 1) for task in combined(tasks, slots))
        self._say(f"{len(tasks)} kernels are compiled by {slots} workers in {len(waiting)} tasks")
        flying: dict[Future[bytes], tuple[BuildTask, int]] = {}
        done = 0
        while waiting or flying:
            if should_stop():
                raise Interrupted
            while waiting and len(flying) <= slots:
                task, attempt = waiting.popleft()
                flying[engine.submit(Pool.BUILD, encode_build(task))] = task, attempt
            wait(flying, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
            for future in [one for one in flying if one.done()]:
                task, attempt = flying.pop(future)
                error = future.exception()
                reply = decode_build_reply(future.result()) if error is None else None
                if reply is not None and not reply.message:
                    self._keep(reply)
                    done += len(task.kernels)
                    name = task.kernels[-1].name
                    self._session.tell(BuildProgress(done=done, total=len(tasks), name=name))
                elif attempt < _ATTEMPTS:
                    waiting.append((task, attempt + 1))
                else:
                    why = reply.message if reply is not None else str(error)
                    self._session.tell(
                        SweepWarning(text=f"{len(task.kernels)} kernels are left to this machine: {why}")
                    )

    def _keep(self, reply: BuildReply) -> None:
        unpack(self._cache, reply.entries)
        if self._folder is not None:
            found = (self._folder.objects.get(digest) for digest in reply.kept)
            unpack(self._cache, (decode_entry(data) for data in found if data is not None))

    def _say(self, text: str) -> None:
        self._session.tell(SweepMessage(text=text))


def combined(tasks: Sequence[BuildTask], slots: int) -> list[BuildTask]:
    """Put kernels together, such that each worker gets some tasks and none of them is large."""
    size = min(_MOST_KERNELS, max(1, math.ceil(len(tasks) / (slots * _TASKS_PER_WORKER))))
    parts = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    return [replace(part[0], kernels=tuple(one for task in part for one in task.kernels)) for part in parts]


def _text(unit: Unit) -> KernelText:
    kernel = unit.kernel
    assert kernel is not None  # noqa: S101 - only units of kernels are asked
    header, entry = (path.relative_to(unit.root).as_posix() for path in (kernel.header, kernel.entry))
    return KernelText(
        instance=kernel.instance.key,
        object_key=unit.key,
        name=kernel.name,
        symbol=kernel.symbol,
        weight=kernel.weight,
        header=(header, kernel.header.read_text(encoding="utf-8")),
        entry=(entry, kernel.entry.read_text(encoding="utf-8")),
    )
