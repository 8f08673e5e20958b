"""What a worker of an engine runs: opens plugins, library and device once, then serves unit after unit."""

from __future__ import annotations

import atexit
import platform
import time
import uuid
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.api.session import Session as ProfilerSession
from ckprof.api.session import ignore
from ckprof.arch.architectures import use_files
from ckprof.config.settings import Settings
from ckprof.errors import CkprofError, ToolchainError
from ckprof.paths import cache_dir
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.operations import layout_named
from ckprof.run.host import cpu_model, host_properties
from ckprof.store.attempt import CARD, Session
from ckprof.sweep.cluster.folder import SweepFolder
from ckprof.sweep.cluster.messages import (
    Card,
    End,
    Reply,
    decode_job,
    decode_task,
    decode_task_head,
    encode,
)
from ckprof.sweep.cluster.objects import ObjectFolder, ObjectSource
from ckprof.sweep.cluster.unit_runner import UnitRunner
from ckprof.sweep.engine import VisitResult
from ckprof.sweep.identity import device_key, identify_device
from ckprof.sweep.kernel_bench import BenchKernel, BenchLibrary, KernelBench, NoHooks
from ckprof.version import __version__

if TYPE_CHECKING:
    from ckprof.run.options import RunOptions
    from ckprof.sweep.cluster.engine import Slot
    from ckprof.sweep.cluster.messages import Job, TaskHead

#: what engines call in their workers
HANDLER = "ckprof.api.sweep_worker:handle"


@dataclass(slots=True, kw_only=True)
class _Opened:
    """What a worker keeps from task to task."""

    job: str
    runner: UnitRunner
    stack: ExitStack


_opened: _Opened | None = None


def handle(payload: bytes, slot: Slot) -> bytes:
    """Serve one task.

    Errors of ckprof are answers: another worker may do better. Whatever else is raised costs the task, and
    the engine decides what becomes of the worker.
    """
    task = decode_task_head(payload)
    try:
        # problems of plugins are known as soon as these are loaded
        runner = _runner(task, slot)
        reply = runner.serve(decode_task(payload))
    except _MissingObjects as exc:
        reply = Reply(task=task.id, end=End.MISSING, missing=exc.digests)
    except CkprofError as exc:
        # whatever is broken, the next task begins from scratch
        close()
        reply = Reply(task=task.id, end=End.ERROR, message=f"{platform.node()}: {exc}")
    return encode(reply)


def close() -> None:
    """Give the device back and close the shard."""
    global _opened
    opened, _opened = _opened, None
    if opened is not None:
        opened.stack.close()


class _MissingObjects(Exception):
    def __init__(self, *digests: str) -> None:
        super().__init__(", ".join(digests))
        self.digests = digests


def _runner(task: TaskHead, slot: Slot) -> UnitRunner:
    global _opened
    if _opened is not None and _opened.job != task.job:
        close()
    if _opened is None:
        with ExitStack() as stack:
            runner = _open(task, slot, stack)
            _opened = _Opened(job=task.job, runner=runner, stack=stack.pop_all())
            atexit.register(close)
    return _opened.runner


def _open(task: TaskHead, slot: Slot, stack: ExitStack) -> UnitRunner:
    own = cache_dir() / "sweep-worker"
    shared = SweepFolder(root=Path(task.folder)).objects if task.folder else None
    source = ObjectSource(ObjectFolder(own / "objects"), shared)
    path = source.find(task.job, task.objects)
    if path is None:
        raise _MissingObjects(task.job)
    job = decode_job(path.read_bytes())
    library: Path | None = None
    if job.library:
        library = source.find(job.library, task.objects)
        if library is None:
            raise _MissingObjects(task.job, job.library)
    _check_same_program(job)
    use_files(Path(name) for name in job.architectures)
    manager = PluginManager()
    manager.load_all(configured=job.plugins)
    session = ProfilerSession(settings=Settings(), manager=manager, tell=ignore)
    from ckprof.api.observers import observers

    options = replace(job.options, device=slot.device)
    bench = stack.enter_context(
        KernelBench(
            _bench_library(job, session, library),
            options,
            NoHooks(),
            observers(session),
            device_label=slot.label,
        )
    )
    identity = identify_device(
        session.target(job.target), job.arch, job.machine_identity, options, bench.device
    )
    card = Card(
        id=f"{platform.node()}:{slot.label}",
        host=platform.node(),
        device=device_key(job.target, job.arch, identity),
        driver=identity.driver,
        clock=identity.clock,
        text=bench.device.text,
    )
    runner = UnitRunner(
        job=job, bench=bench, card=card, session=_session(job, card, options), own_shards=own / "shards"
    )
    stack.callback(runner.close)
    return runner


def _check_same_program(job: Job) -> None:
    """Refuse to measure with another version, or to run code of another CPU.

    :raises ToolchainError: something differs.
    """
    if job.version != __version__:
        raise ToolchainError(
            f"this worker has ckprof {__version__}, the coordinator {job.version}: install the same version"
        )
    if job.cpu_model and job.cpu_model != cpu_model():
        raise ToolchainError(
            f"the kernels were built for {job.cpu_model}, this worker runs on {cpu_model()}: use machines "
            "of one kind"
        )


def _bench_library(job: Job, session: ProfilerSession, path: Path | None) -> BenchLibrary:
    operation = session.registry.operation(job.direction)
    kernels = {}
    for one in job.kernels:
        dtype, layout = one.planned.info.dtype, layout_named(operation, one.planned.info.layout)
        if dtype is not None and layout is not None:
            kernels[one.planned.instance] = BenchKernel(layout=layout, dtype=dtype, split_sum=one.split_sum)
    return BenchLibrary(
        path=path,
        direction=operation,
        target=job.target,
        arch=job.arch,
        kernels=kernels,
        rejections={
            one.planned.instance: VisitResult(
                status=one.rejection[0], reason=one.rejection[1], requirements=one.rejection[2]
            )
            for one in job.kernels
            if one.rejection is not None
        },
    )


def _session(job: Job, card: Card, options: RunOptions) -> Session:
    return Session(
        uid=uuid.uuid4().hex,
        started=time.time(),
        host=platform.node(),
        ckprof_version=__version__,
        argv=job.argv,
        git_commit=job.git_commit,
        git_dirty=job.git_dirty,
        seed=job.rounds.seed,
        tags=job.tags,
        environment={
            "host": host_properties(),
            "options": options.as_plain(),
            "device": card.text,
            CARD: {"id": card.id, "partition": card.device.partition},
        },
    )
