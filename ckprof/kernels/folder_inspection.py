"""The kernels of a folder that a build left, or of a report: what their machine code says.

A build for a device that is not there leaves code objects. Any other leaves a library, whose kernels may
share device code; their code objects are made from the folder's own sources then, each kernel's by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import InputError, NothingLeftError
from ckprof.kernels.build.builder import build_tree
from ckprof.kernels.build.cache import ObjectCache
from ckprof.kernels.build.digests import digest_parts
from ckprof.kernels.code_objects import FILE, code_objects_of, read_code_objects
from ckprof.kernels.inspection import Inspection, inspect_build, inspecting_target, read_report
from ckprof.kernels.library import build_limits
from ckprof.kernels.source import manifest
from ckprof.model.recipe import BuildRequest, Purpose
from ckprof.paths import object_cache_dir, work_dir

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ckprof.kernels.build.step import BuildFailure
    from ckprof.kernels.requests import BuildOptions
    from ckprof.kernels.source.manifest import StoredTree
    from ckprof.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedInspection:
    """What a folder or a report says."""

    inspection: Inspection
    #: name of a kernel -> why it did not compile
    failures: Mapping[str, BuildFailure]


def load_inspection(session: Session, path: Path, options: BuildOptions) -> LoadedInspection:
    """Return the inspection of a build's folder or of a JSON report.

    :param options: how code objects are compiled where the build left none.
    :raises InputError: it is neither.
    :raises ToolchainError: they cannot be compiled here.
    :raises NothingLeftError: none of them compiles.
    """
    if not path.is_dir() and path.name not in (FILE, manifest.FILE):
        return LoadedInspection(inspection=read_report(path), failures={})
    root = path if path.is_dir() else path.parent
    tree = manifest.read_tree(root)
    if (root / FILE).is_file() or tree is None:
        code = read_code_objects(root)
        if tree is None or {kernel.key for kernel in code.kernels} <= {kernel.key for kernel in tree.kernels}:
            target = session.registry.targets.find(code.target)
            return LoadedInspection(inspection=inspect_build(code, target), failures={})
    return _compiled(session, root, tree, options)


def _compiled(session: Session, root: Path, tree: StoredTree, options: BuildOptions) -> LoadedInspection:
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
        build_limits(session, options),
        work_dir=base / f"inspect-{digest_parts(str(root.absolute()), recipe.target)[:16]}",
        cache=ObjectCache(object_cache_dir()),
    )
    names = {kernel.key: kernel.name for kernel in tree.kernels}
    failures = {names[key]: failure for key, failure in result.failures.items()}
    if not result.objects:
        first = next(iter(failures.values()))
        raise NothingLeftError(f"{root}: no kernel compiles: {first.message}")
    code = code_objects_of(tree.kernels, recipe, result.objects)
    return LoadedInspection(inspection=inspect_build(code, target), failures=failures)
