"""Where the compile time of kernels for AMD GPUs goes, and what compiling them together takes away of it.

.. code-block:: text

    python -m tests.benchmarks.amd_build_time phases   [LIST] [KERNELS]
    python -m tests.benchmarks.amd_build_time unit     [LIST] [KERNELS]
    python -m tests.benchmarks.amd_build_time together [LIST] [KERNELS]

``phases`` compiles each kernel by itself and splits its CPU time by the compiler's own account, ``unit`` the
first of the two translation units that a build with two compilers makes of the kernels. ``together`` compiles
all kernels as a build does, and some of them alone: in a translation unit that reads the headers as
text, and in one with the precompiled header. CPU time is that of compiler, linker and all that they start,
since the machine may do other things meanwhile. Kernels are the first ones of the list that are valid for
gfx942; ``tiles`` instead of a list stands for 24 forward kernels: two pipelines with two vector sizes for
each of six tiles.
"""

from __future__ import annotations

import itertools
import json
import resource
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from ckprof import InstanceQuery, Profiler
from ckprof.kernels.build_dir import BuildDir
from ckprof.kernels.builder import build_tree
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.candidates import check_validity
from ckprof.kernels.keys import FolderDigests, Keys
from ckprof.kernels.plan import PrefixHeader, compile_command, include_flags
from ckprof.kernels.source_tree import SourceTree, generate_tree
from ckprof.kernels.units import common_part_of, kernel_unit, partition, translation_unit
from ckprof.model.recipe import BuildRecipe, BuildRequest, Purpose
from ckprof_plugins.targets.hip.target import HipTarget
from tests.e2e.support_cases import INSTANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

ARCH: Final = "gfx942"
LIST: Final = "tiles"
_TILES: Final = ((64, 64, 32), (64, 64, 64), (128, 64, 32), (128, 64, 64), (64, 128, 32), (64, 128, 64))
KERNELS: Final = 24
#: of so many kernels, one is compiled alone as well
_SAMPLE: Final = 6
_HOST: Final = ("--offload-host-only", "-nogpulib", "-fPIC")
_DEVICE: Final = ("--offload-device-only", "--no-gpu-bundle-output")
_INSTANTIATIONS: Final = ("InstantiateFunction", "InstantiateClass", "PerformPendingInstantiations")


def tree_of(list_name: str, kernels: int, root: Path, recipe: BuildRecipe) -> SourceTree:
    """Return the sources of so many kernels of a list."""
    profiler = Profiler()
    conf = tiles_catalog(root) if list_name == "tiles" else list_name
    selection = profiler.instances(InstanceQuery(conf=conf))
    valid = check_validity(selection.candidates, ARCH, recipe.api_level)[0]
    direction = profiler.registry.operation(valid[0].instance.direction)
    build_dir = BuildDir(root=root, direction=direction, target=None, arch=ARCH, recipe=recipe)
    return generate_tree(build_dir, valid[:kernels])


def tiles_catalog(folder: Path) -> Path:
    """Write a list of kernels of which several have each tile."""
    kinds = itertools.product(("compv1", "compv3"), _TILES, (8, 4))
    instances = [
        {
            **{"id": number, **INSTANCE, "pipeline": pipeline, "tile_m": m, "tile_n": n, "tile_k": k},
            **dict.fromkeys(("warp_tile_m", "warp_tile_n", "warp_tile_k"), 16),
            **dict.fromkeys(("vector_size_a", "vector_size_b", "vector_size_c"), vector),
        }
        for number, (pipeline, (m, n, k), vector) in enumerate(kinds)
    ]
    path = folder.with_name("tiles.json")
    content = {"variant": "forward", "ndim_spatial": 2, "layout": "nhwgc", "datatype": "fp16"}
    path.write_text(json.dumps({**content, "instances": instances}))
    return path


@dataclass(frozen=True, slots=True)
class Phases:
    """CPU seconds of one pass over one kernel."""

    parsing: float
    instantiating: float
    optimizing: float
    generating: float
    linking: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.parsing + self.instantiating + self.optimizing + self.generating + self.linking


def phases(command: Sequence[str], cwd: Path, trace: Path, linking: float | None = None) -> Phases:
    """Compile, and split the CPU time as the compiler's own clock does.

    :param linking: CPU seconds of driver and linker, where they are known.
    """
    spent = _cpu_s([*command, "-Xclang", f"-ftime-trace={trace}"], cwd)
    events = json.loads(trace.read_text())["traceEvents"]
    totals = {event["name"]: event["dur"] for event in events if event["name"].startswith("Total ")}
    whole = totals["Total ExecuteCompiler"]
    # driver and linker are not in the compiler's account: a compiler that only links takes as long
    if linking is None:
        linking = _linking(command, cwd) if "--offload-device-only" in command else 0.0
    share = max(0.0, spent - linking) / whole
    front_end, outermost = totals["Total Frontend"], _outermost(events)
    back_end = totals.get("Total Optimizer", 0), totals.get("Total CodeGenPasses", 0)
    rest = whole - front_end - sum(back_end)
    return Phases(
        parsing=(front_end - outermost + rest) * share,
        instantiating=outermost * share,
        optimizing=back_end[0] * share,
        generating=back_end[1] * share,
        linking=linking,
    )


def _outermost(events: Sequence[dict[str, object]]) -> float:
    """Return the time of instantiations that are part of no other."""
    spans = sorted(
        (float(str(event["ts"])), float(str(event["dur"])))
        for event in events
        if event["name"] in _INSTANTIATIONS and event.get("ph") == "X"
    )
    total = end = 0.0
    for start, duration in spans:
        if start >= end:
            total += duration
            end = start + duration
    return total


def _linking(command: Sequence[str], cwd: Path) -> float:
    empty = cwd / "empty.hip"
    empty.write_text("")
    words = list(command)
    words[words.index("-c") + 1] = empty.name
    return _cpu_s([*words, "-nogpuinc", "-O0"], cwd)


def _cpu_s(command: Sequence[str], cwd: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=cwd, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def print_phases(list_name: str, kernels: int) -> None:
    """Print a table with one line per kernel and pass, and their mean."""
    recipe = HipTarget().recipe(BuildRequest(arch=ARCH, purpose=Purpose.INSPECT))
    print("  parse instant. optimise generate  link    all  CPU s; pass, kernel")
    with TemporaryDirectory() as folder:
        tree = tree_of(list_name, kernels, Path(folder, "tree"), recipe)
        flags = [flag for flag in recipe.compile_flags if flag not in _DEVICE]
        for pass_name, own in (("device", _DEVICE), ("host", _HOST)):
            measured = []
            for kernel in tree.kernels:
                command = (
                    *(*recipe.compiler.command, *flags, *own, *recipe.location_flags),
                    *("-I.", *include_flags(recipe)),
                    *("-c", str(kernel.entry.relative_to(tree.root)), "-o", str(Path(folder, "k.o"))),
                )
                measured.append(phases(command, tree.root, Path(folder, "trace.json")))
                _print_line(measured[-1], f"{pass_name}  {kernel.name}")
            mean = [sum(getattr(one, name) for one in measured) / len(measured) for name in _NAMES]
            _print_line(Phases(*mean), f"{pass_name}  mean of {len(measured)}")


def print_unit(list_name: str, kernels: int) -> None:
    """Print how kernels that share a translation unit spend their time."""
    recipe = HipTarget().recipe(BuildRequest(arch=ARCH, purpose=Purpose.INSPECT))
    with TemporaryDirectory() as folder:
        tree = tree_of(list_name, kernels, Path(folder, "tree"), recipe)
        cache = ObjectCache(Path(folder, "cache"))
        keys = Keys(recipe, FolderDigests(cache.folder_digests))
        units = [kernel_unit(kernel, tree.root, keys) for kernel in tree.kernels]
        ignored = recipe.fields_without_cost
        groups = partition(
            units, 2, {}, recipe.functions_per_unit, lambda unit: common_part_of(unit, ignored)
        )
        unit = translation_unit(groups[0], keys)
        prefix = PrefixHeader(recipe, cache, keys.prefix())
        prefix.write()
        step = prefix.step(prefix.folder)
        print(f"{_cpu_s(step.command, step.cwd):.1f} CPU s for the precompiled header")
        output = Path(folder, "unit.o")
        linking = _linking(compile_command(recipe, unit, output, None), unit.root)
        command = compile_command(recipe, unit, output, prefix)
        measured = phases(command, unit.root, Path(folder, "trace.json"), linking)
    print("  parse instant. optimise generate  link    all  CPU s")
    _print_line(measured, unit.name)


_NAMES: Final = ("parsing", "instantiating", "optimizing", "generating", "linking")


def _print_line(one: Phases, what: str) -> None:
    print(
        f"{one.parsing:7.1f}{one.instantiating:9.1f}{one.optimizing:9.1f}{one.generating:9.1f}"
        f"{one.linking:6.1f}{one.total:7.1f}  {what}",
        flush=True,
    )


def print_together(list_name: str, kernels: int) -> None:
    """Print what the kernels cost in each way of compiling them."""
    recipe = HipTarget().recipe(BuildRequest(arch=ARCH, purpose=Purpose.INSPECT))
    alone = replace(recipe, functions_per_unit=1)
    ways = {
        "together, as a build does": (recipe, 1),
        "alone, headers as text": (
            replace(alone, prefix_header="", precompile_flags=(), precompiled_flags=()),
            _SAMPLE,
        ),
        "alone, precompiled header": (alone, _SAMPLE),
        "together, dealt out by weight": (replace(recipe, fields_without_cost=frozenset()), 1),
    }
    print("kernels  units   CPU s  a kernel  factor  peak GB")
    together = 0.0
    for name, (way, step) in ways.items():
        with TemporaryDirectory() as folder:
            tree = tree_of(list_name, kernels, Path(folder, "tree"), way)
            summary = build_tree(
                replace(tree, kernels=tree.kernels[::step]),
                way,
                work_dir=Path(folder),
                cache=ObjectCache(Path(folder, "cache")),
                timeout_s=3600,
            ).summary
        assert not summary.failed, "a figure of fewer kernels would be another one"
        each = summary.cpu_s / summary.compiled
        together = together or each
        print(
            f"{summary.compiled:7}{len(summary.units):7}{summary.cpu_s:8.0f}{each:10.1f}"
            f"{each / together:8.2f}{summary.peak_memory_bytes / 1e9:9.2f}  {name}",
            flush=True,
        )
    print(f"{list_name}; {summary.jobs} compilers; {recipe.compiler.description}; {recipe.api_level}")


def main(arguments: Sequence[str]) -> None:
    """Print one of the tables."""
    what, list_name, kernels = (*arguments, *("together", LIST, str(KERNELS))[len(arguments) :])
    {"phases": print_phases, "unit": print_unit, "together": print_together}[what](list_name, int(kernels))


if __name__ == "__main__":
    main(sys.argv[1:])
