"""What the machine code of a build says of each kernel: registers, spills, occupancy, bounds of times.

A build for a device that is not there leaves code objects. Any other leaves a library, whose kernels may
share device code; their code objects are made from the folder's own sources then, each kernel's by itself.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ckprof.errors import InputError, NothingLeftError, UsageError
from ckprof.files import content_of, decoded
from ckprof.kernels import manifest
from ckprof.kernels.builder import build_tree
from ckprof.kernels.cache import ObjectCache
from ckprof.kernels.code_objects import FILE, code_objects_of, read_code_objects
from ckprof.kernels.keys import digest_parts
from ckprof.kernels.library import build_library
from ckprof.kernels.units import available_cpus
from ckprof.model.device import DeviceKernel
from ckprof.model.gemm_work import Estimate
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.paths import object_cache_dir, work_dir
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ckprof.kernels.candidates import Candidate
    from ckprof.kernels.choose import Selection
    from ckprof.kernels.code_objects import CodeObjects
    from ckprof.kernels.library import BuiltLibrary
    from ckprof.kernels.manifest import StoredTree
    from ckprof.kernels.requests import BuildOptions
    from ckprof.model.outcome import Status
    from ckprof.model.problem import Problem
    from ckprof.model.problem_case import ProblemCase
    from ckprof.session import Session


# at run time, too: files are read by the types of the fields


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectedKernel:
    """One instance's kernel.

    Several device functions may belong to it, such as one for each tail of the main loop: the launcher
    chooses one of them for each problem.
    """

    name: str
    #: content key of the instance
    key: str
    variants: tuple[DeviceKernel, ...]
    #: bounds for the problem that was asked about, with the variant that needs the most
    estimate: Estimate | None = None
    #: what the compiler warned about, each once; also of the code around the kernel
    warnings: tuple[str, ...] = ()

    @property
    def worst(self) -> DeviceKernel:
        """The variant with the least occupancy, and of these the one with the most registers and code."""
        return min(
            self.variants,
            key=lambda v: (v.occupancy.waves_per_simd, -v.scratch_bytes, -v.vgprs, -v.code_bytes),
        )

    def most(self, field: str) -> int:
        """Return the largest value of a numeric field among all variants."""
        return max(int(getattr(variant, field)) for variant in self.variants)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """All kernels of a build."""

    target: str
    arch: str
    api_level: str
    compiler: str
    kernels: tuple[InspectedKernel, ...]
    #: the problem that estimates are about, empty if none was given
    problem: str = ""
    #: kernels whose device functions could not be distinguished from others
    unattributed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureChange:
    """A figure of a kernel that differs between two builds."""

    name: str
    field: str
    before: int
    after: int
    #: it spills where it did not, or fewer waves fit
    worse: bool


#: figures that two builds are compared by
COMPARED = (
    "vgprs",
    "agprs",
    "sgprs",
    "vgpr_spills",
    "sgpr_spills",
    "scratch_bytes",
    "lds_bytes",
    "code_bytes",
)
#: more of these is what a build must not bring
_SPILLS = ("vgpr_spills", "sgpr_spills", "scratch_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildComparison:
    """Two builds, kernel by kernel."""

    before: Inspection
    after: Inspection
    changes: tuple[FigureChange, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]

    @property
    def worse(self) -> tuple[FigureChange, ...]:
        """New spills and lost occupancy."""
        return tuple(change for change in self.changes if change.worse)


def compare(before: Inspection, after: Inspection) -> BuildComparison:
    """Compare two builds by the names of their kernels."""
    old = {kernel.name: kernel for kernel in before.kernels}
    new = {kernel.name: kernel for kernel in after.kernels}
    changes = [change for name in old if name in new for change in _changes(old[name], new[name])]
    return BuildComparison(
        before=before,
        after=after,
        changes=tuple(changes),
        only_before=tuple(name for name in old if name not in new),
        only_after=tuple(name for name in new if name not in old),
    )


def _changes(before: InspectedKernel, after: InspectedKernel) -> Sequence[FigureChange]:
    figures: Mapping[str, tuple[int, int]] = {
        "occupancy": (
            before.worst.occupancy.waves_per_simd,
            after.worst.occupancy.waves_per_simd,
        ),
        **{field: (before.most(field), after.most(field)) for field in COMPARED},
    }
    return [
        FigureChange(
            name=before.name,
            field=field,
            before=old,
            after=new,
            worse=new < old if field == "occupancy" else field in _SPILLS and new > old,
        )
        for field, (old, new) in figures.items()
        if old != new
    ]


SCHEMA: Final = "ckprof-inspection"
VERSION: Final = 1


class Report(msgspec.Struct, forbid_unknown_fields=True):
    """An inspection as a file."""

    schema: str
    version: int
    inspection: Inspection


def render_report(inspection: Inspection) -> str:
    """Return the JSON text of an inspection."""
    report = Report(schema=SCHEMA, version=VERSION, inspection=inspection)
    return msgspec.json.format(msgspec.json.encode(report), indent=1).decode() + "\n"


def read_report(path: Path) -> Inspection:
    """Return the inspection of a file.

    :raises InputError: it cannot be read, or is none.
    """
    what = "a report of 'ckprof inspect --format json'"
    return decoded(content_of(path), path, Report, what, SCHEMA, VERSION).inspection


def inspect_build(
    code: CodeObjects,
    target: Target,
    *,
    candidates: Sequence[Candidate] = (),
    problem: Problem | None = None,
    splits: int = 1,
) -> Inspection:
    """Read the code objects of a build.

    :param code: what the build left.
    :param target: one that reads machine code.
    :param candidates: the instances, for estimates.
    :param problem: what estimates are about.
    :param splits: parts of the reduction, for estimates.
    :raises InputError: a code object cannot be read.
    """
    kernels_in = Counter(kernel.path for kernel in code.kernels)
    by_path = _read(target, code.arch, kernels_in)
    by_key = {candidate.instance.key: candidate for candidate in candidates}
    kernels, unattributed = [], []
    for kernel in code.kernels:
        # without a marker, those of a file of its own are the kernel's
        variants = tuple(one for one in by_path[kernel.path] if kernel.marker in one.symbol)
        if not variants or (not kernel.marker and kernels_in[kernel.path] > 1):
            unattributed.append(kernel.name)
            continue
        inspected = InspectedKernel(
            name=kernel.name, key=kernel.key, variants=variants, warnings=kernel.warnings
        )
        candidate = by_key.get(kernel.key)
        if candidate is not None and problem is not None:
            bounds = _estimate(target, candidate, inspected, problem, splits)
            inspected = replace(inspected, estimate=bounds)
        kernels.append(inspected)
    return Inspection(
        target=code.target,
        arch=code.arch,
        api_level=code.api_level,
        compiler=code.compiler,
        kernels=tuple(kernels),
        problem=problem.describe() if problem is not None else "",
        unattributed=tuple(unattributed),
    )


def _read(target: Target, arch: str, paths: Iterable[Path]) -> Mapping[Path, Sequence[DeviceKernel]]:
    ordered = sorted(paths)
    with ThreadPoolExecutor(max_workers=available_cpus()) as pool:
        return dict(zip(ordered, pool.map(lambda path: target.inspect(path, arch), ordered), strict=True))


def _estimate(
    target: Target,
    candidate: Candidate,
    kernel: InspectedKernel,
    problem: Problem,
    splits: int,
) -> Estimate | None:
    work = candidate.pipeline.work(candidate.instance, problem, splits)
    return target.estimate(kernel.worst, work) if work is not None else None


def inspect_selection(
    session: Session, selection: Selection, options: BuildOptions, problem: ProblemCase | None = None
) -> tuple[Inspection, BuiltLibrary]:
    """Build what is not built yet and read the code objects; nothing is run.

    :param options: without a target, the first one that reads machine code is taken.
    :param problem: what estimates are about.
    :raises UsageError: the target builds no code objects.
    :raises NothingLeftError: no kernel compiled.
    :raises CkprofError: no toolchain, or a code object cannot be read.
    """
    inspection, library = inspect_what_compiles(session, selection, options, problem)
    if library.code_objects is None:
        raise NothingLeftError("no kernel is left to inspect")
    return inspection, library


def inspect_what_compiles(
    session: Session, selection: Selection, options: BuildOptions, problem: ProblemCase | None = None
) -> tuple[Inspection, BuiltLibrary]:
    """Do what :func:`inspect_selection` does; where no kernel compiles, the inspection has none.

    :raises UsageError: the target builds no code objects.
    :raises CkprofError: no toolchain, or a code object cannot be read.
    """
    target = inspecting_target(session, options.target)
    library = build_library(session, selection, replace(options, target=target.id), Purpose.INSPECT)
    folder = library.code_objects
    inspection = inspect_build(
        read_code_objects(folder) if folder is not None else code_objects_of((), library.recipe, {}),
        target,
        candidates=selection.candidates,
        problem=problem.problem if problem else None,
        splits=(problem.split_k or 1) if problem else 1,
    )
    return inspection, library


def inspecting_target(session: Session, name: str | None) -> Target:
    """Return the target of that name, or the first one that reads machine code,
    of the architecture itself where there is a choice.

    :raises UsageError: it does not read machine code, or none does.
    """
    if name:
        target = session.target(name)
        if not offers(target, Target.inspect):
            raise UsageError(f"target {target.id} builds no code objects that could be inspected")
        return target
    inspectable = [reader for reader in session.registry.targets if offers(reader, Target.inspect)]
    # of machine code for the architecture itself there is more to learn than of a model's
    for target in sorted(inspectable, key=lambda reader: reader.models_arch):
        return target
    raise UsageError("no target plugin reads machine code; name one with --target")


def load_inspection(
    session: Session, path: Path, options: BuildOptions
) -> tuple[Inspection, Mapping[str, tuple[Status, str]]]:
    """Return the inspection of a build's folder or of a JSON report.

    :param options: how code objects are compiled where the build left none.
    :raises InputError: it is neither.
    :raises ToolchainError: they cannot be compiled here.
    :returns: that, and name of a kernel -> how and why it did not compile.
    :raises NothingLeftError: none of them compiles.
    """
    if not path.is_dir() and path.name not in (FILE, manifest.FILE):
        return read_report(path), {}
    root = path if path.is_dir() else path.parent
    tree = manifest.read_tree(root)
    if (root / FILE).is_file() or tree is None:
        code = read_code_objects(root)
        if tree is None or {kernel.key for kernel in code.kernels} <= {kernel.key for kernel in tree.kernels}:
            return inspect_build(code, inspecting_target(session, code.target)), {}
    return _compiled(session, root, tree, options)


def _compiled(
    session: Session, root: Path, tree: StoredTree, options: BuildOptions
) -> tuple[Inspection, Mapping[str, tuple[Status, str]]]:
    """Make the code objects of a folder's sources, and read them."""
    target = inspecting_target(session, options.target or tree.target)
    sources = (path for kernel in tree.kernels for path in (kernel.header, kernel.entry))
    missing = [path for path in sources if not path.is_file()]
    if missing:
        raise InputError(f"a source that {manifest.FILE} lists is missing: {missing[0].name}", root)
    recipe = target.recipe(
        BuildRequest(
            arch=options.arch or tree.arch,
            operation=tree.direction,
            compiler=options.compiler or session.settings.compiler,
            purpose=Purpose.INSPECT,
            ck_root=options.ck_root,
            extra_flags=options.cxx_flags,
            api_level=options.api_level or tree.api_level,
        )
    )
    base = Path(session.settings.work_dir).absolute() if session.settings.work_dir else work_dir()
    result = build_tree(
        tree,
        recipe,
        work_dir=base / f"inspect-{digest_parts(str(root.absolute()), recipe.target)[:16]}",
        cache=ObjectCache(object_cache_dir()),
        timeout_s=options.compile_timeout_s or session.settings.compile_timeout,
        jobs=options.jobs or session.settings.jobs,
    )
    names = {kernel.key: kernel.name for kernel in tree.kernels}
    failures = {names[key]: failure for key, failure in result.failures.items()}
    if not result.objects:
        _, first = next(iter(failures.values()))
        raise NothingLeftError(f"{root}: no kernel compiles: {first}")
    code = code_objects_of(tree.kernels, recipe, result.objects)
    return inspect_build(code, target), failures
