"""One kernel of a library that ``ckprof build`` made, as a candidate: the library says what it computes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ckprof.errors import InputError, UsageError
from ckprof.measure.kernel_library import find_kernel, library_kernels
from ckprof.measure.options import RunOptions
from ckprof.measure.requests import parse_kernel
from ckprof.measure.support import opened_library
from ckprof.measure.worker.process import WorkerFailure
from ckprof.model.types import types_on

if TYPE_CHECKING:
    from ckprof.profiler import Profiler
    from ckprof_plugins.judge.candidate import Candidate
    from ckprof_plugins.judge.operands import Task
    from ckprof_plugins.judge.verdicts import JudgeOptions

_DESCRIBE_S: Final = 60.0


def chosen_kernel(
    profiler: Profiler, candidate: Candidate, task: Task, options: JudgeOptions, *, is_chosen: bool
) -> tuple[Candidate, Task]:
    """Return the kernel that is meant, with types, layout and sums as its library says them.

    :param task: what the user has asked for.
    :param options: say on which device, if its kernels are not for the CPU.
    :param is_chosen: types or layout were named.
    :raises InputError: the library cannot be read, or computes something else.
    :raises UsageError: no kernel, or none of several, is named.
    """
    try:
        with opened_library(candidate.loaded, None, candidate.variables) as (remote, _):
            described = remote.describe(_DESCRIBE_S)
    except WorkerFailure as failure:
        raise InputError(f"cannot be loaded: {failure}", candidate.path) from failure
    if described is None:
        raise InputError("the library does not say what its kernels are", candidate.path)
    if described.direction != task.operation.id:
        raise InputError(
            f"the library computes {described.direction}, expected {task.operation.id}", candidate.path
        )
    kernels = library_kernels(task.operation, described)
    if not candidate.function and len(kernels) != 1:
        raise UsageError(
            f"{candidate.path} has {len(kernels)} kernels: name one by its number, its name or its key, "
            f"as in {candidate.path}:0"
        )
    kernel = find_kernel(kernels, parse_kernel(candidate.function) if candidate.function else 0)
    types = types_on(kernel.types(task.operation), described.arch)
    if is_chosen and (kernel.layout, types.operands[0]) != (task.layout, task.types.operands[0]):
        raise UsageError(f"kernel {kernel.name} is for {types.operands[0].value} in {kernel.layout.name}")
    if kernel.layout.ndim != task.layout.ndim:
        raise UsageError(
            f"kernel {kernel.name} is for {kernel.layout.ndim} dimensions: give such a --problem"
        )
    host = next((one.id for one in profiler.registry.targets if one.embedded), "")
    opened = replace(candidate, function=kernel.name, arch=described.arch, key=kernel.key, host=host)
    if options.device is not None:
        name = RunOptions(device=options.device, checks=options.checks).device_name
        variables = profiler.named_device(name).variables(name) if name else {}
        opened = replace(opened, on_device=True, variables={**variables})
    return opened, replace(task, types=types, layout=kernel.layout, split_sum=kernel.split_sum)
