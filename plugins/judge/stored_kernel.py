"""The best kernel that a store knows, built again so that it can run beside a candidate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import CkprofError, InputError
from ckprof.kernels.candidates import list_candidates
from ckprof.kernels.choose import Selection
from ckprof.kernels.requests import BuildOptions
from ckprof.lists.catalogs import write_catalog
from ckprof.model.catalog import Catalog
from ckprof.store.query import StoreQuery
from ckprof.store.store import Store
from ckprof_plugins.judge.candidate import OpenRequest, open_candidate
from ckprof_plugins.judge.library_kernel import chosen_kernel

if TYPE_CHECKING:
    from pathlib import Path

    from ckprof.kernels.candidates import Candidate as Kernel
    from ckprof.profiler import Profiler
    from ckprof.store.query import MeasurementSummary
    from ckprof_plugins.judge.candidate import Candidate
    from ckprof_plugins.judge.operands import Place, Task
    from ckprof_plugins.judge.verdicts import JudgeOptions

_LIST: Final = "best.conf"


def best_known(path: Path, task: Task, place: Place) -> MeasurementSummary | None:
    """Return the fastest measurement of a problem with a task's type and layout; ``None`` without any.

    :raises InputError: the store cannot be read.
    """
    query = StoreQuery(direction=task.operation.id, problem=place.problem, dtype=task.types.operands[0].value)
    with Store(path) as store:
        known = [one for one in store.best(query) if one.time_ms and one.kernel.layout == task.layout.name]
    return min(known, key=lambda one: one.time_ms or 0.0, default=None)


def built_again(
    profiler: Profiler,
    best: MeasurementSummary,
    task: Task,
    options: JudgeOptions,
    folder: Path,
    beside: Candidate,
) -> Candidate:
    """Return a stored kernel as something that runs where a candidate does.

    :param beside: the candidate.
    :param folder: where its list and library lie; must exist.
    :raises CkprofError: it cannot be built, or does not run here.
    """
    target, arch = best.key.device.target, best.key.device.arch
    on_host = any(one.id == target and one.embedded for one in profiler.registry.targets)
    # the same kernels run on a GPU and on the emulated device of its architecture
    if on_host == beside.on_device or (beside.on_device and arch != beside.arch) or beside.gpu is not None:
        where = best.key.device.model or target
        raise InputError(f"it was measured on {where}, which the candidate does not run on")
    wanted = best.key.kernel.instance
    kernel = next((one for one in _kernels(profiler, best, task, folder) if one.instance.key == wanted), None)
    if kernel is None:
        raise InputError("neither its string nor its fields say which kernel it is")
    selection = Selection(conversions=(), candidates=(kernel,), source=f"the store's {kernel.name}")
    device = options.device if isinstance(options.device, str) else ""
    built = profiler.build(selection, BuildOptions(target=target, arch=arch or None, device=device))
    if built.path is None:
        raise InputError("; ".join(one.reason for one in built.rejected) or "it does not compile")
    opened = open_candidate(OpenRequest(path=built.path, function="0", folder=folder))
    return chosen_kernel(profiler, opened, task, options, is_chosen=True)[0]


def _kernels(profiler: Profiler, best: MeasurementSummary, task: Task, folder: Path) -> Iterator[Kernel]:
    """Yield kernels that may be the stored one, by its string and by its fields."""
    text, registry = best.kernel.instance_string, profiler.registry
    if text:
        path = folder / _LIST
        path.write_text(f"{text}\n", "utf-8")
        try:
            yield from list_candidates([profiler.read(path, direction=task.operation.id)], registry)
        except CkprofError:
            pass  # a string that no list has
    fields = dict(best.kernel.fields)
    for number, variant in enumerate(registry.variants):
        names = variant.record_type.__struct_fields__[1:]
        if variant.direction != task.operation.id or not set(names) <= set(fields):
            continue
        try:
            record = msgspec.convert({"id": 0, **{name: fields[name] for name in names}}, variant.record_type)
        except msgspec.ValidationError:
            continue
        catalog = Catalog(
            variant=variant.name,
            ndim=task.layout.ndim,
            layout=task.layout,
            dtype=task.types.operands[0],
            records=(record,),
        )
        path = folder / f"best{number}.json"
        write_catalog(path, catalog)
        yield from list_candidates([profiler.read(path, direction=task.operation.id)], registry)
