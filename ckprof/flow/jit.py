"""Kernels on demand for Python programs: chosen, built in parallel, loaded, called."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckprof.arch.architectures import find_architecture
from ckprof.bindings.conv_library import ConvLibrary, Timing
from ckprof.config.settings import load_settings
from ckprof.errors import NothingLeftError, ToolchainError, UsageError
from ckprof.flow.candidates import list_candidates, select
from ckprof.flow.kernel_library import build, choose_build_dir
from ckprof.flow.list_files import find_list, read_list
from ckprof.flow.rule_sets import check_candidates, check_validity, enumerate_rule_set
from ckprof.model.dtype import DataType
from ckprof.model.recipe import BuildRequest
from ckprof.plugin.manager import PluginManager
from ckprof.plugin.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ckprof.bindings.conv_library import ConvKernel, ConvResult
    from ckprof.flow.rule_sets import Selection
    from ckprof.model.problem import ConvProblem
    from ckprof.plugin.protocols import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class JitKernel:
    """A built kernel that can be called."""

    name: str
    instance_string: str
    problem: ConvProblem
    kernel: ConvKernel
    library: ConvLibrary

    def __call__(self, **operands: NDArray[Any]) -> NDArray[Any]:
        """Compute the result of the problem.

        :param operands: the two operands by tensor name, in the memory order of the kernel's layout; see
            :meth:`ConvLibrary.run <ckprof.bindings.conv_library.ConvLibrary.run>`, which says what is raised.
        :returns: the third tensor.
        """
        return self.run(operands).output

    def run(
        self, operands: dict[str, NDArray[Any]], *, split_k: int = 1, timing: Timing | None = None
    ) -> ConvResult:
        """Compute the result and say how long it took."""
        return self.library.run(self.problem, operands, self.kernel, split_k=split_k, timing=timing)

    def rejection(self, split_k: int = 1) -> str:
        """Return why the kernel does not support the problem; empty if it does."""
        return self.library.rejection(self.kernel, self.problem, split_k)


def jit(
    problem: ConvProblem,
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
) -> list[JitKernel]:
    """Build kernels for a problem in parallel and return those that support it, ready to be called.

    Objects and libraries are cached as those of the command line are: a second process with the same request
    compiles nothing.

    :param problem: K and C per group.
    :param direction: id or alias.
    :param rule_set: where kernels come from; ``tiny`` if neither this nor ``conf`` is given.
    :param conf: instance lists instead: paths, or names of lists that ship with ckprof.
    :param filters: as ``--filter``: expressions over the fields, or regular expressions over names.
    :param dtype: ``fp32``, ``fp16`` or ``bf16``; by default all types that there are.
    :param limit: build at most that many, the first ones.
    :param arch: architecture; by default that of the settings or of the target.
    :param target: id; by default that of the settings or the one that needs no device.
    :param jobs: compilers at once; by default one per usable CPU.
    :raises UsageError: a name, filter or combination is wrong.
    :raises InputError: a list cannot be used.
    :raises NothingLeftError: no kernel is valid and fits the problem.
    :raises ToolchainError: there is no compiler, or nothing compiled.
    """
    settings = load_settings(None, Path.cwd())
    manager = PluginManager()
    manager.load_all(configured=settings.plugins)
    registry = Registry(manager)
    chosen_direction = registry.direction(direction)
    chosen_target = _target(registry, target or settings.target)
    architecture = find_architecture(arch or settings.arch or chosen_target.default_arch)
    chosen_compiler = compiler or settings.compiler
    recipe = chosen_target.recipe(BuildRequest(arch=architecture.name, compiler=chosen_compiler))
    api_level = recipe.api_level
    dtypes = tuple(DataType) if dtype is None else (DataType.parse(dtype),)
    if conf and rule_set:
        raise UsageError("conf and rule_set contradict each other: name the instances once")
    selection: Selection
    if conf:
        names = [conf] if isinstance(conf, (str, Path)) else list(conf)
        conversions = [
            read_list(find_list(str(name)), registry, direction=chosen_direction.id) for name in names
        ]
        selection = check_candidates(list_candidates(conversions, registry), architecture, api_level)
    else:
        entries = enumerate_rule_set(
            registry.rule_sets.find(rule_set or "tiny"),
            registry,
            arch=architecture,
            directions=[chosen_direction.id],
            ndims=[problem.ndim],
            dtypes=dtypes,
        )
        selection = check_validity(entries, registry, arch=architecture, api_level=api_level, source="jit")
    candidates = [
        candidate
        for candidate in select(
            selection.candidates, filters=[filters] if isinstance(filters, str) else list(filters)
        )
        if candidate.instance.ndim == problem.ndim and candidate.instance.dtype in dtypes
    ][:limit]
    if not candidates:
        raise NothingLeftError(
            f"no kernel for {problem.describe()}: {len(selection.candidates)} are valid for "
            f"{architecture.name}, none of them passes"
        )
    built = build(
        candidates,
        choose_build_dir(
            candidates,
            chosen_direction,
            chosen_target,
            arch=architecture.name,
            compiler=chosen_compiler,
            keep=None,
            configured_work_dir=settings.work_dir,
        ),
        jobs=jobs or settings.jobs,
        compile_timeout_s=compile_timeout_s or settings.compile_timeout,
        on_progress=lambda done, total, name: None,
    )
    if built.path is None:
        raise ToolchainError(f"none of {len(candidates)} kernels compiled: {built.rejected[0].reason}")
    library = ConvLibrary(built.path, arch=architecture.name)
    kernels = {kernel.key: kernel for kernel in library.kernels}
    ready = [
        JitKernel(
            name=candidate.name,
            instance_string=candidate.instance_string,
            problem=problem,
            kernel=kernels[candidate.instance.key],
            library=library,
        )
        for candidate in built.built
    ]
    return [kernel for kernel in ready if not kernel.rejection()]


def _target(registry: Registry, name: str | None) -> Target:
    """Return the target of that name, or the first that needs no device.

    :raises UsageError: there is none.
    """
    if name:
        return registry.targets.find(name)
    for target in registry.targets:
        if target.embedded:
            return target
    raise UsageError("no target plugin works without a device; name one")
