"""Translation units with several kernels: which kernels go together, and which the cache holds already.

What kernels share - reading the headers, instantiating what does not depend on the kernel - is paid once
per translation unit. So kernels that must be compiled are combined, as many as memory allows by the
number of their device functions, but never fewer units than there are compilers to run. Those that have
much in common come together, since a unit compiles it once. The cache notes which kernels lie in which
object, so that a kernel is found wherever it was compiled, and one that changed is compiled without its
neighbours of then.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ckprof.errors import ToolchainError, system_errors
from ckprof.files import write_if_changed
from ckprof.model.recipe import Product
from ckprof.paths import UNWRITABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence

    from ckprof.kernels.cache import ObjectCache
    from ckprof.kernels.keys import KernelSources, Keys
    from ckprof.model.recipe import BuildRecipe


#: folder, below the root of a tree, of the sources that put kernels together
FOLDER: Final = "units"
_KEY_DIGITS: Final = 16
#: measured with nvcc, and with clang for AMD GPUs (0.1 to 0.2): what a kernel costs beside one with which it
#: has most in common, compared with that one
_FURTHER: Final = 0.25
#: sources without kernels that are compiled in the time of one translation unit of several kernels
_SOURCES_PER_UNIT: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """What one compiler process compiles: a plain source, a kernel, or several kernels."""

    #: content key of its object
    key: str
    #: for people
    name: str
    source: Path
    #: folder in which it is compiled
    root: Path
    #: the kernel that it holds; ``None`` for what every library needs, and for several
    kernel: KernelSources | None = None
    #: the units of several kernels
    members: tuple[Unit, ...] = ()

    @property
    def parts(self) -> tuple[Unit, ...]:
        """The units of its kernels, each by itself; of any other source, the unit."""
        return self.members or (self,)

    @property
    def holds_kernels(self) -> bool:
        """False for the sources that every library needs."""
        return self.kernel is not None or bool(self.members)


def kernel_unit(kernel: KernelSources, root: Path, keys: Keys) -> Unit:
    """Return the translation unit of a kernel.

    :raises ToolchainError: its sources cannot be read.
    """
    try:
        key = keys.kernel(kernel.entry.relative_to(root).as_posix(), (kernel.entry, kernel.header))
    except OSError as exc:
        raise ToolchainError(
            f"{exc.filename}: cannot be read ({exc.strerror}); generate the sources again"
        ) from exc
    return Unit(key=key, name=kernel.name, source=kernel.entry, root=root, kernel=kernel)


def plain_unit(source: Path, keys: Keys, *, generated: bool = False) -> Unit:
    """Return the translation unit of a source that every library needs.

    :param generated: the source needs nothing beside it.
    :raises ToolchainError: it cannot be read.
    """
    with system_errors(ToolchainError, "cannot be read", source):
        key = keys.plain(source, generated=generated)
    return Unit(key=key, name=source.name, source=source, root=source.parent)


def functions_per_unit(recipe: BuildRecipe, jobs: int, free_bytes: float) -> int:
    """Return how many device functions may share a translation unit: as the recipe says, bounded by memory.

    :param jobs: compilers at once.
    :param free_bytes: memory that all of them may use together.
    """
    if recipe.functions_per_unit <= 1 or recipe.further_memory_bytes <= 0:
        return recipe.functions_per_unit
    share = free_bytes / max(1, jobs) - recipe.compile_memory_bytes
    return max(1, min(recipe.functions_per_unit, 1 + int(share // recipe.further_memory_bytes)))


def common_part_of(unit: Unit, ignored: Collection[str]) -> Hashable:
    """Return a value that is the same for kernels of which most is compiled once if they come together.

    :param unit: a kernel.
    :param ignored: fields of instances that make little difference in what is compiled; none if kernels have
        next to nothing in common.
    """
    if not ignored or unit.kernel is None:
        return unit.key
    fields = unit.kernel.fields()
    return tuple(item for item in sorted(fields.items()) if item[0] not in ignored)


def partition(
    units: Sequence[Unit],
    jobs: int,
    limits: Mapping[str, int],
    most: int,
    common: Callable[[Unit], Hashable] = lambda unit: unit.key,
) -> list[list[Unit]]:
    """Put kernels together, such that all groups cost about the same.

    :param units: kernels that must be compiled.
    :param jobs: compilers at once: there are at least as many groups, if there are as many kernels.
    :param limits: key of a kernel of a group that failed -> kernels in the largest group in which it may
        still be.
    :param most: largest weight of a group of several kernels; 1 keeps each by itself.
    :param common: see :func:`common_part_of`. What several kernels share is compiled once in each group that
        has one of them, so they stay together.
    """
    groups: list[list[Unit]] = []
    failed: dict[int, list[Unit]] = {}
    fresh: list[Unit] = []
    for unit in units:
        if unit.key in limits:
            failed.setdefault(limits[unit.key], []).append(unit)
        else:
            fresh.append(unit)
    for limit, members in sorted(failed.items()):
        # the halves keep the old order, so that the culprit is found by bisection
        groups += [members[start : start + limit] for start in range(0, len(members), limit)]
    if most <= 1:
        return [*groups, *([unit] for unit in fresh)]
    return [*groups, *_balanced(fresh, jobs, most, common)]


def unit_count(kernels: int, functions: int, jobs: int, most: int) -> int:
    """Return into how many translation units kernels are put: full rounds of all compilers, if they suffice.

    :param kernels: that must be compiled.
    :param functions: their device functions together.
    :param jobs: compilers at once.
    :param most: device functions of one unit.
    """
    return min(kernels, -(-functions // (most * jobs)) * jobs)


def compilers_for_kernels(jobs: int, others: int) -> int:
    """Return how many compilers translation units of kernels are made for: those that other sources leave.

    :param jobs: compilers at once.
    :param others: sources without kernels that must be compiled as well. Compilers that compile them are done
        with several of them when a unit of kernels is done, but kernels get half of all compilers at least.
    """
    return max(jobs - others // _SOURCES_PER_UNIT, (jobs + 1) // 2)


def _balanced(
    units: Sequence[Unit], jobs: int, most: int, common: Callable[[Unit], Hashable]
) -> list[list[Unit]]:
    """Deal kernels out with those that share something, the heaviest first, to the lightest group so far."""
    large = [unit for unit in units if _weight(unit) >= most]
    small = [unit for unit in units if _weight(unit) < most]
    count = unit_count(len(small), sum(map(_weight, small)), jobs, most)
    groups: list[list[Unit]] = [[] for _ in range(count)]
    costs = [0.0] * len(groups)
    for cost, members in sorted(_sharing(small, count, common), key=lambda item: -item[0]):
        cheapest = costs.index(min(costs))
        groups[cheapest] += members
        costs[cheapest] += cost
    return [*([unit] for unit in large), *(group for group in groups if group)]


def _sharing(
    units: Sequence[Unit], count: int, common: Callable[[Unit], Hashable]
) -> Iterator[tuple[float, list[Unit]]]:
    """Yield kernels that share something, as many as fit into one of ``count`` groups, with their cost."""
    shared: dict[Hashable, list[Unit]] = {}
    for unit in units:
        shared.setdefault(common(unit), []).append(unit)
    fair = -(-sum(map(_weight, units)) // count) if count else 0
    for alike in shared.values():
        members: list[Unit] = []
        for unit in alike:
            if members and sum(map(_weight, members)) + _weight(unit) > fair:
                yield _cost(members), members
                members = []
            members.append(unit)
        yield _cost(members), members


def _cost(sharing: Sequence[Unit]) -> float:
    """Return what kernels that share something cost together, in device functions of others."""
    return _weight(sharing[0]) + _FURTHER * sum(map(_weight, sharing[1:]))


def _weight(unit: Unit) -> int:
    return unit.kernel.weight if unit.kernel is not None else 1


def translation_unit(group: Sequence[Unit], keys: Keys) -> Unit:
    """Return the translation unit of one source or of several kernels, and write its source.

    :raises ToolchainError: the source cannot be written.
    """
    first = group[0]
    if len(group) == 1:
        return first
    key = keys.unit([unit.key for unit in group])
    source = first.root / FOLDER / f"{key[:_KEY_DIGITS]}.cpp"
    lines = [f'#include "{unit.source.relative_to(unit.root).as_posix()}"\n' for unit in group]
    with system_errors(ToolchainError, UNWRITABLE, source):
        write_if_changed(source, "// Kernels that are compiled together.\n" + "".join(lines))
    return Unit(
        key=key,
        name=f"{len(group)} kernels: {first.name}, ...",
        source=source,
        root=first.root,
        members=tuple(group),
    )


def locate(units: Iterable[Unit], cache: ObjectCache, product: Product) -> dict[str, Path]:
    """Return key -> object of the units that the cache holds, alone or together with others.

    Objects that are linked into one library must not define the same kernel twice. So one with a kernel that
    another object of the library has, or has in another version, is not taken.

    :param units: what the build needs.
    """
    wanted = {unit.kernel.symbol: unit.key for unit in units if unit.kernel is not None}
    objects: dict[str, Path] = {}
    defined: set[str] = set()
    rest: list[Unit] = []
    for unit in units:
        path = cache.find(unit.key)
        if path is None:
            rest.append(unit)
            continue
        objects[unit.key] = path
        if unit.kernel is not None:
            defined.add(unit.kernel.symbol)
    for unit in rest:
        if unit.kernel is None or unit.key in objects:
            continue
        shared, members = cache.group_of(unit.key)
        path = cache.find(shared) if shared else None
        if path is None:
            continue
        if product is Product.LIBRARY and any(
            symbol in defined or wanted.get(symbol, key) != key for key, symbol in members
        ):
            continue
        for key, symbol in members:
            defined.add(symbol)
            if wanted.get(symbol) == key:
                objects.setdefault(key, path)
    return objects


#: the rest is for everything else on the machine
_MEMORY_SHARE: Final = 0.8
_CGROUP: Final = Path("/sys/fs/cgroup")


def available_cpus() -> int:
    """Return how many CPUs this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def job_count(
    requested: int | None, bytes_per_job: int, *, cpus: int | None = None, free: int | None = None
) -> int:
    """Return how many compilers may run at once: what was asked for, bounded by memory, at least one.

    :param requested: ``--jobs``; ``None`` for one per usable CPU.
    :param bytes_per_job: peak memory of one compiler.
    :param cpus: CPUs to count on, by default those that this process may use.
    :param free: free memory to budget for, by default that of this moment.
    """
    wanted = requested if requested is not None else (cpus or available_cpus())
    memory = free if free is not None else free_memory_bytes()
    return max(1, min(wanted, int(memory * _MEMORY_SHARE / max(1, bytes_per_job))))


def memory_budget_bytes() -> int:
    """Return the memory that all compilers may use together, as it is at this moment."""
    return int(free_memory_bytes() * _MEMORY_SHARE)


def free_memory_bytes(cgroup: Path = _CGROUP) -> int:
    """Return the memory that can be used without pushing others out, also inside a container with a limit."""
    import psutil

    free = int(psutil.virtual_memory().available)
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        if limit != "max":
            free = min(free, max(0, int(limit) - int((cgroup / "memory.current").read_text())))
    except (OSError, ValueError):
        pass  # no limit is set, or this is no such system
    return free
