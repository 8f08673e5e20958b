"""The source tree of a kernel library.

.. code-block:: text

    kernels/<name>.hpp   the kernel, written by its pipeline
    kernels/<name>.cpp   its row in the library's table
    library.cpp          the table of the kernels that compiled
    manifest.json        what the tree holds and what each kernel is

and, if it is made ready for another build system, the files of :mod:`ckprof.kernels.embedding`.

A file is only written if its text changed, so that a build system sees what is really new.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ckprof.errors import PluginError
from ckprof.kernels import manifest
from ckprof.kernels.c_interface import (
    kernel_entry,
    kernel_symbol,
    table_source,
)
from ckprof.kernels.embedding import embedding_files
from ckprof.kernels.keys import KernelFolder, KernelSources
from ckprof.kernels.manifest import write_source
from ckprof.plugin.members import offers
from ckprof.plugin.protocols import Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from ckprof.kernels.build_dir import BuildDir
    from ckprof.kernels.candidates import Candidate
    from ckprof.model.instance import Instance
    from ckprof.plugin.protocols import Operation

#: Folder of the kernels below the root of a tree.
KERNELS = "kernels"
LIBRARY_SOURCE = "library.cpp"


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFiles(KernelSources):
    """One kernel of a source tree."""

    instance: Instance

    def fields(self) -> Mapping[str, object]:
        """Return the fields of the instance."""
        return self.instance.fields()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree(KernelFolder):
    """A library's sources on disk."""

    kernels: tuple[KernelFiles, ...]
    manifest: Path
    direction: Operation
    arch: str
    #: files that were written because they are new or have changed
    written: tuple[Path, ...] = field(default=(), compare=False)
    #: files of an earlier tree that were removed
    removed: tuple[Path, ...] = field(default=(), compare=False)

    @property
    def shared_sources(self) -> tuple[Path, ...]:
        """What is compiled once and linked into the library beside its kernels and its table."""
        return self.direction.interface.linked

    def write_library_source(self, symbols: Sequence[str]) -> Path:
        """Write the table of a library that is linked from some of the tree's kernels, in the tree's order.

        :param symbols: symbols of the kernels that compiled.
        :returns: the source to compile and link together with these kernels.
        :raises ValueError: a symbol does not belong to the tree.
        """
        wanted = set(symbols)
        unknown = wanted.difference(kernel.symbol for kernel in self.kernels)
        if unknown:
            raise ValueError(f"not in the source tree: {', '.join(sorted(unknown))}")
        path = self.root / LIBRARY_SOURCE
        kernels = [kernel for kernel in self.kernels if kernel.symbol in wanted]
        write_source(path, table_source(self.library_name, self.direction, self.arch, kernels))
        return path


def generate_tree(build_dir: BuildDir, candidates: Sequence[Candidate]) -> SourceTree:
    """Write the kernels of a library and remove those of an earlier tree that are gone.

    :param candidates: instances of the direction; those with the same content key are one kernel, for which
        the first stands.
    :raises PluginError: a pipeline writes two kernels of one name.
    """
    distinct: dict[str, Candidate] = {}
    for candidate in candidates:
        distinct.setdefault(candidate.instance.key, candidate)
    candidates = tuple(distinct.values())
    direction, root, recipe = build_dir.direction, build_dir.root, build_dir.recipe
    asked = [direction.interface.library, direction.id, direction.host_args_type, build_dir.arch]
    asked += [recipe.api_level, repr(build_dir.additions)]
    if build_dir.chunk_size is not None:
        asked += [repr((recipe, build_dir.chunk_size)), str(root)]
    asked += [f"{kernel.instance.key} {kernel.instance.id} {kernel.name}" for kernel in candidates]
    writers = {id(kernel.pipeline): kernel.pipeline for kernel in candidates}.values()
    digest = manifest.request_digest(
        asked, {type(writer).__module__.partition(".")[0] for writer in (direction, *writers)}
    )
    tree = partial(
        SourceTree,
        root=root,
        library_name=direction.interface.library,
        manifest=root / manifest.FILE,
        direction=direction,
        arch=build_dir.arch,
    )
    properties = manifest.up_to_date(root, digest)
    if properties is not None and len(properties) == len(candidates):
        known = zip(candidates, properties, strict=True)
        return tree(
            kernels=tuple(
                _kernel_files(root, kernel, marker, weight) for kernel, (_, marker, weight) in known
            )
        )
    manifest.forget(root)
    with collection_paused():
        kernels, texts = _texts(build_dir, candidates)
    removed = manifest.remove_stale(root, texts)
    written = tuple(root / name for name, text in texts.items() if write_source(root / name, text))
    properties = [(kernel.name, kernel.device_marker, kernel.weight) for kernel in kernels]
    manifest.remember(root, digest, properties, texts)
    return tree(kernels=tuple(kernels), written=written, removed=removed)


def _texts(build_dir: BuildDir, candidates: Sequence[Candidate]) -> tuple[list[KernelFiles], dict[str, str]]:
    """Return the kernels, and path below the root -> text of all files of the tree.

    :raises PluginError: two kernels have the same C++ name, or one has another than was asked for.
    """
    records: list[dict[str, object]] = []
    kernels: list[KernelFiles] = []
    texts: dict[str, str] = {}
    owners: dict[str, Candidate] = {}
    direction = build_dir.direction
    for candidate in candidates:
        pipeline, target = candidate.pipeline, (build_dir.arch, build_dir.recipe.api_level)
        if offers(pipeline, Pipeline.render_named):
            source = pipeline.render_named(candidate.instance, candidate.name, *target)
            if source.name != candidate.name:
                raise PluginError(
                    f"pipeline {pipeline.id}: render_named returned kernel {source.name!r}, expected "
                    f"{candidate.name!r}"
                )
        else:
            source = pipeline.render(candidate.instance, *target)
        owner = owners.setdefault(source.name.lower(), candidate)
        if owner is not candidate:
            raise PluginError(
                f"pipeline {pipeline.id}: instances {owner.instance.id} and "
                f"{candidate.instance.id} are both written as kernel {source.name}; give the pipeline a "
                "method render_named(instance, name, arch, api_level), or say what distinguishes them in "
                "kernel_name"
            )
        # the name as it stands within mangled names: each part after its length
        marker = "".join(f"{len(part)}{part}" for part in source.device_type.split("::") if part)
        files = _kernel_files(build_dir.root, candidate, marker, source.device_functions)
        kernels.append(files)
        header, entry = (f"{KERNELS}/{files.name}.{ending}" for ending in ("hpp", "cpp"))
        records.append(
            {
                "name": files.name,
                "key": files.key,
                "symbol": files.symbol,
                "device_marker": marker,
                "id": candidate.instance.id,
                "instance": candidate.instance.identity(),
                "instance_string": pipeline.instance_string(candidate.instance),
                "files": (header, entry),
            }
        )
        texts[header] = source.header
        texts[entry] = kernel_entry(
            key=files.key,
            name=files.name,
            header=files.header.name,
            launcher=source.launcher,
            host_args=source.host_args or direction.host_args_type,
            interface=direction.interface,
        )
    further = embedding_files(build_dir, kernels)
    for addition in build_dir.additions:
        further |= addition.render(kernels)
    texts.update(further)
    # The manifest comes last: until then the old one tells which files may be removed.
    texts[manifest.FILE] = manifest.render(build_dir, records, tuple(further))
    return kernels, texts


@contextmanager
def collection_paused() -> Iterator[None]:
    """Look for no cycles: among thousands of texts there are none, and looking takes a fifth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _kernel_files(root: Path, kernel: Candidate, device_marker: str, weight: int) -> KernelFiles:
    stem = f"{root}/{KERNELS}/{kernel.name}"
    return KernelFiles(
        key=kernel.instance.key,
        instance=kernel.instance,
        name=kernel.name,
        header=Path(f"{stem}.hpp"),
        entry=Path(f"{stem}.cpp"),
        symbol=kernel_symbol(kernel.instance.key),
        device_marker=device_marker,
        weight=weight,
    )
