"""Kernels on demand for Python programs: chosen, built in parallel, loaded, called."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckprof.argument_types import checked
from ckprof.errors import NothingLeftError, ToolchainError, UsageError
from ckprof.kernels.choose import Selection, chosen_architecture
from ckprof.kernels.requests import BuildOptions, InstanceQuery
from ckprof.measure.kernel_library import KernelLibrary, Timing
from ckprof.model.problem_case import plain
from ckprof.model.recipe import BuildRequest
from ckprof.model.types import SHARED_TYPES, DataType
from ckprof.profiler import Profiler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.measure.kernel_library import LibraryKernel, LibraryResult
    from ckprof.model.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class JitKernel:
    """A built kernel that can be called."""

    name: str
    instance_string: str
    problem: Problem
    kernel: LibraryKernel
    library: KernelLibrary

    def __call__(self, **operands: NDArray[Any]) -> NDArray[Any]:
        """Compute the result of the problem.

        :param operands: the two operands by tensor name, in the memory order of the kernel's layout; see
            :meth:`~ckprof.measure.kernel_library.KernelLibrary.run`, which says what is raised.
        :returns: the third tensor.
        """
        return self.run(operands).output

    def run(
        self, operands: dict[str, NDArray[Any]], *, split_k: int = 1, timing: Timing | None = None
    ) -> LibraryResult:
        """Compute the result and say how long it took."""
        return self.library.run(self.problem, operands, self.kernel, split_k=split_k, timing=timing)

    def rejection(self, split_k: int = 1) -> str:
        """Return why the kernel does not support the problem; empty if it does."""
        return self.library.rejection(self.kernel, self.problem, split_k)


@checked
def jit(
    problem: Problem,
    direction: str,
    *,
    rule_set: str | None = None,
    conf: str | Path | Sequence[str | Path] = (),
    filters: str | Sequence[str] = (),
    dtype: str | None = None,
    limit: int | None = None,
    arch: str | None = None,
    target: str | None = None,
    compiler: str | None = None,
    jobs: int | None = None,
    compile_timeout_s: float | None = None,
    profiler: Profiler | None = None,
) -> list[JitKernel]:
    """Build kernels for a problem in parallel and return those that support it, ready to be called.

    Objects and libraries are cached as those of the command line are: a second process with the same request
    compiles nothing.

    :param problem: K and C per group.
    :param direction: id or alias.
    :param rule_set: where kernels come from; the one that is made for it if neither this nor ``conf`` is
        given.
    :param conf: instance lists instead: paths, or names of lists that ship with ckprof.
    :param filters: as ``--filter``: expressions over the fields, or regular expressions over names.
    :param dtype: ``fp32``, ``fp16`` or ``bf16``; by default all types that there are.
    :param limit: build at most that many, the first ones.
    :param arch: architecture; by default that of the settings or of the target.
    :param target: id; by default that of the settings or the one that needs no device.
    :param compiler: name, path or command; by default the first usable one.
    :param jobs: compilers at once; by default one per usable CPU.
    :param compile_timeout_s: seconds that one kernel's compilation may take, without waiting for a CPU.
    :param profiler: a session that is open already; by default one of its own.
    :raises CkprofError: a name, filter, list or combination is wrong, or no kernel is valid and fits.
    :raises ToolchainError: there is no compiler, or nothing compiled.
    """
    session = profiler or Profiler()
    dtypes = SHARED_TYPES if dtype is None else (DataType.parse(dtype),)
    options = BuildOptions(
        target=target, arch=arch, compiler=compiler, jobs=jobs, compile_timeout_s=compile_timeout_s
    )
    if conf and rule_set:
        raise UsageError("conf and rule_set contradict each other: name the instances once")
    if limit is not None and limit < 1:
        raise UsageError(f"jit: limit is {limit}, expected at least 1")
    query = InstanceQuery(
        directions=direction,
        filters=filters if isinstance(filters, str) else tuple(filters),
        conf=conf if isinstance(conf, (str, Path)) else tuple(conf),
        rule_set=None if conf else rule_set or _on_demand_rule_set(session),
        ndims=() if conf else (problem.ndim,),
        dtypes=() if conf else dtypes,
        target=target,
        arch=arch,
        api_level=_api_level(session, options),
        check_arch=True,
    )
    selection = _fitting(session.instances(query), problem, dtypes, limit)
    built = session.build(selection, options)
    if built.path is None:
        raise ToolchainError(
            f"none of {len(selection.candidates)} kernels compiled: {built.rejected[0].reason}"
        )
    library = KernelLibrary(built.path, arch=built.recipe.arch)
    kernels = {kernel.key: kernel for kernel in library.kernels}
    ready = [
        JitKernel(
            name=candidate.name,
            instance_string=candidate.instance_string,
            problem=plain(problem),
            kernel=kernels[candidate.instance.key],
            library=library,
        )
        for candidate in built.built
    ]
    return [kernel for kernel in ready if not kernel.rejection()]


def _fitting(
    selection: Selection, problem: Problem, dtypes: Sequence[DataType], limit: int | None
) -> Selection:
    """Choose the instances of a problem's dimensions and of some types, the first ones up to a limit."""
    fitting = tuple(
        candidate
        for candidate in selection.candidates
        if candidate.instance.ndim == problem.ndim and candidate.instance.dtype in dtypes
    )[:limit]
    if not fitting:
        valid = len(selection.candidates) + selection.filtered
        architecture = selection.arch.name if selection.arch else "it"
        raise NothingLeftError(
            f"no kernel for {problem.describe()}: of {selection.source}, {valid} are valid for "
            f"{architecture}, none of them passes the filters and has its dimensions and type"
        )
    return replace(selection, candidates=fitting)


def _on_demand_rule_set(profiler: Profiler) -> str:
    """Return the id of the rule set that is meant where no instances are named."""
    for rule_set in profiler.registry.rule_sets:
        if rule_set.on_demand:
            return rule_set.id
    raise UsageError("no rule set is made to be built on demand; name one with rule_set, or lists with conf")


def _api_level(profiler: Profiler, options: BuildOptions) -> str:
    """Return the API level of what would be built, which decides what is valid."""
    arch = chosen_architecture(profiler, options).name
    compiler = options.compiler or profiler.settings.compiler
    return profiler.target(options.target).recipe(BuildRequest(arch=arch, compiler=compiler)).api_level
