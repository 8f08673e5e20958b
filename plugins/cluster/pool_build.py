"""Compiling on the workers of a build pool: what is missing in this machine's cache comes from there."""

from __future__ import annotations

import math
import platform
from collections import deque
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import CkprofError, Interrupted, ToolchainError
from ckprof.events import Level, Message, Progress, ProgressEnded
from ckprof.files import scratch_folder
from ckprof.formatting import counted
from ckprof.kernels.build_dir import build_dir_for
from ckprof.kernels.builder import build_tree
from ckprof.kernels.cache import OBJECT, RECORD, ObjectCache
from ckprof.kernels.keys import FolderDigests, KernelFolder, KernelSources, Keys
from ckprof.kernels.source_tree import generate_tree
from ckprof.kernels.units import kernel_unit, locate
from ckprof.model.recipe import BuildRequest, Product, Purpose
from ckprof.paths import object_cache_dir
from ckprof.session import Session
from ckprof_plugins.cluster.engines import Pool
from ckprof_plugins.cluster.folder import SweepFolder
from ckprof_plugins.cluster.messages import (
    BuildReply,
    BuildTask,
    KernelText,
    Loaded,
    PackedEntry,
    answer_of,
    decode_build_reply,
    decode_build_task,
    decode_entry,
    encode,
    worker_session,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from ckprof.kernels.units import Unit
    from ckprof.measure.requests import RunRequest
    from ckprof.session import Session
    from ckprof_plugins.cluster.engines import EngineSession, Slot
    from ckprof_plugins.cluster.folder import SweepFolder
    from ckprof_plugins.cluster.messages import BuildTask


#: tasks per worker: enough that all end at about the same time
_TASKS_PER_WORKER: Final = 4
#: kernels of one task: what is lost with a worker
_MOST_KERNELS: Final = 32
#: times that a task is handed out
_ATTEMPTS: Final = 3
_LOOK_S: Final = 0.5


def build_missing(
    session: Session,
    request: RunRequest,
    folder: SweepFolder | None,
    open_engine: Callable[[], EngineSession],
    should_stop: Callable[[], bool],
) -> None:
    """Have the build pool compile what the cache lacks, and give its workers back before devices are used.

    :param folder: what workers and coordinator see; ``None`` if everything travels through the engine.
    """
    missing = missing_kernels(session, request, folder)
    if not missing.kernels:
        return
    engine = open_engine()
    try:
        compile_in_pool(session, folder, missing, engine, should_stop)
    finally:
        session.emit(ProgressEnded())
        engine.close(now=True)


def missing_kernels(session: Session, request: RunRequest, folder: SweepFolder | None) -> BuildTask:
    """Return what has to be compiled."""
    cache = ObjectCache(object_cache_dir())
    candidates = request.selection.candidates
    build_dir = build_dir_for(session, candidates, request.build, Purpose.RUN)
    recipe = build_dir.recipe
    with build_dir.lock:
        valid, _ = request.selection.checked_for(build_dir.arch, recipe.api_level)
        tree = generate_tree(build_dir, valid)
        keys = Keys(recipe, FolderDigests(cache.folder_digests))
        units = [kernel_unit(kernel, tree.root, keys) for kernel in tree.kernels]
        compiled = locate(units, cache, recipe.product)
        texts = tuple(_text(unit) for unit in units if unit.key not in compiled)
    return BuildTask(
        target=recipe.target,
        arch=recipe.arch,
        api_level=recipe.api_level,
        compiler=request.build.compiler or session.settings.compiler or "",
        ck_root=str(request.build.ck_root.absolute()) if request.build.ck_root else "",
        device=request.build.device,
        library_name=tree.library_name,
        kernels=texts,
        timeout_s=request.build.compile_timeout_s or session.settings.compile_timeout,
        folder=str(folder.root) if folder is not None else "",
        loaded=Loaded.of(session),
    )


def compile_in_pool(
    session: Session,
    folder: SweepFolder | None,
    missing: BuildTask,
    engine: EngineSession,
    should_stop: Callable[[], bool],
) -> None:
    """Have the pool compile, and put what it made into the cache of this machine.

    What cannot be compiled by the pool is left to the build that follows, which also says why.

    :raises Interrupted: a stop was requested; what came until then is in the cache.
    """
    slots, cache = max(1, engine.slots(Pool.BUILD)), ObjectCache(object_cache_dir())
    total, done = len(missing.kernels), 0
    waiting = deque((task, 1) for task in divided(missing, slots))
    workers, split = counted(slots, "worker"), counted(len(waiting), "task")
    session.emit(Message(f"{counted(total, 'kernel')} are compiled by {workers} in {split}"))
    sent: dict[Future[bytes], tuple[BuildTask, int]] = {}
    while waiting or sent:
        if should_stop():
            raise Interrupted
        while waiting and len(sent) <= slots:
            task, attempt = waiting.popleft()
            sent[engine.submit(Pool.BUILD, encode(task))] = task, attempt
        wait(sent, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
        for future in [future for future in sent if future.done()]:
            task, attempt = sent.pop(future)
            reply = answer_of(future, decode_build_reply)
            if isinstance(reply, BuildReply) and not reply.message:
                unpack(cache, reply.entries)
                if folder is not None:
                    entries = (folder.objects.get(digest) for digest in reply.kept)
                    unpack(cache, (decode_entry(data) for data in entries if data is not None))
                done += len(task.kernels)
                name = task.kernels[-1].name
                session.emit(Progress(what="build", done=done, total=total, name=name))
            elif attempt < _ATTEMPTS:
                waiting.append((task, attempt + 1))
            else:
                why = reply if isinstance(reply, str) else reply.message
                left = f"{counted(len(task.kernels), 'kernel')} left to this machine: {why}"
                session.emit(Message(left, Level.WARNING))


def divided(task: BuildTask, slots: int) -> list[BuildTask]:
    """Divide kernels, such that each worker gets some tasks and none of them is large."""
    count = len(task.kernels)
    size = min(_MOST_KERNELS, max(1, math.ceil(count / (slots * _TASKS_PER_WORKER))))
    return [replace(task, kernels=task.kernels[start : start + size]) for start in range(0, count, size)]


def _text(unit: Unit) -> KernelText:
    kernel = unit.kernel
    assert kernel is not None  # noqa: S101 - only units of kernels are asked
    header, entry = (path.relative_to(unit.root).as_posix() for path in (kernel.header, kernel.entry))
    return KernelText(
        instance=kernel.key,
        object_key=unit.key,
        name=kernel.name,
        symbol=kernel.symbol,
        weight=kernel.weight,
        header=(header, kernel.header.read_text(encoding="utf-8")),
        entry=(entry, kernel.entry.read_text(encoding="utf-8")),
    )


#: what engines call in their workers
BUILD_HANDLER = "ckprof_plugins.cluster.pool_build:handle"


def handle(payload: bytes, slot: Slot) -> bytes:
    """Compile the kernels of one task. Errors of ckprof are answers."""
    del slot
    task = decode_build_task(payload)
    try:
        reply = _compile(task)
    except CkprofError as exc:
        reply = BuildReply(message=f"{platform.node()}: {exc}")
    return encode(reply)


def _compile(task: BuildTask) -> BuildReply:
    session = worker_session(task.loaded)
    recipe = session.recipe(
        session.target(task.target),
        BuildRequest(
            arch=task.arch,
            api_level=task.api_level or None,
            compiler=task.compiler or None,
            ck_root=Path(task.ck_root) if task.ck_root else None,
            device=task.device,
        ),
    )
    cache = ObjectCache(object_cache_dir())
    wanted = {kernel.instance: kernel.object_key for kernel in task.kernels}
    with scratch_folder() as folder:
        result = build_tree(
            _write(task, folder),
            # objects are wanted, no library
            replace(recipe, product=Product.CODE_OBJECTS),
            work_dir=folder / "build",
            cache=cache,
            timeout_s=task.timeout_s,
        )
    differing = [built for built, key in result.object_keys.items() if wanted.get(built) != key]
    if differing:
        raise ToolchainError(
            f"compiler, flags or headers are others here than where the sweep was begun "
            f"(here: {recipe.compiler.description}); use the same image or modules on all machines"
        )
    entries = pack(cache, (wanted[instance] for instance in result.objects))
    if not task.folder:
        return BuildReply(entries=tuple(entries))
    shared = SweepFolder(Path(task.folder)).objects
    return BuildReply(kept=tuple(shared.put(encode(entry)) for entry in entries))


def _write(task: BuildTask, root: Path) -> KernelFolder:
    files = []
    for kernel in task.kernels:
        header, entry = root / kernel.header[0], root / kernel.entry[0]
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text(kernel.header[1], encoding="utf-8")
        entry.write_text(kernel.entry[1], encoding="utf-8")
        files.append(
            KernelSources(
                key=kernel.instance,
                name=kernel.name,
                header=header,
                entry=entry,
                symbol=kernel.symbol,
                weight=kernel.weight,
            )
        )
    return KernelFolder(root=root, library_name=task.library_name, kernels=tuple(files))


def pack(cache: ObjectCache, keys: Iterable[str]) -> list[PackedEntry]:
    """Return the objects that hold some kernels; kernels that the cache does not hold are left out.

    :param keys: content keys of kernels.
    """
    packed: dict[str, PackedEntry] = {}
    for key in keys:
        shared, members = ("", ()) if cache.find(key) is not None else cache.group_of(key)
        holder = shared or key
        if holder in packed or cache.find(holder) is None:
            continue
        folder = cache.entry(holder)
        packed[holder] = PackedEntry(
            key=holder,
            object=(folder / OBJECT).read_bytes(),
            record=(folder / RECORD).read_bytes(),
            members=members,
        )
    return list(packed.values())


def unpack(cache: ObjectCache, entries: Iterable[PackedEntry]) -> int:
    """Add objects to a cache, and return how many of them it did not have.

    :raises ToolchainError: the cache cannot be written.
    """
    added = 0
    for entry in entries:
        folder_in_cache = cache.entry(entry.key)
        if cache.find(entry.key) is None:
            with cache.staging() as staging:
                try:
                    folder = staging / entry.key
                    folder.mkdir()
                    (folder / OBJECT).write_bytes(entry.object)
                    (folder / RECORD).write_bytes(entry.record)
                    folder_in_cache.parent.mkdir(parents=True, exist_ok=True)
                    folder.rename(folder_in_cache)
                except FileExistsError:
                    pass  # somebody else was quicker
                except OSError as exc:
                    if not folder_in_cache.exists():
                        raise cache.unwritable(exc.strerror or str(exc)) from exc
            # one that was damaged on its way is removed, and compiled here
            added += cache.find(entry.key) is not None
        if entry.members:
            cache.note_group(entry.key, entry.members)
    return added
