"""What a worker of an engine runs: opens plugins, library and device once, then serves task after task."""

from __future__ import annotations

import atexit
import platform
import time
import uuid
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import CkprofError, ToolchainError
from ckprof.measure.bench import BenchLibrary, KernelBench
from ckprof.measure.canary import find_canary
from ckprof.measure.host import cpu_model, host_properties
from ckprof.paths import cache_dir
from ckprof.store.attempt import DEVICE, SOURCES, SWEEP
from ckprof.sweep.evidence import LAYERS, canary_evidence, ceiling_evidence, device_ceilings
from ckprof.sweep.identity import device_key, identify_device, source_digests
from ckprof_plugins.cluster.folder import ObjectFolder, SweepFolder
from ckprof_plugins.cluster.messages import (
    SECOND_PROBLEMS,
    End,
    Reply,
    WorkerDevice,
    decode_job,
    decode_task,
    encode,
    worker_session,
)
from ckprof_plugins.cluster.unit_runner import UnitRunner

if TYPE_CHECKING:
    from ckprof_plugins.cluster.engines import Slot
    from ckprof_plugins.cluster.messages import Task


#: what engines call in their workers
HANDLER = "ckprof_plugins.cluster.sweep_worker:handle"


#: what a worker keeps from task to task: the digest of the job, and what serves it until it is closed
_opened: tuple[str, UnitRunner, KernelBench, ExitStack] | None = None


def handle(payload: bytes, slot: Slot) -> bytes:
    """Serve one task.

    Errors of ckprof are answers: another worker may do better. Whatever else is raised costs the task, and
    the engine decides what becomes of the worker.
    """
    task = decode_task(payload)
    try:
        reply = _runner(task, slot).serve(task)
    except _MissingObjects as exc:
        reply = Reply(task=task.id, end=End.MISSING, missing=exc.args)
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
        opened[-1].close()


class _MissingObjects(Exception):
    """Digests of what a worker needs, and cannot reach."""


def _runner(task: Task, slot: Slot) -> UnitRunner:
    global _opened
    if _opened is not None and _opened[0] != task.job:
        close()
    if _opened is None:
        with ExitStack() as stack:
            _opened = task.job, *_open(task, slot, stack), stack.pop_all()
            atexit.register(close)
    _, runner, bench, _ = _opened
    bench.second.known = task.known
    return runner


def _open(task: Task, slot: Slot, stack: ExitStack) -> tuple[UnitRunner, KernelBench]:
    own_folder = cache_dir() / "sweep-worker"
    shared = SweepFolder(Path(task.folder)).objects if task.folder else None
    own = ObjectFolder(own_folder / "objects")
    path = own.find(task.job, shared, task.objects)
    if path is None:
        raise _MissingObjects(task.job)
    job = decode_job(path.read_bytes())
    library: Path | None = None
    if job.library:
        library = own.find(job.library, shared, task.objects)
        if library is None:
            raise _MissingObjects(task.job, job.library)
    session = worker_session(job.loaded)
    if job.cpu_model and job.cpu_model != cpu_model():
        raise ToolchainError(
            f"the kernels were built for {job.cpu_model}, this worker runs on {cpu_model()}: use machines "
            "of one kind"
        )
    named = job.options.device_name
    options = job.options if named else replace(job.options, device=slot.device)
    built = BenchLibrary(
        path=library,
        operation=session.registry.operation(job.direction),
        target=job.target,
        arch=job.arch,
        worker_variables=dict(job.worker_variables),
        rejections={rejection.key: rejection for rejection in job.rejections},
        second_problems=SECOND_PROBLEMS.decode(job.second_problems),
    )
    bench = stack.enter_context(KernelBench(built, options, [*session.registry.observers], lock=slot.label))
    bench.canary = find_canary(session, job.target, job.arch, options)
    target = session.target(job.target)
    identity = identify_device(target, job.arch, job.machine_identity, options, bench.identity)
    device = WorkerDevice(
        id=f"{platform.node()}:{slot.label}",
        key=device_key(job.target, job.arch, identity),
        driver=identity.driver,
        clock=identity.clock,
    )
    dtypes = [kernel.dtype for kernel in job.kernels]
    ceilings = device_ceilings(target, job.arch, options.device, bench.measure_peak, dtypes)
    layers = job.session.environment.get(LAYERS)
    own_session = replace(
        job.session,
        uid=uuid.uuid4().hex,
        started=time.time(),
        host=platform.node(),
        environment={
            "host": host_properties(),
            "options": options.as_plain(),
            "device": bench.device,
            SOURCES: source_digests(session.manager),
            DEVICE: {"id": device.id, "partition": device.key.partition},
            **({LAYERS: layers} if layers else {}),
            SWEEP: task.job,
            **ceiling_evidence(device.key, ceilings),
            **canary_evidence(device.key, bench.canary),
        },
    )
    runner = UnitRunner(job, bench, device, own_session, own_folder / "shards")
    stack.callback(runner.close)
    return runner, bench
